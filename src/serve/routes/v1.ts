import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { addRoutes } from '../app.ts';
import type { Caller } from '../caller.ts';
import { flowJson } from '../flows/flow-json.ts';
import { recordOfBody, textOfBody } from '../json-body.ts';
import { Problem } from '../problem.ts';
import type { Server } from '../server.ts';
import { callShape, flowShape } from '../shapes.ts';
import { addPreviewRoutes } from './previews.ts';
import { answerOnce, hashOf, namedRequest } from './replays.ts';
import { addRunRoutes } from './runs.ts';

/** The routes of one audience: `/v1` for keys, `/ui` for the page. */
export interface Audience {
  /** Before every path: `/v1` or `/ui`. */
  readonly base: string;
  /** The sender of a request that was let in. */
  callerOf(request: FastifyRequest): Caller;
}

const flowParams = z.object({ flow: z.string() });

/** Adds the routes of flows, calls and runs. */
export function addFlowRoutes(app: FastifyInstance, server: Server, audience: Audience): void {
  const { base, callerOf } = audience;
  addRoutes(app, `${base}/flows`, {
    GET: {
      schema: { summary: 'The flows', response: { 200: z.object({ flows: z.array(flowShape) }) } },
      handler: async (request) => {
        const { flows } = await server.flows.list();
        return { flows: flows.filter(({ id }) => callerOf(request).sees(id)).map(flowJson) };
      },
    },
  });
  addRoutes(app, `${base}/flows/:flow`, {
    GET: {
      schema: { summary: 'One flow', params: flowParams, response: { 200: flowShape } },
      handler: async (request) => flowJson(await seenFlow(server, callerOf(request), request)),
    },
  });
  addRoutes(app, `${base}/flows/:flow/calls`, {
    POST: {
      config: { scopes: ['run'] },
      schema: {
        summary: 'Run one record, and wait for its records',
        params: flowParams,
        body: z.any().meta({ type: 'object', description: 'one record' }),
        response: { 200: callShape },
      },
      handler: async (request, reply) => {
        const caller = callerOf(request);
        const flow = await seenFlow(server, caller, request);
        const gone = new AbortController();
        reply.raw.once('close', () => reply.raw.writableEnded || gone.abort());
        const waitMs = (preferredWait(request, 1, 60) ?? 30) * 1000;
        const call = { flow, fields: recordOfBody(request.body), key: caller.key, waitMs, gone: gone.signal };
        const named = namedRequest(request, caller, flow.id, 'call');
        const hash = hashOf(textOfBody(request.body));
        return answerOnce(server, named, { request, reply, hash }, () => server.calls.answer(call));
      },
    },
  });
  addPreviewRoutes(app, server, audience);
  addRunRoutes(app, server, audience);
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
