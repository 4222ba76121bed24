import type { Answer } from './answer/mapping.ts';
import type { Call } from './call.ts';
import type { Failure } from './failure.ts';

/** Records that share one call. */
export interface Batch<Result> {
  /** Only records with the same key share a call. */
  readonly key: string;
  /** Maximum of records in one call. */
  readonly size: number;
  /** Maximum of the sum of the entries' `bytes` in one call. */
  readonly maxBytes: number;
  /** The call for some of its entries. Throws a Failure. */
  callFor(entries: readonly BatchEntry<Result>[]): Call<Answer>;
  /** One result for each entry, in their order. Throws a Failure if all of them fail. */
  resultsOf(entries: readonly BatchEntry<Result>[], answer: Answer): readonly (Result | Failure)[];
}

/** A record in a batch. */
export interface BatchEntry<Result> {
  readonly batch: Batch<Result>;
  /** Size of the entry in the call; 0 if the batch has no limit. */
  readonly bytes: number;
  readonly question: Question | undefined;
}

/** The value by which an entry is found in the answer, and what it asks for. Entries with one key and different texts clash: they cannot share a call. */
export interface Question {
  readonly key: string;
  readonly text: string;
}
