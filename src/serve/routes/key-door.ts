import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { addGuarded } from '../app.ts';
import { Caller } from '../caller.ts';
import { rateHeaders } from '../keys/request-rates.ts';
import type { ServerKeys } from '../keys/server-keys.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';
import type { ApiKey, Scope } from '../store/api-key.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined until the key has been checked, and for requests of the web page, which need no key. */
    key?: ApiKey;
  }
  interface FastifyContextConfig {
    /** The API key needs at least one of these scopes. If undefined, every valid key may send the request. */
    scopes?: readonly Scope[];
  }
}

interface KeyDoor {
  readonly prefix: '/v1' | '/mcp';
  /** Checks a request before the API key in it is checked. Throws a Problem to refuse the request. */
  readonly before?: (request: FastifyRequest) => void;
}

/** Adds routes that need an API key. The key is checked first, then its scope, its flows and its rate, as the documentation promises. */
export function addKeyDoor(
  app: FastifyInstance,
  { prefix, before }: KeyDoor,
  keys: ServerKeys,
  add: (guarded: FastifyInstance) => void,
): void {
  const letIn = (request: FastifyRequest, reply: FastifyReply) => {
    before?.(request);
    const { url } = request;
    const mark = url.indexOf('?');
    const key = authenticated(request, mark === -1 ? '' : url.slice(mark + 1), keys);
    request.key = key;
    keys.usage.count(key.id, { requests: 1 });
    try {
      refuseUnseen(request, key);
    } catch (error) {
      reply.headers(rateHeaders(keys.rates.look(key)));
      throw error;
    }
    takeTurn(key, reply, keys);
  };
  addGuarded(app, prefix, letIn, (guarded) => {
    guarded.addHook('onResponse', ({ key }, { statusCode }, done) => {
      if (key && refusals.has(statusCode)) keys.usage.count(key.id, { refused: 1 });
      done();
    });
    add(guarded);
  });
}

/** Throws a Problem if an API key does not have the scope for a route, or may not see the flow. */
function refuseUnseen({ routeOptions, params }: FastifyRequest, key: ApiKey): void {
  const caller = new Caller(key);
  const { scopes } = routeOptions.config;
  if (scopes) caller.need(...scopes);
  const { flow } = params as { readonly flow?: string };
  if (flow !== undefined && !caller.sees(flow)) throw new ProblemResponse('not-found', `there is no flow "${flow}"`);
}

/** HTTP statuses of responses that are counted as refused requests of the API key. */
const refusals: ReadonlySet<number> = new Set([402, 403, 404, 429]);

export function callerOfKey({ key }: FastifyRequest): Caller {
  if (!key) throw new ProblemResponse('key-missing', 'expected an API key');
  return new Caller(key);
}

function authenticated({ headers, ip }: FastifyRequest, query: string, { authenticator }: ServerKeys): ApiKey {
  const xApiKey = headers['x-api-key'] as string | undefined;
  const found = authenticator.authenticate({ authorization: headers.authorization, xApiKey, query, address: ip });
  if ('key' in found) return found.key;
  const { problem, detail, retryAfterS } = found.refusal;
  throw new ProblemResponse(
    problem,
    detail,
    {},
    {
      ...(problem.startsWith('key-') && problem !== 'key-in-query' && { 'www-authenticate': 'Bearer' }),
      ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    },
  );
}

function takeTurn(key: ApiKey, reply: FastifyReply, { rates }: ServerKeys): void {
  const turn = rates.take(key);
  reply.headers(rateHeaders(turn));
  if (!turn.isAllowed)
    throw new ProblemResponse('rate-limited', `expected at most ${key.rate} requests`, {}, { 'retry-after': String(turn.resetS) });
}

/** A set of routes and who may use them: `/v1` for API keys, `/ui` for the web page. */
export interface Audience {
  readonly base: string;
  callerOf(request: FastifyRequest): Caller;
}

export type SeenFlow = Awaited<ReturnType<typeof seenFlow>>;

/** Throws a Problem (`not-found`) if the flow does not exist or the sender may not see it. */
export async function seenFlow(server: Server, caller: Caller, request: FastifyRequest) {
  const { flow: id } = request.params as { flow: string };
  const flow = caller.sees(id) ? await server.flows.find(id) : undefined;
  if (!flow) throw new ProblemResponse('not-found', `there is no flow "${id}"`);
  return flow;
}

const longestWait = 60;

/** The seconds in `Prefer: wait=N` (RFC 7240). Throws a Problem (`bad-request`) if N is not from `least` to 60. */
export function preferredWait({ headers }: FastifyRequest, least: number): number | undefined {
  const written = /(?:^|[,;\s])wait\s*=\s*"?([^",;\s]*)"?/i.exec([headers.prefer ?? ''].flat().join(','))?.[1];
  if (written === undefined) return undefined;
  const seconds = Number(written);
  if (/^\d+$/.test(written) && seconds >= least && seconds <= longestWait) return seconds;
  throw new ProblemResponse('bad-request', `Prefer: expected wait=${least} to wait=${longestWait}, found wait=${written}`);
}

export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);
