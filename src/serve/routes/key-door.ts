import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey, Scope } from '../../io/server/api-key.ts';
import { addGuarded } from '../app.ts';
import { Caller } from '../caller.ts';
import { rateHeaders } from '../keys/request-rates.ts';
import type { ServerKeys } from '../keys/server-keys.ts';
import { Problem } from '../problem.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of an accepted request; absent for the page, and until the key is checked. */
    key?: ApiKey;
  }
  interface FastifyContextConfig {
    /** The scopes, one of which a key needs; absent if every key may send the request. */
    scopes?: readonly Scope[];
  }
}

/** The paths that need a key. */
export interface KeyDoor {
  readonly prefix: '/v1' | '/mcp';
  /** Checks a request before its key. Throws a Problem. */
  readonly before?: (request: FastifyRequest) => void;
}

/** Adds routes that need a key. A request is checked in the order of the contract: the key, its scope, its flows, its rate. */
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

/** Throws a Problem for a route whose scope the key lacks, and for a flow that the key may not see. */
function refuseUnseen({ routeOptions, params }: FastifyRequest, key: ApiKey): void {
  const caller = new Caller(key);
  const { scopes } = routeOptions.config;
  if (scopes) caller.need(...scopes);
  const { flow } = params as { readonly flow?: string };
  if (flow !== undefined && !caller.sees(flow)) throw new Problem('not-found', `there is no flow "${flow}"`);
}

/** Statuses of requests that a key may not make. */
const refusals: ReadonlySet<number> = new Set([402, 403, 404, 429]);

/** The sender of a request at `/v1`. */
export function callerOfKey({ key }: FastifyRequest): Caller {
  if (!key) throw new Problem('key-missing', 'expected an API key');
  return new Caller(key);
}

function authenticated({ headers, ip }: FastifyRequest, query: string, { authenticator }: ServerKeys): ApiKey {
  const xApiKey = headers['x-api-key'] as string | undefined;
  const found = authenticator.authenticate({ authorization: headers.authorization, xApiKey, query, address: ip });
  if ('key' in found) return found.key;
  const { problem, detail, retryAfterS } = found.refusal;
  throw new Problem(
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
    throw new Problem('rate-limited', `expected at most ${key.rate} requests`, {}, { 'retry-after': String(turn.resetS) });
}
