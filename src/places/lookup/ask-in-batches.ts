import type { Answer } from '../../core/answer/mapping.ts';
import type { Batch, BatchEntry } from '../../core/batch.ts';
import type { AttemptContext } from '../../core/call.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type CallPolicy, Unasked } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { formatCount } from '../../core/text/number.ts';
import { type Accepted, RequestCall } from '../../nodes/calling.ts';
import type { LookupDocument } from '../lookup.ts';
import type { LookupBatch } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/** The answer document for a record, and the response that contained it. */
interface SharedDocument {
  readonly document: LookupDocument;
  readonly response: HttpResponse;
}

/** A record that shares a request with others. */
interface Entry extends BatchEntry<SharedDocument> {
  readonly fields: Fields;
}

/**
 * Builds the action for looking up many records with one request. `action` is the action for a single record, and `checked` has the rules
 * for calls.
 */
export function askInBatches(way: LookupBatch, action: Action, checked: CallPolicy, results: LookupResults): Asking {
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

  function preparedEntry(fields: Fields): Entry | Unasked {
    const prepared = action.prepare(fields);
    return prepared instanceof Unasked ? prepared : entryOf(fields);
  }

  function entryOf(fields: Fields): Entry {
    const key = way.keyOf?.(fields);
    return { batch: key === undefined ? shared : batchFor(key, way, checked), fields, bytes: 0, question: undefined };
  }
}

function batchFor(key: string, way: LookupBatch, checked: CallPolicy): Batch<SharedDocument> {
  return {
    key,
    size: way.size,
    maxBytes: Number.POSITIVE_INFINITY,
    callFor: (entries) => new BatchCall(checked, way, new Map(entries.map((entry, index) => [index + 1, (entry as Entry).fields]))),
    resultsOf: (entries, answer) => entries.map((_, index) => (answer as BatchAnswer).results(index + 1)),
  };
}

/** The response to a batch. */
interface BatchAnswer extends Accepted {
  /** Returns the document for the record with this number in the batch, or the failure if there is none. */
  results(number: number): SharedDocument | Failure;
}

/** A call for many records. Each attempt requests only the records that were missing in earlier responses. */
class BatchCall extends RequestCall {
  readonly #way: LookupBatch;
  readonly #found = new Map<number, SharedDocument>();
  readonly #lacking: Map<number, Fields>;
  readonly #count: number;
  #attempts = 0;

  constructor(policy: CallPolicy, way: LookupBatch, records: ReadonlyMap<number, Fields>) {
    super(policy, way.request(records));
    this.#way = way;
    this.#lacking = new Map(records);
    this.#count = records.size;
  }

  override async attempt(context: AttemptContext): Promise<BatchAnswer> {
    this.#attempts++;
    try {
      const answer = await super.attempt(context);
      this.#take(answer.response as HttpResponse);
      return this.#answer(answer);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (this.#found.size > 0 && this.#isFinal(error))
        return this.#answer({ status: undefined, header: () => undefined, body: null }, error);
      this.request = this.#way.request(this.#lacking);
      throw error;
    }
  }

  /** Stores the documents from a response. Throws a retryable Failure if records are still missing. */
  #take(response: HttpResponse): void {
    for (const [number, document] of this.#way.documents(response)) {
      if (this.#lacking.delete(number)) this.#found.set(number, { document, response });
    }
    if (this.#lacking.size === 0) return;
    const lack = `${formatCount(this.#lacking.size)} of ${formatCount(this.#count)}`;
    throw new Failure('answer', `the answer lacks ${lack} records of the batch`, { status: response.status, retryable: true });
  }

  #answer(answer: Answer, failure?: Failure): BatchAnswer {
    if (failure) failure.attempts = this.#attempts;
    return { ...answer, results: (number) => this.#found.get(number) ?? (failure as Failure) };
  }

  /** True if no further attempt follows after this failure. */
  #isFinal({ retryable, retryAfterMs = 0 }: Failure): boolean {
    return !retryable || this.#attempts > this.retry.max || retryAfterMs > this.retry.maxWaitMs;
  }
}
