import { Failure } from '../core/failure.ts';
import { compileMapping, type Mapping, rootValue } from '../core/mapping.ts';
import {
  type BuildContext,
  type CredentialNeed,
  defineNode,
  type HttpConnection,
  type Node,
  type NodeContext,
  type RetryPolicy,
} from '../core/node.ts';
import { mostCredits } from '../core/options.ts';
import { compilePath, type Path } from '../core/path.ts';
import type { Auth, HttpRequest, HttpResponse } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { answerMessage, readBody } from '../core/response.ts';
import { jsonOf, textOf, type Value } from '../core/value.ts';
import { type HttpOptions, httpOptions } from './http-options.ts';
import { compileRequest, fieldsIn, tried } from './http-request.ts';

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

/** Calls in flight at once where nobody says otherwise. */
export const defaultConcurrency = 16;

/** What of a node is worked out once. */
interface Compiled {
  readonly options: HttpOptions;
  readonly request: (fields: Fields) => HttpRequest;
  readonly mapping: Mapping | undefined;
  readonly limit: { readonly key: string; readonly max: number };
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** Where an answer says what it really cost; absent for nowhere. */
  readonly cost: Path | undefined;
}

function build(options: HttpOptions, context: BuildContext): Node {
  const connection = options.connection === undefined ? undefined : (context.connection(options.connection) ?? null);
  if (options.body !== undefined && (options.method === 'GET' || options.method === 'DELETE')) {
    context.problem(['body'], `a ${options.method} request has no body; expected method POST, PUT or PATCH`);
  }
  const { origin, render: request } = compileRequest(options, connection, context);
  const mapping = tried(context, ['map'], () => options.map && compileMapping(options.map, options.when_empty));
  if (options.response === 'text' && mapping?.needsJson) {
    context.warn(['map'], 'the answer is read as text: only $body, $status and $headers.NAME find something in it');
  }
  const auth = options.auth === undefined ? connection?.auth : options.auth;
  const compiled: Compiled = {
    options,
    request,
    mapping,
    limit: limitOf(options, connection, context.id),
    intervalMs: options.rate ?? connection?.intervalMs,
    retry: policyOf(options.retry),
    cost: tried(context, ['cost'], () => costPath(options.cost ?? connection?.cost)),
  };
  return {
    reads: fieldsIn(options, connection),
    typedFields: mapping?.fields ?? [],
    columns: (before) => [...new Set([...before, ...(mapping?.fields ?? [])])],
    run: (fields, runContext) => run(compiled, fields, runContext),
    action: {
      concurrency: compiled.limit.max,
      intervalMs: compiled.intervalMs,
      price: { credits: options.credits ?? connection?.credits ?? 1, connection: connection?.name },
      credentials: auth ? [credentialOf(auth, options, origin)] : [],
      request,
      body: (response) => readBody(response, options.response, false),
      rows: (fields, response, found) =>
        mapping ? rowsOf(mapping, fields, { response, body: bodyOf(compiled, response) }, found) : [fields],
      expands: mapping?.expands ?? false,
      paths: mapping?.paths ?? [],
      fields: mapping?.fields ?? [],
      refusal: (response) => refusal(options, response),
      cost: (response) => (compiled.cost ? costOf(compiled, { response, body: undefined }) : undefined),
    },
  };
}

/** Of OAuth the secret goes to the token server alone. */
function credentialOf(auth: Auth, options: HttpOptions, origin: string | undefined): CredentialNeed {
  const at = options.auth === undefined ? ['connection'] : ['auth', 'credential'];
  const to = auth.type === 'oauth2_client_credentials' ? originOf(auth.tokenUrl) : origin;
  return {
    field: auth.credential,
    at,
    isPair: auth.type === 'basic' && auth.username === undefined,
    origins: to === undefined ? [] : [to],
  };
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** A node's own concurrency is its own; a connection's is shared by all its nodes. */
export function limitOf(
  options: Pick<HttpOptions, 'concurrency'>,
  connection: Pick<HttpConnection, 'name' | 'concurrency'> | undefined | null,
  id: string,
): Compiled['limit'] {
  if (options.concurrency === undefined && connection?.concurrency !== undefined) {
    return { key: `connection ${connection.name}`, max: connection.concurrency };
  }
  return { key: `node ${id}`, max: options.concurrency ?? defaultConcurrency };
}

/** When a call is tried again, as its node says. */
export function policyOf({ max, backoff, max_wait }: Pick<HttpOptions['retry'], 'max' | 'backoff' | 'max_wait'>): RetryPolicy {
  const { initial, factor, max: maxDelayMs, jitter } = backoff;
  return { max, firstDelayMs: initial, factor, maxDelayMs, jitter, maxWaitMs: max_wait };
}

/** An answer and what was read from its body. */
interface Exchange {
  readonly response: HttpResponse;
  readonly body: Value | undefined;
}

async function run(compiled: Compiled, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const { options, mapping } = compiled;
  const request = compiled.request(fields);
  const exchange =
    options.cache === undefined ? await sent(compiled, request, context) : await fromCache(compiled, request, options.cache, context);
  if (!mapping) return [fields];
  const found: boolean[] = [];
  const rows = rowsOf(mapping, fields, exchange, found);
  context.mapped(mapping.paths, found);
  return rows;
}

async function fromCache(compiled: Compiled, request: HttpRequest, maxAgeMs: number, context: NodeContext): Promise<Exchange> {
  const produce = async () => (await sent(compiled, request, context)).response;
  const response = await context.cached(cacheKey(request, compiled.options), maxAgeMs, produce);
  return { response, body: bodyOf(compiled, response) };
}

/**
 * Everything that makes two requests the same, and the credential by its name only. The idempotency key is no part of it:
 * it differs for every record. Which answers count as success is: a kept one must not count where it would not have.
 */
function cacheKey({ method, origin, path, headers, body, auth, followAny }: HttpRequest, { success }: HttpOptions): string {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const signer = Object.entries(auth ?? {}).map(([name, value]) => [name, String(value)]);
  return jsonOf([method, origin + path, named.sort(), body ?? null, signer.sort(), followAny, success]);
}

function sent(compiled: Compiled, rendered: HttpRequest, context: NodeContext): Promise<Exchange> {
  const request = compiled.options.idempotency_key ? withIdempotencyKey(rendered, context) : rendered;
  return context.call({
    gate: { origin: request.origin, credential: request.auth?.credential },
    intervalMs: compiled.intervalMs,
    limit: compiled.limit,
    retry: compiled.retry,
    attempt: () => attempt(compiled, request, context),
    askedToWaitMs: ({ response }) => response.retryAfterMs,
    ...(compiled.cost && { cost: (exchange: Exchange) => costOf(compiled, exchange) }),
  });
}

/** Compiles where an answer says what it cost. Throws an Error that says what is wrong. */
export function costPath(text: string | undefined): Path | undefined {
  if (text === undefined) return undefined;
  const path = compilePath(text);
  if (path.legs.length > 1) throw new Error(`expected a path to one number, found "${text}", which leads to several`);
  return path;
}

/** What an answer says that it cost; absent when it says nothing that is a number from 0 on. */
function costOf(compiled: Compiled, { response, body }: Exchange): number | undefined {
  const path = compiled.cost as Path;
  const content = path.root === 'body' && body === undefined ? readable(compiled, response) : body;
  const found = rootValue(path, { status: response.status, header: response.header, body: content }, content);
  const cost = typeof found === 'string' && found.trim() === '' ? Number.NaN : Number(textOf(found ?? ''));
  return found !== undefined && found !== null && cost >= 0 && cost <= mostCredits ? cost : undefined;
}

/** An answer that nobody reads can't fail a record by what is wrong with it. */
function readable({ options }: Compiled, response: HttpResponse): Value | undefined {
  try {
    return readBody(response, options.response, false);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** A key that the flow itself sends is left alone. */
function withIdempotencyKey(request: HttpRequest, context: NodeContext): HttpRequest {
  if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'idempotency-key')) return request;
  return { ...request, headers: { ...request.headers, 'Idempotency-Key': context.idempotencyKey() } };
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

/** Whether a status is among those, or in one of their classes. */
export function matches(wanted: readonly (number | string)[], status: number): boolean {
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
