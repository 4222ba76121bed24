import type { Answer } from './answer/mapping.ts';
import type { Call } from './call.ts';
import type { Failure } from './failure.ts';

/** The rules for sending several records of one node in the same call. */
export interface Batch<Result> {
  /** Identifies the rules. Records can share a call only if their rules have the same key. */
  readonly key: string;
  /** Maximum number of records in one call. */
  readonly size: number;
  /** Maximum sum of the `bytes` of all entries in one call. */
  readonly maxBytes: number;
  /** Returns the call for some entries. Throws a Failure if the request cannot be prepared. */
  callFor(entries: readonly BatchEntry<Result>[]): Call<Answer>;
  /** Returns one result for each entry, in order. Throws a Failure if the response makes all entries fail. */
  resultsOf(entries: readonly BatchEntry<Result>[], answer: Answer): readonly (Result | Failure)[];
}

/** One record of a batch. All records of a batch are sent in one call. */
export interface BatchEntry<Result> {
  readonly batch: Batch<Result>;
  /** The number of bytes that the entry adds to the call; 0 if the batch has no size limit. */
  readonly bytes: number;
  readonly question: Question | undefined;
}

/**
 * The key that identifies an entry in the response, and the text that is sent for the entry. Two entries with the same key but different
 * texts clash, so they cannot share a call.
 */
export interface Question {
  readonly key: string;
  readonly text: string;
}
