import { type ActionRequest, type ActionResponse, gateOf, type SentRequest } from '../core/action.ts';
import type { Documents } from '../core/answer/document.ts';
import { type AnswerFacts, type Arrival, arrivalOf, type StartedAttempt } from '../core/answer/facts.ts';
import { type Answer, type Found, type MappedPart, type Mapping, rootValue } from '../core/answer/mapping.ts';
import { documentKind, readDocument } from '../core/answer/response.ts';
import { shownSignature } from '../core/auth/auth.ts';
import type { AttemptContext, BatchEntry, CachedCall, Call, KeptCall } from '../core/call.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import type { NodeEvent } from '../core/event.ts';
import { type Action, type CallPolicy, type Node, type NodeContext, type RowsRead, Unasked } from '../core/node.ts';
import { maxCredits } from '../core/options/amounts.ts';
import type { HttpRequest, HttpResponse } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { withQuery } from '../core/template/url.ts';
import { isRemote, type ToolAnswer } from '../core/tools.ts';
import { isObject, orUndefined, textOf } from '../core/value/value.ts';

/** An accepted answer, in the form that a node reads. If it comes from an HTTP server, it includes the response. */
export interface Accepted extends Answer {
  readonly response?: HttpResponse;
}

interface BatchRule {
  entryOf(fields: Fields, clock: EvaluationClock): BatchEntry<RowsRead> | Unasked;
}

export function callEach(action: Action): Node['run'] {
  return (fields, context) => {
    const request = action.prepare(fields, context.clock);
    if (request instanceof Unasked) return Promise.resolve([request.row]);
    return context.call(new RequestCall(action, request as SentRequest, fields)).then((answer) => {
      if (action.morePages) reportMorePages(action.morePages, answer, request, context);
      return reported(action, action.read(fields, answer), context);
    });
  };
}

function reportMorePages(find: NonNullable<Action['morePages']>, answer: Answer, request: ActionRequest, context: NodeContext): void {
  context.reportOnce(() => {
    const found = find(answer, request);
    return found && { type: 'more-pages', ...found };
  });
}

export function callBatches(action: Action, batching: BatchRule): Node['run'] {
  return (fields, context) => {
    const entry = batching.entryOf(fields, context.clock);
    if (entry instanceof Unasked) return Promise.resolve([entry.row]);
    return context.call(entry).then((reading) => reported(action, reading, context));
  };
}

/** Returns the rows that were read from a response, and reports which paths of the map led to a value. */
export function reported({ paths }: Action, { rows, found }: RowsRead, context: NodeContext): readonly Fields[] {
  if (paths.length > 0) context.report(mappedEvent(paths, found));
  return rows;
}

export function mappedEvent(paths: readonly string[], found: readonly Found[]): Extract<NodeEvent, { type: 'mapped' }> {
  if (!found.includes('empty')) return { type: 'mapped', paths, found: found as readonly boolean[] };
  const empty = paths.filter((_, index) => found[index] === 'empty');
  return { type: 'mapped', paths, found: found.map(Boolean), empty };
}

/** Maps a response, or a part of it, to rows. Throws a Failure if the response lacks a required value. */
export function readMapped(mapping: Mapping | undefined, fields: Fields, answer: Answer, part?: MappedPart): RowsRead {
  const found: Found[] = [];
  return { rows: mapping ? mapping.apply(fields, answer, found, part) : [fields], found };
}

/** A call that sends one request. An object is created for every record, so all functions are methods of the class to save memory. */
export class RequestCall implements Call<Accepted> {
  readonly gate: Call<unknown>['gate'];
  readonly #policy: CallPolicy;
  readonly #part: string | undefined;
  readonly #record: Fields | undefined;
  protected request: SentRequest;
  protected response: HttpResponse | ToolAnswer | undefined;
  #hasKey = false;

  /** `part` distinguishes several calls for a record; undefined if there is only one. `record` is undefined in a batch. */
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
    const restore = async (response: HttpResponse, context: AttemptContext, isCached: boolean) => {
      const answer = accept(await readable(response, this.#policy, context.documents), this.request, this.#record, context.clock);
      return withFacts(this.#policy, answer, this.request, response.arrival, isCached);
    };
    return { maxAgeMs: cache.maxAgeMs, key: cache.key(this.request, this.#record), store: responseOf, restore };
  }

  /** A saved file is not kept with the answers, and another run may save it elsewhere. */
  get kept(): KeptCall<Accepted> | undefined {
    const { request } = this;
    if (this.#policy.keepsAnswers === false || ('save' in request && request.save)) return undefined;
    return {
      request,
      response: () => this.response,
      restore: async ({ response, arrival }, context) =>
        this.#accepted(await readable(response, this.#policy, context.documents), context, arrival, true),
    };
  }

  async attempt(context: AttemptContext, started: StartedAttempt): Promise<Accepted> {
    const sent = await sendRequest(this.#identified(context), context);
    const arrival = this.#policy.readsFacts || this.#policy.cache ? arrivalOf(started, context.clock, answeredMs(sent)) : undefined;
    const response = arrival ? { ...sent, arrival } : sent;
    const answer = this.#accepted(await readable(response, this.#policy, context.documents), context, arrival);
    this.response = response as HttpResponse | ToolAnswer;
    return answer;
  }

  #accepted(response: ActionResponse, context: AttemptContext, arrival: Arrival | undefined, isCached = false): Accepted {
    const answer = this.#policy.accept(response, this.request, this.#record, context.clock);
    if (!this.#policy.judgesAnswers && holdsErrors(answer)) context.report({ type: 'errors-beside-data' });
    return withFacts(this.#policy, answer, this.request, arrival, isCached);
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

function answeredMs(response: ActionResponse): number | undefined {
  return 'kind' in response ? undefined : response.atMs;
}

/** True for a body that contains both data and a list of errors, as in a GraphQL response with status 200. */
function holdsErrors({ body }: Accepted): boolean {
  return isObject(body) && Array.isArray(body.errors) && body.errors.length > 0 && Object.hasOwn(body, 'data');
}

export function sendRequest(
  request: ActionRequest,
  context: Pick<AttemptContext, 'http' | 'tools' | 'lookups' | 'report'>,
): ActionResponse | Promise<ActionResponse> {
  if (!('kind' in request)) return context.http.send(request);
  if (request.kind === 'lookup') return context.lookups.find(request);
  const { tool } = request;
  return context.tools.call(request, (progress) => context.report({ type: 'tool-progress', tool, ...progress }));
}

/** Adds to a response what its readers need: the charset that the flow says, and the body if it is XML or CSV. */
export function readable<Response extends ActionResponse>(
  response: Response,
  { responseMode, charset }: Pick<CallPolicy, 'responseMode' | 'charset'>,
  documents: Documents,
): Response | Promise<Response> {
  if ('kind' in response || response.body.length === 0) return response;
  const encoded = charset === undefined ? response : { ...response, charset };
  const kind = responseMode && documentKind(response, responseMode);
  if (!kind) return encoded;
  return readDocument(encoded as HttpResponse, kind, documents).then((document) => ({ ...encoded, document }));
}

/** Returns the actual cost that a response states; undefined if the response has no non-negative number at the path `cost`. */
export function costOf({ cost: path }: Pick<CallPolicy, 'cost'>, answer: Answer): number | undefined {
  if (!path) return undefined;
  const text = textOf(rootValue(path, answer, answer.body) ?? '').trim();
  const cost = text === '' ? Number.NaN : Number(text);
  return cost >= 0 && cost <= maxCredits ? cost : undefined;
}

export function withFacts(
  { readsFacts }: Pick<CallPolicy, 'readsFacts'>,
  answer: Accepted,
  request: ActionRequest,
  arrival: Arrival | undefined,
  isCached = false,
): Accepted {
  return readsFacts && arrival ? { ...answer, facts: factsOf(request, answer.response, arrival, isCached) } : answer;
}

function factsOf(
  request: ActionRequest,
  response: Pick<HttpResponse, 'redirectedTo'> | undefined,
  { atMs, ms, attempts }: Arrival,
  cached: boolean,
): AnswerFacts {
  return { url: finalUrl(request, response), at: new Date(atMs).toISOString(), ms, attempts, cached };
}

function finalUrl(request: ActionRequest, response: Pick<HttpResponse, 'redirectedTo'> | undefined): string {
  if ('kind' in request) return request.kind === 'tool' ? serverAddress(request) : '';
  const { origin, path } = response?.redirectedTo ?? request;
  const { parameters = [] } = request.auth ? shownSignature(request.auth) : {};
  return origin + (parameters.length === 0 ? path : withMasked(path, parameters, origin === request.origin));
}

function serverAddress({ origin, connection: { server } }: Extract<ActionRequest, { kind: 'tool' }>): string {
  return isRemote(server) ? server.url : origin;
}

/** A path has no parameters from signing before it is signed, but a server may redirect to a URL with them. */
function withMasked(path: string, parameters: readonly string[], isSigned: boolean): string {
  const masked = path.replace(/(?<=[?&])([^=&#]*)=[^&#]*/g, (written, name: string) =>
    parameters.includes(orUndefined(() => decodeURIComponent(name.replaceAll('+', ' '))) ?? name) ? `${name}=***` : written,
  );
  return isSigned ? withQuery(masked, parameters.map((name) => `${encodeURIComponent(name)}=***`).join('&')) : masked;
}

function responseOf({ response }: Accepted): HttpResponse {
  return response as HttpResponse;
}

function withOwner(request: HttpRequest, context: AttemptContext): HttpRequest {
  return request.save ? { ...request, save: { ...request.save, owner: context.idempotencyKey('save') } } : request;
}

/** Adds the header with the idempotency key, unless the flow itself sets this header. */
function withIdempotencyKey(request: HttpRequest, key: string): HttpRequest {
  if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'idempotency-key')) return request;
  return { ...request, headers: { ...request.headers, 'Idempotency-Key': key } };
}
