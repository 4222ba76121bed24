import type { CallPolicy } from '../core/action.ts';
import type { Answer } from '../core/answer/mapping.ts';
import type { Batch, BatchEntry } from '../core/batch.ts';
import type { AttemptContext } from '../core/call.ts';
import { Failure } from '../core/failure.ts';
import type { LookupDocument } from '../core/lookups/lookup.ts';
import type { HttpRequest, HttpResponse } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { type Accepted, RequestCall } from './calling.ts';

/** A way to look many records up with one request. */
export interface LookupBatch {
  /** Maximum of records in one request. */
  readonly size: number;
  /** Only records with the same key share a request; absent if all can. */
  keyOf?(fields: Fields): string;
  /** The request for some records, by their numbers in it. */
  request(records: ReadonlyMap<number, Fields>): HttpRequest;
  /** The documents in an answer, by the numbers of their records. Throws a Failure, which is retried if it is retryable. */
  documents(response: HttpResponse): ReadonlyMap<number, LookupDocument>;
}

/** The document of a record, and the response that it came in. */
export interface SharedDocument {
  readonly document: LookupDocument;
  readonly response: HttpResponse;
}

/** A record that shares a request with others. */
interface Entry extends BatchEntry<SharedDocument> {
  readonly fields: Fields;
}

/** Puts records into batches. */
export class LookupBatches {
  readonly #way: LookupBatch;
  readonly #policy: CallPolicy;
  readonly #shared: Batch<SharedDocument>;

  constructor(way: LookupBatch, policy: CallPolicy) {
    this.#way = way;
    this.#policy = policy;
    this.#shared = this.#batch('');
  }

  /** Maximum of records in one request. */
  get size(): number {
    return this.#way.size;
  }

  /** True if any records can share a request. */
  get areOpenToAll(): boolean {
    return this.#way.keyOf === undefined;
  }

  /** The record in its batch. */
  entryOf(fields: Fields): Entry {
    const key = this.#way.keyOf?.(fields);
    return { batch: key === undefined ? this.#shared : this.#batch(key), fields, bytes: 0, question: undefined };
  }

  #batch(key: string): Batch<SharedDocument> {
    return {
      key,
      size: this.#way.size,
      maxBytes: Number.POSITIVE_INFINITY,
      callFor: (entries) =>
        new BatchCall(this.#policy, this.#way, new Map(entries.map((entry, index) => [index + 1, (entry as Entry).fields]))),
      resultsOf: (entries, answer) => entries.map((_, index) => (answer as BatchAnswer).results(index + 1)),
    };
  }
}

/** The answer to a batch. */
interface BatchAnswer extends Accepted {
  /** The document of a record, or why there is none. */
  results(number: number): SharedDocument | Failure;
}

/** A call for many records. Each attempt asks only for the records that the answers before it lack. */
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

  /** Takes the documents of a response. Throws a Failure if it lacks some. */
  #take(response: HttpResponse): void {
    for (const [number, document] of this.#way.documents(response)) {
      if (this.#lacking.delete(number)) this.#found.set(number, { document, response });
    }
    if (this.#lacking.size === 0) return;
    const lack = `${this.#lacking.size.toLocaleString('en-US')} of ${this.#count.toLocaleString('en-US')}`;
    throw new Failure('answer', `the answer lacks ${lack} records of the batch`, { status: response.status, retryable: true });
  }

  #answer(answer: Answer, failure?: Failure): BatchAnswer {
    if (failure) failure.attempts = this.#attempts;
    return { ...answer, results: (number) => this.#found.get(number) ?? (failure as Failure) };
  }

  /** True if there is no attempt after this failure. */
  #isFinal({ retryable, retryAfterMs = 0 }: Failure): boolean {
    return !retryable || this.#attempts > this.retry.max || retryAfterMs > this.retry.maxWaitMs;
  }
}
