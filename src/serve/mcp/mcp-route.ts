import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { orUndefined } from '../../core/value/value.ts';
import { addRoutes } from '../app.ts';
import { queryWithVariables, variablesIn } from '../flows/flow-variables.ts';
import type { Hosts } from '../listening.ts';
import { Problem } from '../problem.ts';
import { callerOfKey } from '../routes/key-door.ts';
import type { Server } from '../server.ts';
import type { ServedTools } from './served-tools.ts';

/** Throws a Problem (`cross-site`) if the request was sent by a web page of another site. */
export function refuseForeignOrigin({ headers: { origin } }: FastifyRequest, hosts: Pick<Hosts, 'isServed'>): void {
  if (origin === undefined || hosts.isServed(orUndefined(() => new URL(origin).host))) return;
  throw new Problem('cross-site', 'expected no Origin header, or one of this server');
}

/** Adds the route for MCP clients (Streamable HTTP). */
export function addMcpRoute(app: FastifyInstance, server: Server, tools: ServedTools): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = callerOfKey(request);
    const { raw } = reply;
    if (isStream(request)) server.listen(caller, raw);
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
    const sender = { owner: caller.key?.id ?? '', caller, ip: request.ip, given: variablesIn(request.query) };
    await tools.answer(request.raw, raw, request.body ?? undefined, sender);
  };
  const route = {
    config: { scopes: ['run'] as const },
    schema: { hide: true, querystring: queryWithVariables({}) } as object,
    handler: answer,
  };
  const withBody = { ...route, schema: { hide: true, querystring: queryWithVariables({}), body: z.any() } as object };
  addRoutes(app, '/mcp', { GET: route, POST: withBody, DELETE: route }, { withHead: false });
}

/** True for an MCP request whose response is a stream of notifications. */
function isStream({ method, body }: FastifyRequest): boolean {
  return method === 'GET' || (body as { readonly method?: unknown } | null | undefined)?.method === 'subscriptions/listen';
}
