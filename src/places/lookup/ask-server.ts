import type { ActionRequest } from '../../core/action.ts';
import type { StartedAttempt } from '../../core/answer/facts.ts';
import type { Answer } from '../../core/answer/mapping.ts';
import type { AttemptContext, Batch, BatchEntry, KeptCall } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type CallPolicy, Unasked } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { formatCount } from '../../core/text/number.ts';
import { jsonOf } from '../../core/value/value.ts';
import { type Accepted, RequestCall } from '../../nodes/calling.ts';
import type { LookupDocument } from '../lookup.ts';
import type { LookupBatch, LookupServer } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/** Builds the action for a lookup at a server. The requests for a record are sent one after another, or many records share one. */
export function askServer(server: LookupServer, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
  const { batch, calls, credentials, maxAgeMs, publicServer } = server;
  const action: Action = {
    ...policy,
    // This process sends only one request at a time to a public server. All nodes, runs and calls share this limit.
    ...(publicServer !== undefined && { limit: { key: `public server ${publicServer}`, max: 1 } }),
    ...results.actionParts,
    prepare: (fields) => results.askedFor(server.requests(fields)[0], fields),
    accept(response: HttpResponse, _, record) {
      server.check(response);
      return results.answer(server.document([response], record as Fields), record as Fields, response);
    },
    credentials,
    ...(batch?.responseMode && { responseMode: batch.responseMode }),
    maxCalls: calls,
    minCalls: calls,
    lookup: { label: results.label, isLocal: false, publicServer },
    ...(maxAgeMs !== undefined && { cache: { maxAgeMs, key: cacheKey } }),
  };
  const checked: CallPolicy = { ...action, accept: (response: HttpResponse) => checkedResponse(server, response) };
  if (batch) return askInBatches(batch, action, checked, results);
  return {
    action,
    async ask(asked, context) {
      const { request, fields } = asked;
      const others = calls > 1 ? server.requests(fields).slice(1) : [];
      const responses: HttpResponse[] = [];
      for (const [index, each] of [request as HttpRequest, ...others].entries()) {
        const { response } = await context.call(new RequestCall(checked, each, fields, String(index)));
        responses.push(response as HttpResponse);
      }
      return results.rows(server.document(responses, fields), asked, context, responses.at(-1));
    },
  };
}

/** Checks a response before any record reads it, because many records can use the same response. */
function checkedResponse({ check }: LookupServer, response: HttpResponse): Accepted {
  check(response);
  return { status: response.status, header: response.header, body: null, response };
}

/** Returns the cache key of a request, without the secret that signs it. Requests with the same key have the same response. */
function cacheKey(request: ActionRequest): string {
  const { method, origin, path, body } = request as HttpRequest;
  return jsonOf(['lookup', method, origin + path, body ?? null]);
}

interface SharedDocument {
  readonly document: LookupDocument;
  readonly response: HttpResponse;
}

interface SharingRecord extends BatchEntry<SharedDocument> {
  readonly fields: Fields;
}

/** `action` is for a single record, and `checked` has the rules for calls. */
function askInBatches(way: LookupBatch, action: Action, checked: CallPolicy, results: LookupResults): Asking {
  const { size } = way;
  const shared = batchFor('', way, checked);
  return {
    action: {
      ...action,
      batchSize: size,
      // A refused batch of n records is halved down to single records. This takes at most 2n - 1 requests, so at most 2 for each record.
      maxCalls: size > 1 ? 2 : 1,
      ...(way.keyOf && { entryOf: preparedEntry }),
    },
    ask: (asked, context) =>
      context.call(entryOf(asked.fields)).then(({ document, response }) => results.rows(document, asked, context, response)),
  };

  function preparedEntry(fields: Fields, clock: EvaluationClock): SharingRecord | Unasked {
    const prepared = action.prepare(fields, clock);
    return prepared instanceof Unasked ? prepared : entryOf(fields);
  }

  function entryOf(fields: Fields): SharingRecord {
    const key = way.keyOf?.(fields);
    return { batch: key === undefined ? shared : batchFor(key, way, checked), fields, bytes: 0, question: undefined };
  }
}

function batchFor(key: string, way: LookupBatch, checked: CallPolicy): Batch<SharedDocument> {
  return {
    key,
    size: way.size,
    maxBytes: Number.POSITIVE_INFINITY,
    callFor: (entries) => new BatchCall(checked, way, new Map(entries.map((entry, index) => [index + 1, (entry as SharingRecord).fields]))),
    resultsOf: (entries, answer) => entries.map((_, index) => (answer as BatchAnswer).results(index + 1)),
  };
}

interface BatchAnswer extends Accepted {
  results(number: number): SharedDocument | Failure;
}

/** A call for many records. Each attempt requests only the records that were missing in earlier responses. */
class BatchCall extends RequestCall {
  readonly #way: LookupBatch;
  readonly #found = new Map<number, SharedDocument>();
  readonly #lacking: Map<number, Fields>;
  readonly #count: number;
  /** True if one response had all records: several are not kept. */
  #isWhole = true;

  constructor(policy: CallPolicy, way: LookupBatch, records: ReadonlyMap<number, Fields>) {
    super(policy, way.request(records));
    this.#way = way;
    this.#lacking = new Map(records);
    this.#count = records.size;
  }

  override get kept(): KeptCall<Accepted> | undefined {
    const kept = super.kept;
    return (
      kept && {
        ...kept,
        response: () => (this.#isWhole ? this.response : undefined),
        restore: async (answer, context) => this.#taken(await kept.restore(answer, context)),
      }
    );
  }

  override async attempt(context: AttemptContext, started: StartedAttempt): Promise<BatchAnswer> {
    this.#isWhole = this.#found.size === 0;
    return this.#taken(await super.attempt(context, started));
  }

  #taken(answer: Accepted): BatchAnswer {
    this.#take(answer.response as HttpResponse);
    return this.#answer(answer);
  }

  /** Records that were found keep their documents, and only the others fail. */
  resultDespite(failure: Failure): BatchAnswer | undefined {
    return this.#found.size === 0 ? undefined : this.#answer({ status: undefined, header: () => undefined, body: null }, failure);
  }

  /** Stores the documents from a response. Throws a retryable Failure if records are still missing. */
  #take(response: HttpResponse): void {
    for (const [number, document] of this.#way.documents(response)) {
      if (this.#lacking.delete(number)) this.#found.set(number, { document, response });
    }
    if (this.#lacking.size === 0) return;
    this.request = this.#way.request(this.#lacking);
    const lack = `${formatCount(this.#lacking.size)} of ${formatCount(this.#count)}`;
    throw new Failure('answer', `the answer lacks ${lack} records of the batch`, { status: response.status, retryable: true });
  }

  #answer(answer: Answer, failure?: Failure): BatchAnswer {
    return { ...answer, results: (number) => this.#found.get(number) ?? (failure as Failure) };
  }
}
