import { type MappedPart, type Mapping, rootValue } from '../../core/answer/mapping.ts';
import type { Path } from '../../core/answer/path.ts';
import { announcesJson, answerMessage, readBody } from '../../core/answer/response.ts';
import type { RetryPolicy } from '../../core/call.ts';
import { Failure } from '../../core/failure.ts';
import type { NodeContext } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { costIn, matches } from '../call-policy.ts';
import type { HttpOptions } from './http-options.ts';

/** What of a node is worked out once. */
export interface Compiled {
  readonly options: HttpOptions;
  /** `inBody`: what the body is made of; absent for the fields. */
  readonly request: (fields: Fields, inBody?: Fields) => HttpRequest;
  readonly mapping: Mapping | undefined;
  /** Whether the body is looked into, by the map or on the way to it: then one that is no JSON is a failure. */
  readonly needsJson: boolean;
  readonly limit: { readonly key: string; readonly max: number };
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** Where an answer says what it really cost; absent for nowhere. */
  readonly cost: Path | undefined;
}

/** An answer and what was read from its body. */
export interface Exchange {
  readonly response: HttpResponse;
  readonly body: Value | undefined;
}

/** What a request needs of its record's context. */
export type CallContext = Pick<NodeContext, 'http' | 'call' | 'cached' | 'idempotencyKey'>;

/** Gets the answer to a request: from the cache where the flow says so. `part`: which of several requests of a record; absent for the one. */
export async function exchange(compiled: Compiled, request: HttpRequest, context: CallContext, part?: string): Promise<Exchange> {
  const maxAgeMs = compiled.options.cache;
  if (maxAgeMs === undefined) return sent(compiled, request, context, part);
  const produce = async () => (await sent(compiled, request, context, part)).response;
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

function sent(compiled: Compiled, rendered: HttpRequest, context: CallContext, part: string | undefined): Promise<Exchange> {
  const request = compiled.options.idempotency_key ? withIdempotencyKey(rendered, () => context.idempotencyKey(part)) : rendered;
  return context.call({
    gate: { origin: request.origin, credential: request.auth?.credential },
    intervalMs: compiled.intervalMs,
    limit: compiled.limit,
    retry: compiled.retry,
    attempt: () => attempt(compiled, request, context),
    askedToWaitMs: ({ response }) => response.retryAfterMs,
    isSpent: ({ response }) => response.header('retry-after') === undefined,
    atMs: ({ response }) => response.atMs,
    ...(compiled.cost && { cost: (exchange: Exchange) => costOf(compiled, exchange) }),
  });
}

/** Where an answer says what it cost, and how its body is read. */
type Costing = Pick<Compiled, 'cost'> & { readonly options: Pick<HttpOptions, 'response'> };

/** What an answer says that it cost; absent without a path to that, or when it says nothing that is a number from 0 on. */
export function costOf({ cost: path, options }: Costing, { response, body }: Exchange): number | undefined {
  if (!path) return undefined;
  const content = path.root === 'body' && body === undefined ? readable(options.response, response) : body;
  return costIn(rootValue(path, { status: response.status, header: response.header, body: content }, content));
}

/** An answer that nobody reads can't fail a record by what is wrong with it. */
function readable(mode: HttpOptions['response'], response: HttpResponse): Value | undefined {
  try {
    return readBody(response, mode, false);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** A key that the flow itself sends is left alone. */
function withIdempotencyKey(request: HttpRequest, key: () => string): HttpRequest {
  if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'idempotency-key')) return request;
  return { ...request, headers: { ...request.headers, 'Idempotency-Key': key() } };
}

/** One try. A failure of the network or a deadline comes retryable from the port; whether the flow wants it tried again is said here. */
async function attempt(compiled: Compiled, request: HttpRequest, context: CallContext): Promise<Exchange> {
  const { options } = compiled;
  try {
    const response = await context.http.send(request);
    const refused = refusal(options, response, request);
    if (refused) throw refused;
    return { response, body: bodyOf(compiled, response) };
  } catch (error) {
    if (error instanceof Failure && error.retryable && error.kind !== 'http' && !retries(options, error)) {
      throw error.asFinal();
    }
    throw error;
  }
}

function retries({ retry }: HttpOptions, { kind }: Failure): boolean {
  return retry.on.some((wanted) => wanted === kind);
}

/** Why an answer counts as no success; absent when it does. */
export function refusal(options: HttpOptions, response: HttpResponse, request?: HttpRequest): Failure | undefined {
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

/**
 * Read inside the try, so that a body cut off on its way is tried again. What nobody reads can't fail a record: a webhook's answer,
 * or an image of which the map takes the status. JSON that was announced to a map has to be some.
 */
export function bodyOf({ options, mapping, needsJson }: Compiled, response: HttpResponse): Value | undefined {
  const isRead = mapping && (mapping.readsBody || announcesJson(response, options.response));
  if (!isRead && !needsJson && options.response !== 'json') return undefined;
  return readBody(response, options.response, needsJson);
}

/** A record's output records from an answer, or from a part of it. `found` gets, per path, whether it led anywhere. Throws a Failure. */
export function rowsOf(mapping: Mapping, fields: Fields, { response, body }: Exchange, found: boolean[], part?: MappedPart): Fields[] {
  return mapping.apply(fields, { status: response.status, header: response.header, body }, found, part);
}
