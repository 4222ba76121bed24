import type { IncomingMessage } from 'node:http';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
  type onRequestHookHandler,
} from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { shortName } from '../core/text/suggest.ts';
import {
  cutIdleBodies,
  idleMs,
  maxJsonBytes,
  problemOfError,
  refuseBrokenRequest,
  refuseExpectation,
  requestIdOf,
} from './broken-request.ts';
import { parseBody } from './json-body.ts';
import type { Hosts } from './listening.ts';
import { ProblemResponse } from './problem.ts';
import { withoutKeys } from './store/key-value.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media types of the request body; JSON by default. */
    takes?: readonly string[];
  }
  interface FastifyInstance {
    /** `allow` lists the methods for the header Allow. */
    servedPaths: { readonly pattern: RegExp; readonly allow: string }[];
  }
}

export interface AppOptions {
  readonly hosts: Hosts;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
  /** Behind a reverse proxy, its headers X-Forwarded-For and X-Forwarded-Proto are trusted. */
  readonly behindProxy: boolean;
  /** Receives each request after its response was sent. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  bug(error: unknown, request: FastifyRequest): void;
  /** Time in ms without received data after which the server stops waiting for the rest of a body; a minute by default. */
  readonly bodyIdleMs?: number;
}

const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const safeHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Creates the HTTP server without routes. It checks the Host header, assigns request ids, and turns errors into problem responses. */
export function createApp(options: AppOptions): FastifyInstance {
  const { hosts, tls, behindProxy } = options;
  const app = Fastify({
    bodyLimit: maxJsonBytes,
    genReqId: requestIdOf,
    requestIdHeader: false,
    // Trusts only the last hop, which is the server's own reverse proxy.
    trustProxy: behindProxy ? (_address, hop) => hop < 1 : false,
    forceCloseConnections: false,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: refuseBrokenRequest,
    frameworkErrors: (error, request, reply) => void sendError(error, request as FastifyRequest, reply as FastifyReply, options),
    ...(tls && { https: tls }),
  }) as unknown as FastifyInstance;
  app.server.on('checkExpectation', refuseExpectation);
  cutIdleBodies(app.server, options.bodyIdleMs ?? idleMs);
  app.decorate('servedPaths', []);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, ({ headers, routeOptions: { schema } }, body, done) => {
    // Some clients send the Content-Type with every request, for example with DELETE.
    if (body.length === 0 && schema?.body === undefined) return done(null);
    try {
      done(null, parseBody(body as Buffer, headers['content-encoding']));
    } catch (error) {
      done(error as Error);
    }
  });
  const headers = { ...safeHeaders, ...(tls && { 'strict-transport-security': 'max-age=31536000' }) };
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(headers).header('x-request-id', request.id);
    refuseOtherHosts(hosts, request.raw);
  };
  app.addHook('onRequest', checking(begin));
  app.addHook('onResponse', (request, reply, done) => {
    // Reads and discards the rest of a refused body, because the next request follows it on the same connection.
    if (!request.raw.complete) request.raw.resume();
    options.answered(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, options));
  app.setNotFoundHandler(refuseUnknown);
  app.addHook('onRoute', refuseUnguarded);
  return app;
}

type RequestCheck = (request: FastifyRequest, reply: FastifyReply) => void;

/** Rejects a request with the error that `check` throws. Creates no promises, because every request goes through several hooks. */
function checking(check: RequestCheck): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      check(request, reply);
    } catch (error) {
      return done(error as Error);
    }
    done();
  };
}

/** Throws a Problem. A request with an absolute URL contains the host twice (RFC 9112, 3.2.2), and both are checked. */
function refuseOtherHosts(hosts: Hosts, { url = '', headers: { host }, rawHeaders }: IncomingMessage): void {
  if (!hosts.isServed(host)) throw new ProblemResponse('host-not-served', "expected a Host header with one of this server's names");
  if (countHosts(rawHeaders) > 1) throw new ProblemResponse('bad-request', 'expected one Host header, found several');
  if (url.startsWith('/')) return;
  const named = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (named === undefined) throw new ProblemResponse('bad-request', 'expected an address that begins with /');
  if (!hosts.isServed(named)) throw new ProblemResponse('host-not-served', "expected an address with one of this server's names");
}

/** In `rawHeaders`, names and values alternate. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/** Path prefixes whose routes must have a guard. */
const guardedPrefixes = ['/v1', '/mcp', '/ui'] as const;

/** `guard` runs first, so a refused client cannot find out which paths exist. It also covers percent-encoded URLs. */
export function addGuarded(
  app: FastifyInstance,
  prefix: (typeof guardedPrefixes)[number],
  guard: RequestCheck,
  add: (guarded: FastifyInstance) => void,
): void {
  const addAll = async (guarded: FastifyInstance) => {
    guarded.addHook('onRequest', checking(guard));
    guarded.addHook('onRequest', checking(refuseUnknownQuery));
    guarded.setNotFoundHandler(refuseUnknown);
    add(guarded);
  };
  void app.register(addAll, { prefix });
}

/** Throws a Problem (`bad-request`). Routes with a query schema check their own query. */
function refuseUnknownQuery({ is404, url, query, routeOptions }: FastifyRequest): void {
  if (!url.includes('?') || is404 || (routeOptions.schema as { querystring?: unknown } | undefined)?.querystring) return;
  const [name] = Object.keys(query as object);
  if (name === undefined) return;
  const errors = [{ pointer: `/${shortName(name)}`, detail: 'this name is not expected here' }];
  throw new ProblemResponse('bad-request', `querystring: "${shortName(name)}": this name is not expected here`, { errors });
}

/** Throws an Error if a route below a guarded prefix has no guard, which is a bug. */
function refuseUnguarded({ url, prefix }: { readonly url: string; readonly prefix: string }): void {
  const guarded = guardedPrefixes.find((one) => url === one || url.startsWith(`${one}/`));
  if (guarded !== undefined && prefix !== guarded) throw new Error(`${url} has no guard`);
}

/** 404 for an unknown path, and 405 for a method that the path does not have. */
function refuseUnknown({ server, params, url, method }: FastifyRequest): never {
  const { '*': rest = '' } = params as { readonly '*'?: string };
  // A route's path can be the prefix itself, with nothing after it.
  const [asked = ''] = url.split('?');
  const path = rest === '' && server.prefix !== '' && !asked.endsWith('/') ? server.prefix : `${server.prefix}/${rest}`;
  const allow = server.servedPaths.find(({ pattern }) => pattern.test(path))?.allow;
  if (allow === undefined) throw new ProblemResponse('not-found', `there is nothing at ${asked}`);
  throw new ProblemResponse('method-not-allowed', `expected ${allow}, found ${method}`, {}, { allow });
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type HandlerOptions = Omit<Parameters<FastifyInstance['route']>[0], 'method' | 'url'>;

/** For a path with one method. */
export function addRoute(
  app: FastifyInstance,
  method: Method,
  url: string,
  options: HandlerOptions,
  more?: Parameters<typeof addRoutes>[3],
): void {
  addRoutes(app, url, { [method]: options }, more);
}

/** Adds HEAD if there is GET, unless GET returns a stream. `url` includes the prefix of `app`. */
export function addRoutes(
  app: FastifyInstance,
  url: string,
  routes: Readonly<Partial<Record<Method, HandlerOptions>>>,
  { withHead = true }: { readonly withHead?: boolean } = {},
): void {
  if (!url.startsWith(app.prefix)) throw new Error(`${url} is not below ${app.prefix}`);
  const path = url.slice(app.prefix.length);
  const served: HTTPMethods[] = Object.keys(routes) as HTTPMethods[];
  for (const [method, route] of Object.entries(routes)) app.route({ ...route, method, url: path });
  if (routes.GET && withHead) {
    const { schema, ...rest } = routes.GET;
    app.route({ ...rest, schema: { ...schema, hide: true } as object, method: 'HEAD', url: path });
    served.push('HEAD');
  }
  const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`);
  app.servedPaths.push({ pattern, allow: served.join(', ') });
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, options: AppOptions): FastifyReply {
  const problem = problemOfError(error, request.routeOptions.config?.takes);
  if (problem.problem === 'internal') options.bug(error, request);
  if (!reply.hasHeader('x-request-id')) reply.headers({ ...safeHeaders, 'x-request-id': request.id });
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .serializer((body: unknown) => body as string)
    .send(withoutKeys(JSON.stringify(problem.body(request.id))));
}
