import { type ActionRequest, type ActionResponse, gateOf, type SentRequest } from '../core/action.ts';
import type { Documents } from '../core/answer/document.ts';
import { type Answer, type MappedPart, type Mapping, rootValue } from '../core/answer/mapping.ts';
import { documentKind } from '../core/answer/response.ts';
import type { BatchEntry } from '../core/batch.ts';
import type { AttemptContext, CachedCall, Call } from '../core/call.ts';
import { Failure } from '../core/failure.ts';
import { type Action, type CallPolicy, type Node, type NodeContext, type Reading, Unasked } from '../core/node.ts';
import { maxCredits } from '../core/options/amounts.ts';
import type { HttpRequest, HttpResponse } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { isObject, textOf } from '../core/value/value.ts';
import { matches } from './call-policy.ts';

/** An accepted answer. The answer to an HTTP request has its response, too. */
export interface Accepted extends Answer {
  readonly response?: HttpResponse;
}

/** A way to put records into batches. */
interface Batching {
  entryOf(fields: Fields): BatchEntry<Reading> | Unasked;
}

/** Runs a node that makes one call for each record. */
export function callEach(action: Action): Node['run'] {
  return (fields, context) => {
    const request = action.prepare(fields);
    if (request instanceof Unasked) return Promise.resolve([request.row]);
    return context
      .call(new RequestCall(action, request as SentRequest, fields))
      .then((answer) => reported(action, action.read(fields, answer), context));
  };
}

/** Runs a node that makes one call for many records. */
export function callBatches(action: Action, batching: Batching): Node['run'] {
  return (fields, context) => {
    const entry = batching.entryOf(fields);
    if (entry instanceof Unasked) return Promise.resolve([entry.row]);
    return context.call(entry).then((reading) => reported(action, reading, context));
  };
}

/** The rows of a reading, whose hits are reported. */
export function reported({ paths }: Action, { rows, found }: Reading, context: NodeContext): readonly Fields[] {
  if (paths.length > 0) context.report({ type: 'mapped', paths, found });
  return rows;
}

/** Maps an answer, or a part of it. Throws a Failure. */
export function readMapped(mapping: Mapping | undefined, fields: Fields, answer: Answer, part?: MappedPart): Reading {
  const found: boolean[] = [];
  return { rows: mapping ? mapping.apply(fields, answer, found, part) : [fields], found };
}

/** A call that sends one request. There is one for every record, so its methods are shared. */
export class RequestCall implements Call<Accepted> {
  readonly gate: Call<unknown>['gate'];
  readonly #policy: CallPolicy;
  readonly #part: string | undefined;
  readonly #record: Fields | undefined;
  /** The request of the next attempt. */
  protected request: SentRequest;
  #hasKey = false;

  /** `part`: names one of several calls for a record; undefined if it makes only one. `record`: undefined in a batch. */
  constructor(policy: CallPolicy, request: SentRequest, record?: Fields, part?: string) {
    this.gate = gateOf(request);
    this.#policy = policy;
    this.request = request;
    this.#record = record;
    this.#part = part;
  }

  get intervalMs(): number | undefined {
    return this.#policy.intervalMs;
  }

  get limit(): CallPolicy['limit'] {
    return this.#policy.limit;
  }

  get retry(): CallPolicy['retry'] {
    return this.#policy.retry;
  }

  get cache(): CachedCall<Accepted> | undefined {
    const { cache, accept } = this.#policy;
    if (!cache) return undefined;
    const restore = async (response: HttpResponse, context: AttemptContext) =>
      accept(await withParser(response, this.#policy, context.documents), this.request, this.#record);
    return { maxAgeMs: cache.maxAgeMs, key: cache.key(this.request, this.#record), store: responseOf, restore };
  }

  /** Makes final the failures that the flow does not want retried. */
  async attempt(context: AttemptContext): Promise<Accepted> {
    try {
      const request = this.#identified(context);
      const response = await sendRequest(request, context);
      const answer = this.#policy.accept(await withParser(response, this.#policy, context.documents), request, this.#record);
      if (!this.#policy.judgesAnswers && holdsErrors(answer)) context.report({ type: 'errors-beside-data' });
      return answer;
    } catch (error) {
      const isFinal = error instanceof Failure && error.retryable && !isRetried(this.#policy.retryOn, error);
      throw isFinal ? error.asFinal() : error;
    }
  }

  cost(answer: Accepted): number | undefined {
    return costOf(this.#policy, answer);
  }

  askedToWaitMs({ response }: Accepted): number | undefined {
    return response?.retryAfterMs;
  }

  isSpent({ response }: Accepted): boolean {
    return response?.header('retry-after') === undefined;
  }

  atMs({ response }: Accepted): number | undefined {
    return response?.atMs;
  }

  #identified(context: AttemptContext): SentRequest {
    if (this.#policy.hasIdempotencyKey && !this.#hasKey) {
      this.request = withIdempotencyKey(this.request as HttpRequest, context.idempotencyKey(this.#part));
      this.#hasKey = true;
    }
    if ('save' in this.request && this.request.save?.owner === undefined) this.request = withOwner(this.request, context);
    return this.request;
  }
}

/** True for a body with a list of errors beside its data, as GraphQL answers with status 200. */
function holdsErrors({ body }: Accepted): boolean {
  return isObject(body) && Array.isArray(body.errors) && body.errors.length > 0 && Object.hasOwn(body, 'data');
}

/** Sends a request through its port. */
export function sendRequest(
  request: ActionRequest,
  context: Pick<AttemptContext, 'http' | 'tools' | 'lookups' | 'report'>,
): ActionResponse | Promise<ActionResponse> {
  if (!('kind' in request)) return context.http.send(request);
  if (request.kind === 'lookup') return context.lookups.find(request);
  const { tool } = request;
  return context.tools.call(request, (progress) => context.report({ type: 'tool-progress', tool, ...progress }));
}

/** A response with the parser of its document, for a node that reads documents. */
export function withParser<Response extends ActionResponse>(
  response: Response,
  { responseMode }: Pick<CallPolicy, 'responseMode'>,
  documents: Documents,
): Response | Promise<Response> {
  if (responseMode === undefined || 'kind' in response || response.body.length === 0) return response;
  const kind = documentKind(response, responseMode);
  return kind ? documents.load(kind).then((parse) => ({ ...response, parse })) : response;
}

/** The real cost that an answer states; undefined if it does not state a number of 0 or more. */
export function costOf({ cost: path }: Pick<CallPolicy, 'cost'>, answer: Answer): number | undefined {
  if (!path) return undefined;
  const text = textOf(rootValue(path, answer, answer.body) ?? '').trim();
  const cost = text === '' ? Number.NaN : Number(text);
  return cost >= 0 && cost <= maxCredits ? cost : undefined;
}

function responseOf({ response }: Accepted): HttpResponse {
  return response as HttpResponse;
}

function isRetried(retryOn: CallPolicy['retryOn'], { kind, status }: Failure): boolean {
  // Only retry_when makes an answer's failure retryable.
  return kind === 'answer' || (kind === 'http' ? matches(retryOn, status ?? 0) : retryOn.includes(kind));
}

function withOwner(request: HttpRequest, context: AttemptContext): HttpRequest {
  return request.save ? { ...request, save: { ...request.save, owner: context.idempotencyKey('save') } } : request;
}

/** A key that the flow itself sends is not replaced. */
function withIdempotencyKey(request: HttpRequest, key: string): HttpRequest {
  if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'idempotency-key')) return request;
  return { ...request, headers: { ...request.headers, 'Idempotency-Key': key } };
}
