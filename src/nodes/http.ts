import { bodyTemplate } from '../core/body.ts';
import { Failure } from '../core/failure.ts';
import { compileMapping, type Mapping } from '../core/mapping.ts';
import { type BuildContext, defineNode, type HttpConnection, type Node, type NodeContext } from '../core/node.ts';
import type { HttpRequest, HttpResponse } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { answerMessage, readBody } from '../core/response.ts';
import { headerTemplate, referencedFields, type TextTemplate } from '../core/template.ts';
import { targetOf, urlTemplate } from '../core/url.ts';
import { jsonOf, type Value } from '../core/value.ts';
import { type HttpOptions, httpOptions } from './http-options.ts';

/** The HTTP Request node: one request per record. */
export const http = defineNode({
  name: 'http',
  summary: 'HTTP Request: sends one request per record and maps the answer into fields',
  example: `- type: http
  method: GET
  url: https://api.example.com/users/{{user_id}}
  auth: { type: bearer, credential: crm-token }
  retry: { max: 3, on: [429, 5xx, timeout, network], backoff: 1s }
  map: { name: data.user.name, value: "results[0].value" }`,
  options: httpOptions,
  build,
});

const defaultConcurrency = 16;

/** What of a node is worked out once. */
interface Compiled {
  readonly options: HttpOptions;
  readonly request: (fields: Fields) => HttpRequest;
  readonly mapping: Mapping | undefined;
  readonly limit: { readonly key: string; readonly max: number };
  readonly intervalMs: number | undefined;
}

function build(options: HttpOptions, context: BuildContext): Node | undefined {
  const connection = options.connection === undefined ? undefined : context.connection(options.connection);
  if (options.connection !== undefined && !connection) return undefined;
  if (options.body !== undefined && (options.method === 'GET' || options.method === 'DELETE')) {
    context.problem(['body'], `a ${options.method} request has no body; expected method POST, PUT or PATCH`);
  }
  const request = compileRequest(options, connection, context);
  const mapping = tried(context, ['map'], () => options.map && compileMapping(options.map, options.when_empty));
  const auth = options.auth === undefined ? connection?.auth : options.auth;
  const compiled: Compiled = {
    options,
    request,
    mapping,
    limit: limitOf(options, connection, context.id),
    intervalMs: options.rate ?? connection?.intervalMs,
  };
  return {
    reads: readsOf(options, connection),
    columns: (before) => [...new Set([...before, ...(mapping?.fields ?? [])])],
    run: (fields, runContext) => run(compiled, fields, runContext),
    action: {
      concurrency: compiled.limit.max,
      credentials: auth ? [{ field: auth.credential, at: options.auth === undefined ? ['connection'] : ['auth'] }] : [],
      request,
      body: (response) => readBody(response, options.response, false),
      rows: (fields, response, found) =>
        mapping ? rowsOf(mapping, fields, { response, body: bodyOf(compiled, response) }, found) : [fields],
      expands: mapping?.expands ?? false,
      paths: mapping?.paths ?? [],
      fields: mapping?.fields ?? [],
      refusal: (response) => refusal(options, response),
    },
  };
}

function tried<Result>(context: BuildContext, at: readonly string[], compile: () => Result): Result | undefined {
  try {
    return compile();
  } catch (error) {
    context.problem(at, (error as Error).message);
    return undefined;
  }
}

/** A node's own concurrency is its own; a connection's is shared by all its nodes. */
function limitOf(options: HttpOptions, connection: HttpConnection | undefined, id: string): Compiled['limit'] {
  if (options.concurrency === undefined && connection?.concurrency !== undefined) {
    return { key: `connection ${connection.name}`, max: connection.concurrency };
  }
  return { key: `node ${id}`, max: options.concurrency ?? defaultConcurrency };
}

function compileRequest(
  options: HttpOptions,
  connection: HttpConnection | undefined,
  context: BuildContext,
): (fields: Fields) => HttpRequest {
  const allowHttp = context.allowHttp || (connection?.allowHttp ?? false);
  const url = tried(context, ['url'], () => urlTemplate(options.url, { baseUrl: connection?.baseUrl, allowHttp }));
  if (url?.origin !== undefined) context.literalOrigins.add(url.origin);
  const body = tried(context, ['body'], () =>
    options.body === undefined ? undefined : bodyTemplate(options.body as Value, context.isCell),
  );
  const headers = headerTemplates(connection?.headers, options.headers, body !== undefined);
  const auth = options.auth === undefined ? connection?.auth : options.auth;
  if (auth?.type === 'oauth2_client_credentials') {
    tried(context, [options.auth === undefined ? 'connection' : 'auth'], () => targetOf(auth.tokenUrl, { allowHttp }));
  }
  const signed = auth ? { auth } : {};
  const fromData = { hostFromData: { allowHosts: context.allowHosts } };
  const fixed = {
    method: options.method,
    timeoutMs: options.timeout,
    maxBodyBytes: options.max_body,
    followAny: options.follow === 'any',
  };
  return (fields) => {
    const target = (url as NonNullable<typeof url>).render(fields);
    const rendered: Record<string, string> = {};
    for (const [name, render] of headers) rendered[name] = render(fields);
    return {
      ...fixed,
      origin: target.origin,
      path: target.path,
      headers: rendered,
      ...(body === undefined ? {} : { body: body(fields) }),
      ...(context.literalOrigins.has(target.origin) ? signed : {}),
      ...(target.fromData ? fromData : {}),
    };
  };
}

/** The node's headers over the connection's, whatever their case; JSON is announced unless the flow announces another type. */
function headerTemplates(
  ofConnection: Readonly<Record<string, string>> | undefined,
  ofNode: Readonly<Record<string, string>> | undefined,
  hasBody: boolean,
): [string, TextTemplate][] {
  const headers = new Map<string, [string, string]>();
  if (hasBody) headers.set('content-type', ['Content-Type', 'application/json']);
  for (const [name, value] of Object.entries({ ...ofConnection })) headers.set(name.toLowerCase(), [name, value]);
  for (const [name, value] of Object.entries({ ...ofNode })) headers.set(name.toLowerCase(), [name, value]);
  return [...headers.values()].map(([name, value]) => [name, headerTemplate(name, value)]);
}

function readsOf(options: HttpOptions, connection: HttpConnection | undefined): Node['reads'] {
  const uses = (text: string, at: readonly (string | number)[]) => referencedFields(text).map((field) => ({ field, at }));
  return [
    ...Object.values(connection?.headers ?? {}).flatMap((value) => uses(value, ['connection'])),
    ...uses(options.url, ['url']),
    ...Object.entries(options.headers ?? {}).flatMap(([name, value]) => uses(value, ['headers', name])),
    ...(typeof options.body === 'string' ? uses(options.body, ['body']) : usesWithin(options.body as Value | undefined, ['body'])),
  ];
}

function usesWithin(value: Value | undefined, at: readonly (string | number)[]): Node['reads'] {
  if (typeof value === 'string') return referencedFields(value).map((field) => ({ field, at }));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    ...referencedFields(name).map((field) => ({ field, at })),
    ...usesWithin(member as Value, [...at, Array.isArray(value) ? Number(name) : name]),
  ]);
}

/** An answer and what was read from its body. */
interface Exchange {
  readonly response: HttpResponse;
  readonly body: Value | undefined;
}

async function run(compiled: Compiled, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const { options, mapping } = compiled;
  const request = withIdempotencyKey(compiled.request(fields), options.idempotency_key, context);
  const exchange =
    options.cache === undefined ? await exchanged(compiled, request, context) : await fromCache(compiled, request, options.cache, context);
  if (!mapping) return [fields];
  const found: boolean[] = [];
  const rows = rowsOf(mapping, fields, exchange, found);
  context.mapped(mapping.paths, found);
  return rows;
}

async function fromCache(compiled: Compiled, request: HttpRequest, maxAgeMs: number, context: NodeContext): Promise<Exchange> {
  const produce = async () => (await exchanged(compiled, request, context)).response;
  const response = await context.cached(cacheKey(request), maxAgeMs, produce);
  return { response, body: bodyOf(compiled, response) };
}

function withIdempotencyKey(request: HttpRequest, wanted: boolean, context: NodeContext): HttpRequest {
  if (!wanted || Object.keys(request.headers).some((name) => name.toLowerCase() === 'idempotency-key')) return request;
  return { ...request, headers: { ...request.headers, 'Idempotency-Key': context.idempotencyKey() } };
}

/** Everything that makes two requests the same, and the credential by its name only. */
function cacheKey(request: HttpRequest): string {
  const { method, origin, path, headers, body, auth } = request;
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return jsonOf([method, origin + path, named.sort(), body ?? null, auth?.type ?? null, auth?.credential ?? null]);
}

function exchanged(compiled: Compiled, request: HttpRequest, context: NodeContext): Promise<Exchange> {
  const { retry } = compiled.options;
  return context.call({
    gate: { origin: request.origin, credential: request.auth?.credential },
    intervalMs: compiled.intervalMs,
    limit: compiled.limit,
    retry: {
      max: retry.max,
      firstDelayMs: retry.backoff.initial,
      factor: retry.backoff.factor,
      maxDelayMs: retry.backoff.max,
      jitter: retry.backoff.jitter,
      maxWaitMs: retry.max_wait,
    },
    attempt: () => attempt(compiled, request, context),
  });
}

/** One try. A failure of the network or a deadline comes retryable from the port; whether the flow wants it tried again is said here. */
async function attempt(compiled: Compiled, request: HttpRequest, context: NodeContext): Promise<Exchange> {
  const { options } = compiled;
  try {
    const response = await context.http.send(request);
    const refused = refusal(options, response, request);
    if (refused) throw refused;
    return { response, body: bodyOf(compiled, response) };
  } catch (error) {
    if (error instanceof Failure && error.retryable && error.kind !== 'http' && !retries(options, error.kind)) {
      throw error.asFinal();
    }
    throw error;
  }
}

function retries(options: HttpOptions, on: HttpOptions['retry']['on'][number] | string): boolean {
  return options.retry.on.some((wanted) => wanted === on);
}

function matches(wanted: readonly (number | string)[], status: number): boolean {
  return wanted.includes(status) || wanted.includes(`${Math.floor(status / 100)}xx`);
}

function refusal(options: HttpOptions, response: HttpResponse, request?: HttpRequest): Failure | undefined {
  const { status, retryAfterMs } = response;
  if (matches(options.success, status)) return undefined;
  const unsigned = (status === 401 || status === 403) && request?.hostFromData !== undefined && request.auth === undefined;
  const reason = unsigned ? ' (no credential was sent: the flow does not name this origin literally)' : '';
  return new Failure('http', answerMessage(response) + reason, {
    status,
    retryable: matches(options.retry.on, status),
    retryAfterMs,
  });
}

/** Read inside the try, so that a body cut off on its way is tried again. A webhook's answer, which nobody reads, can't fail it. */
function bodyOf({ options, mapping }: Compiled, response: HttpResponse): Value | undefined {
  if (!mapping && options.response !== 'json') return undefined;
  return readBody(response, options.response, mapping?.needsJson ?? false);
}

function rowsOf(mapping: Mapping, fields: Fields, { response, body }: Exchange, found: boolean[]): Fields[] {
  return mapping.apply(fields, { status: response.status, header: response.header, body }, found);
}
