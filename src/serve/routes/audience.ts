import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Caller } from '../caller.ts';
import { Problem } from '../problem.ts';
import type { Server } from '../server.ts';

/** The routes of one audience: `/v1` for keys, `/ui` for the page. */
export interface Audience {
  /** The prefix of every path: `/v1` or `/ui`. */
  readonly base: string;
  /** The sender of a request that was let in. */
  callerOf(request: FastifyRequest): Caller;
}

/** The flow that the path names. Throws a Problem (`not-found`). */
export async function seenFlow(server: Server, caller: Caller, request: FastifyRequest) {
  const { flow: id } = request.params as { flow: string };
  const flow = caller.sees(id) ? await server.flows.find(id) : undefined;
  if (!flow) throw new Problem('not-found', `there is no flow "${id}"`);
  return flow;
}

/** The seconds of `Prefer: wait=N` (RFC 7240); absent without it. Throws a Problem (`bad-request`). */
export function preferredWait({ headers }: FastifyRequest, least: number, most: number): number | undefined {
  const written = /(?:^|[,;\s])wait\s*=\s*"?([^",;\s]*)"?/i.exec([headers.prefer ?? ''].flat().join(','))?.[1];
  if (written === undefined) return undefined;
  const seconds = Number(written);
  if (/^\d+$/.test(written) && seconds >= least && seconds <= most) return seconds;
  throw new Problem('bad-request', `Prefer: expected wait=${least} to wait=${most}, found wait=${written}`);
}

/** A whole number in a query. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);
