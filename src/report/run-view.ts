/** The data that the report of a run and its page show. Because it is sent as JSON, a member that is not known is undefined. */
export interface RunView {
  readonly flow: string;
  readonly state: RunState;
  /** A word such as `done`; undefined until the run has ended. */
  readonly ending?: string;
  readonly reason?: string;
  /** A time in RFC 3339 format. */
  readonly startedAt: string;
  readonly ms: number;
  readonly input: string;
  readonly output: string;
  /** Undefined if there is no errors file or it is empty. */
  readonly errors?: string;
  /** Includes the parts of the run before it was resumed. */
  readonly counts: RecordCounts;
  /** Records finished before the run was resumed. Only `counts`, `tokens` and `credits` include them. */
  readonly earlier: number;
  /** True if failures and found paths include the records that were finished before the run was resumed. */
  readonly hasTotals?: boolean;
  readonly total?: number;
  /** The finished share, from 0 to 1. */
  readonly share?: number;
  readonly leftMs?: number;
  readonly rates: readonly RateBucket[];
  /** Undefined if there was no response. */
  readonly responseTimes?: ResponseTimesView;
  /** Counts attempts by HTTP status, or by the reason why there was no response. */
  readonly statuses: readonly StatusCount[];
  readonly failures: readonly FailureView[];
  /** Number of groups that are left out of `failures`. */
  readonly moreFailures: number;
  readonly mapping: readonly MappingView[];
  readonly lookups: readonly LookupView[];
  readonly tokens: readonly TokensView[];
  readonly credits: CreditsView;
  readonly pauses: PausesView;
  /** `now` is the current number of workers, `units` the number of unfinished groups of records. Undefined for a run without workers. */
  readonly workers?: { readonly now: number; readonly units: number };
  readonly command?: string;
  readonly next: readonly { readonly why: string; readonly command: string }[];
}

/** `stopped` means that the run ended early and can be resumed, `failed` that an error ended it. */
export type RunState = 'queued' | 'running' | 'stopping' | 'stopped' | 'finished' | 'failed';

interface RecordCounts {
  readonly written: number;
  readonly failed: number;
  /** Records that a filter node dropped. */
  readonly filtered: number;
  /** Records whose rows were reused, as they have not changed. `written` includes them. Undefined if the run reuses no rows. */
  readonly unchanged?: number;
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
  /** Time in ms in which at least one gate (the rate limiter of an API) was paused. */
  readonly pausedMs: number;
}

/** Statistics of how long the successful attempts took. */
export interface ResponseTimesView {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** The buckets are in ascending order, without gaps. */
  readonly buckets: readonly { readonly fromMs: number; readonly toMs: number; readonly count: number }[];
}

interface StatusCount {
  /** The HTTP status or a word for the result, such as `200`, `ok` or `timeout`. */
  readonly status: string;
  readonly count: number;
}

/** Failures with the same node, class and status. */
export interface FailureView {
  /** Undefined if the records could not be read or written. */
  readonly node?: string;
  readonly class: string;
  readonly status?: number;
  readonly count: number;
  /** The first few records with such a failure, in ascending order. */
  readonly firstRecords: readonly number[];
  readonly messages: readonly { readonly text: string; readonly count: number }[];
}

export interface MappingView {
  readonly node: string;
  readonly field?: string;
  readonly path: string;
  readonly found: number;
  readonly of: number;
}

interface LookupView {
  readonly node: string;
  readonly matched: number;
  readonly ambiguous: number;
  readonly of: number;
}

/** The tokens that a node's language models used in the whole run. */
export interface TokensView extends TokenFigures {
  readonly node: string;
  /** Tokens used since the run was resumed; undefined if none were used before. */
  readonly part?: TokenFigures;
}

export interface TokenFigures {
  readonly input: number;
  readonly output: number;
  readonly cost?: number;
}

interface CreditsView {
  /** Includes the parts of the run before it was resumed. */
  readonly spent: number;
  /** Credits spent since the run was resumed; undefined if none were spent before. */
  readonly part?: number;
  readonly saved: number;
  readonly limit?: number;
  readonly allowance?: { readonly month: string; readonly spent: number; readonly limit: number };
}

interface PausesView {
  readonly totalMs: number;
  readonly times: number;
  readonly gates: readonly { readonly gate: string; readonly reason: string; readonly times: number; readonly ms: number }[];
  readonly current?: { readonly gate: string; readonly reason: string; readonly leftMs: number };
}
