import type { Documents } from './answer/document.ts';
import type { StartedAttempt } from './answer/facts.ts';
import type { Answer } from './answer/mapping.ts';
import type { EvaluationClock } from './condition/evaluation.ts';
import type { NodeEvent } from './event.ts';
import type { Failure } from './failure.ts';
import type { Lookups } from './lookup.ts';
import type { Clock, Http, HttpRequest, HttpResponse, KeptAnswer } from './ports.ts';
import type { Spending } from './spending.ts';
import type { ToolAnswer, ToolCall, Tools } from './tools.ts';
import type { Value } from './value/value.ts';

export interface RetryPolicy {
  /** Statuses, classes of statuses such as `5xx`, and kinds of failures. */
  readonly on: readonly (string | number)[];
  readonly max: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** True if each delay is randomized, between 50 % and 100 % of its length. */
  readonly jitter: boolean;
  /** The longest wait in ms that is accepted from a server. If the server asks for a longer wait, the call fails. */
  readonly maxWaitMs: number;
}

export interface AttemptContext {
  readonly http: Http;
  readonly tools: Tools;
  readonly lookups: Lookups;
  readonly documents: Documents;
  readonly spending: Spending;
  readonly clock: EvaluationClock & Pick<Clock, 'now'>;
  report(event: NodeEvent): void;
  /** Returns a UUID that is the same every time this record reaches this node in this run. `part` distinguishes a record's calls. */
  idempotencyKey(part?: string): string;
}

/** Costs credits and is reported like any call, but never waits at a gate (the rate limiter of an API) and is never retried. */
export interface LocalCall<Result> {
  /** Computes the answer. Throws a Failure if there is no valid answer. */
  answer(context: AttemptContext): Result | Promise<Result>;
}

/** A maximum number of calls in flight. All calls with the same key share the limit, across all runs of the process. */
export interface CallLimit {
  readonly key: string;
  readonly max: number;
  /** Set if the limit adapts to the response times, up to `max`: the name of the node or connection. Undefined for a fixed limit. */
  readonly auto?: string;
}

export interface Call<Result> {
  /** The gate of the call. Calls to one origin with the same credential share a gate. */
  readonly gate: { readonly origin: string; readonly credential: string | undefined };
  /** Minimum time in ms between two calls at the gate; undefined for no limit. */
  readonly intervalMs: number | undefined;
  readonly limit: CallLimit;
  readonly retry: RetryPolicy;
  readonly cache?: CachedCall<Result>;
  /** Undefined if no later run can use the answer, because it is a file, or because the flow says so. */
  readonly kept?: KeptCall<Result>;
  /** Makes one attempt. Throws a Failure if the attempt fails. */
  attempt(context: AttemptContext, started: StartedAttempt): Promise<Result>;
  /** The result of a call that ends with this failure, after attempts that gave a part of it. Undefined if they gave nothing. */
  resultDespite?(failure: Failure): Result | undefined;
  /** Returns the actual cost that the result states. */
  cost?(result: Result): number | undefined;
  /** The wait in ms that a successful result asks for. */
  askedToWaitMs(result: Result): number | undefined;
  /** True if a rate limit is used up, so that all calls must wait. False if only this record has to wait. */
  isSpent?(result: Result): boolean;
  /** The time at which the result arrived, in monotonic ms. */
  atMs?(result: Result): number | undefined;
}

/** The cache entry of a call, which might already contain the answer. */
export interface CachedCall<Result> {
  readonly key: string;
  readonly maxAgeMs: number;
  store(result: Result): HttpResponse;
  /** `isCached` is false if the response has just arrived. Throws a Failure if it is not accepted. */
  restore(response: HttpResponse, context: AttemptContext, isCached: boolean): Promise<Result>;
}

/** The part of a call that its kept answer replaces. */
export interface KeptCall<Result> {
  /** The request as the record asks it, before authentication and idempotency keys. */
  readonly request: HttpRequest | ToolCall;
  /** The response that the call has accepted; undefined if there are several, or none. */
  response(): HttpResponse | ToolAnswer | undefined;
  /** See `KeptAnswer`. */
  extra?(result: Result): Value;
  /** Throws a Failure if the answer is not accepted. */
  restore(answer: KeptAnswer, context: AttemptContext): Promise<Result>;
}

export interface LastAnswer {
  /** The time at which the last response arrived, in monotonic ms. */
  readonly atMs: number;
  /** The longest wait in ms that a response asked for. */
  readonly waitMs: number | undefined;
}

/** True if the list contains the status, or a class such as 5xx that includes it. */
export function hasStatus(list: readonly (number | string)[], status: number): boolean {
  return list.includes(status) || list.includes(`${Math.floor(status / 100)}xx`);
}

export interface Batch<Result> {
  /** Identifies the rules. Records can share a call only if their rules have the same key. */
  readonly key: string;
  readonly size: number;
  /** Maximum sum of the `bytes` of all entries in one call. */
  readonly maxBytes: number;
  /** Throws a Failure if the request cannot be prepared. */
  callFor(entries: readonly BatchEntry<Result>[]): Call<Answer>;
  /** Returns one result for each entry, in order. Throws a Failure if the response makes all entries fail. */
  resultsOf(entries: readonly BatchEntry<Result>[], answer: Answer): readonly (Result | Failure)[];
}

export interface BatchEntry<Result> {
  readonly batch: Batch<Result>;
  /** 0 if the batch has no size limit. */
  readonly bytes: number;
  readonly question: BatchQuestion | undefined;
}

/** The text is sent for the entry. Entries with the same key but different texts clash, so they cannot share a call. */
export interface BatchQuestion {
  readonly key: string;
  readonly text: string;
}
