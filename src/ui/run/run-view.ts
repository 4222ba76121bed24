import type { RunShape } from '../../serve/shapes.ts';

/** A run in figures, as its report and its page show it. It is sent as JSON: an undefined member is not known. */
export interface RunView {
  readonly flow: string;
  readonly state: RunState;
  /** The ending in words, such as `done`; undefined while the run goes on. */
  readonly ending?: string | undefined;
  /** The reason of an early end, or the error that ended the run. */
  readonly reason?: string | undefined;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly ms: number;
  readonly input: string;
  readonly output: string;
  /** The errors file; undefined if the run has none, or an empty one. */
  readonly errors?: string | undefined;
  /** The counts of the whole run, with its earlier parts. */
  readonly counts: RunCounts;
  /** Records that earlier parts of the run have finished. All figures but `counts`, `tokens` and `credits` leave these records out. */
  readonly earlier: number;
  /** True if failures and mapping include the records of earlier parts. */
  readonly hasTotals?: boolean | undefined;
  /** Records of the whole input. */
  readonly total?: number | undefined;
  /** The finished share, 0 to 1. */
  readonly share?: number | undefined;
  readonly leftMs?: number | undefined;
  readonly rates: readonly RateBucket[];
  /** Undefined if no response has come. */
  readonly responseTimes?: ResponseTimesView | undefined;
  /** The answers to all attempts, by status or by the reason why there is none. */
  readonly statuses: readonly StatusCount[];
  readonly failures: readonly FailureView[];
  /** Groups of failures that `failures` leaves out. */
  readonly moreFailures: number;
  readonly mapping: readonly MappingView[];
  readonly lookups: readonly LookupView[];
  readonly tokens: readonly TokensView[];
  readonly credits: CreditsView;
  readonly pauses: PausesView;
  /** The command line that started the run. */
  readonly command?: string | undefined;
  readonly next: readonly { readonly why: string; readonly command: string }[];
}

/** The state of a run. `stopped`: it can be resumed. `failed`: an error ended it. */
export type RunState = RunShape['state'];

/** The counts of a run. */
export interface RunCounts {
  readonly written: number;
  readonly failed: number;
  /** Records that a filter has dropped. */
  readonly filtered: number;
  /** Records whose rows were taken over from an earlier run, which are part of those written; absent for a run without that. */
  readonly unchanged?: number | undefined;
  /** Failed records that were passed through with `_error`. */
  readonly passedThrough: number;
  /** Records that finished before an earlier one: the resumed run writes them. */
  readonly waiting: number;
  readonly retries: number;
  readonly cached: number;
}

/** The records of a slice of time. */
export interface RateBucket {
  readonly startMs: number;
  readonly ms: number;
  readonly written: number;
  readonly failed: number;
  /** The time for which a gate stood still. */
  readonly pausedMs: number;
}

/** The times of the attempts that succeeded. */
export interface ResponseTimesView {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** The buckets of the histogram, ascending, without gaps. */
  readonly buckets: readonly { readonly fromMs: number; readonly toMs: number; readonly count: number }[];
}

/** The answers of one status. */
export interface StatusCount {
  /** A status code, or a word for a result without one: `200`, `ok`, `timeout`. */
  readonly status: string;
  readonly count: number;
}

/** Failures of the same node, class and status. */
export interface FailureView {
  /** Undefined for records that could not be read or written. */
  readonly node?: string | undefined;
  readonly class: string;
  readonly status?: number | undefined;
  readonly count: number;
  /** Numbers of the first few records, ascending. */
  readonly firstRecords: readonly number[];
  /** The most frequent messages, first line and advice. */
  readonly messages: readonly { readonly text: string; readonly count: number }[];
}

/** The hits of one path of a map. */
export interface MappingView {
  readonly node: string;
  /** Undefined if it is not known. */
  readonly field?: string | undefined;
  readonly path: string;
  readonly found: number;
  readonly of: number;
}

/** The lookups of a node. */
export interface LookupView {
  readonly node: string;
  readonly matched: number;
  readonly ambiguous: number;
  readonly of: number;
}

/** The tokens of a node's models, in the whole run. */
export interface TokensView extends TokenFigures {
  readonly node: string;
  /** Those of this part; undefined if earlier parts have used none. */
  readonly part?: TokenFigures | undefined;
}

/** Tokens, and what they have cost. */
export interface TokenFigures {
  readonly input: number;
  readonly output: number;
  readonly cost?: number | undefined;
}

/** The credits of a run. */
export interface CreditsView {
  /** In the whole run. */
  readonly spent: number;
  /** Those of this part; undefined if earlier parts have spent none. */
  readonly part?: number | undefined;
  /** The credits that cached answers would have cost. */
  readonly saved: number;
  /** The maximum of credits for this run. */
  readonly limit?: number | undefined;
  readonly allowance?: { readonly month: string; readonly spent: number; readonly limit: number } | undefined;
}

/** The pauses of a run's gates. */
export interface PausesView {
  /** The time for which at least one gate stood still. */
  readonly totalMs: number;
  readonly times: number;
  readonly gates: readonly { readonly gate: string; readonly reason: string; readonly times: number; readonly ms: number }[];
  /** A pause under way. */
  readonly current?: { readonly gate: string; readonly reason: string; readonly leftMs: number } | undefined;
}
