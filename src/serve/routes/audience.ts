import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Caller } from '../caller.ts';
import { Problem } from '../problem.ts';
import type { Server } from '../server.ts';

/** A set of routes and who may use them: `/v1` for API keys, `/ui` for the web page. */
export interface Audience {
  /** The prefix of all paths in the set, which is `/v1` or `/ui`. */
  readonly base: string;
  /** Returns the sender of a request that was accepted. */
  callerOf(request: FastifyRequest): Caller;
}

/** Returns the flow named in the path of a request. Throws a Problem (`not-found`) if it does not exist or the sender may not see it. */
export async function seenFlow(server: Server, caller: Caller, request: FastifyRequest) {
  const { flow: id } = request.params as { flow: string };
  const flow = caller.sees(id) ? await server.flows.find(id) : undefined;
  if (!flow) throw new Problem('not-found', `there is no flow "${id}"`);
  return flow;
}

/**
 * Returns the number of seconds in `Prefer: wait=N` (RFC 7240); undefined without this header. Throws a Problem (`bad-request`) if N is not
 * from `least` to `most`.
 */
export function preferredWait({ headers }: FastifyRequest, least: number, most: number): number | undefined {
  const written = /(?:^|[,;\s])wait\s*=\s*"?([^",;\s]*)"?/i.exec([headers.prefer ?? ''].flat().join(','))?.[1];
  if (written === undefined) return undefined;
  const seconds = Number(written);
  if (/^\d+$/.test(written) && seconds >= least && seconds <= most) return seconds;
  throw new Problem('bad-request', `Prefer: expected wait=${least} to wait=${most}, found wait=${written}`);
}

/** Schema of a whole number in the query of a request. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);
