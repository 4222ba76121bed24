/** The data that the report of a run and its page show. Because it is sent as JSON, a member that is not known is undefined. */
export interface RunView {
  readonly flow: string;
  readonly state: RunState;
  /** The way in which the run ended, such as `done`; undefined until it has ended. */
  readonly ending?: string | undefined;
  /** The reason why the run ended early, or the error that ended it. Undefined if there is none. */
  readonly reason?: string | undefined;
  /** The time at which the run started (RFC 3339). */
  readonly startedAt: string;
  readonly ms: number;
  readonly input: string;
  readonly output: string;
  /** The errors file; undefined if the run has none or the file is empty. */
  readonly errors?: string | undefined;
  /** Record counts of the whole run, including its parts before it was resumed. */
  readonly counts: RecordCounts;
  /** Number of records that were finished before the run was resumed. Only `counts`, `tokens` and `credits` include them. */
  readonly earlier: number;
  /** True if failures and found paths include the records that were finished before the run was resumed. */
  readonly hasTotals?: boolean | undefined;
  /** Number of records in the whole input. */
  readonly total?: number | undefined;
  /** The share of the run that is finished, from 0 to 1. */
  readonly share?: number | undefined;
  readonly leftMs?: number | undefined;
  readonly rates: readonly RateBucket[];
  /** Statistics of the response times; undefined if there was no response. */
  readonly responseTimes?: ResponseTimesView | undefined;
  /** Counts the results of all attempts to send requests, by HTTP status or by the reason why there was no response. */
  readonly statuses: readonly StatusCount[];
  readonly failures: readonly FailureView[];
  /** Number of groups of failures that are left out of `failures`. */
  readonly moreFailures: number;
  readonly mapping: readonly MappingView[];
  readonly lookups: readonly LookupView[];
  readonly tokens: readonly TokensView[];
  readonly credits: CreditsView;
  readonly pauses: PausesView;
  /**
   * The current number of workers, and the number of units (groups of records) that they have not finished. Undefined for a run without
   * workers.
   */
  readonly workers?: { readonly now: number; readonly units: number } | undefined;
  /** The command line that started the run. */
  readonly command?: string | undefined;
  readonly next: readonly { readonly why: string; readonly command: string }[];
}

/** The state of a run. `stopped` means that it ended early and can be resumed, `failed` that an error ended it. */
export type RunState = 'queued' | 'running' | 'stopping' | 'stopped' | 'finished' | 'failed';

/** The record counts of a run. */
interface RecordCounts {
  readonly written: number;
  readonly failed: number;
  /** Records that a filter node dropped. */
  readonly filtered: number;
  /**
   * Records that have not changed since an earlier run, whose rows were reused. They are included in `written`. Undefined if the run reuses
   * no rows.
   */
  readonly unchanged?: number | undefined;
  /** Failed records that `on_error: keep` passed through, so they are in the output with an `_error` field. */
  readonly passedThrough: number;
  /** Records that finished while an earlier record was unfinished. They are written when the run is resumed. */
  readonly waiting: number;
  readonly retries: number;
  readonly cached: number;
}

/** Number of records that ended in one time interval. */
export interface RateBucket {
  readonly startMs: number;
  readonly ms: number;
  readonly written: number;
  readonly failed: number;
  /** Time in ms during the interval in which at least one gate (the rate limiter of an API) was paused. */
  readonly pausedMs: number;
}

/** Statistics of how long the successful attempts took. */
export interface ResponseTimesView {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** The bars of the histogram in ascending order, without gaps. */
  readonly buckets: readonly { readonly fromMs: number; readonly toMs: number; readonly count: number }[];
}

/** The number of attempts with one result. */
interface StatusCount {
  /** The HTTP status, or a word for a result that has none, such as `200`, `ok` or `timeout`. */
  readonly status: string;
  readonly count: number;
}

/** Failures with the same node, class and status. */
export interface FailureView {
  /** The node that failed; undefined if the records could not be read or written. */
  readonly node?: string | undefined;
  readonly class: string;
  readonly status?: number | undefined;
  readonly count: number;
  /** Numbers of the first few records with such a failure, in ascending order. */
  readonly firstRecords: readonly number[];
  /** The most frequent messages of the group, each with its first line and the advice. */
  readonly messages: readonly { readonly text: string; readonly count: number }[];
}

/** Counts how often a node's map found a value at one of its paths. */
export interface MappingView {
  readonly node: string;
  /** The field that the path fills; undefined if it is not known. */
  readonly field?: string | undefined;
  readonly path: string;
  readonly found: number;
  readonly of: number;
}

/** Counts the results of a node's lookups. */
interface LookupView {
  readonly node: string;
  readonly matched: number;
  readonly ambiguous: number;
  readonly of: number;
}

/** The tokens that a node's language models used in the whole run. */
export interface TokensView extends TokenFigures {
  readonly node: string;
  /** The tokens used since the run was resumed; undefined if none were used before. */
  readonly part?: TokenFigures | undefined;
}

/** Numbers of tokens, and the cost of the tokens. */
export interface TokenFigures {
  readonly input: number;
  readonly output: number;
  readonly cost?: number | undefined;
}

/** The credits that a run has spent and saved. */
interface CreditsView {
  /** Credits spent in the whole run, including its parts before it was resumed. */
  readonly spent: number;
  /** Credits spent since the run was resumed; undefined if none were spent before. */
  readonly part?: number | undefined;
  /** The credits that were saved because cached responses needed no request. */
  readonly saved: number;
  /** Maximum number of credits that the run may spend; undefined if there is no limit. */
  readonly limit?: number | undefined;
  readonly allowance?: { readonly month: string; readonly spent: number; readonly limit: number } | undefined;
}

/** Number and duration of the pauses of a run's gates. */
interface PausesView {
  /** Total time in ms in which at least one gate was paused. */
  readonly totalMs: number;
  readonly times: number;
  readonly gates: readonly { readonly gate: string; readonly reason: string; readonly times: number; readonly ms: number }[];
  /** The current pause; undefined if there is none. */
  readonly current?: { readonly gate: string; readonly reason: string; readonly leftMs: number } | undefined;
}
