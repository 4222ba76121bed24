import type { Documents } from './answer/document.ts';
import type { Answer } from './answer/mapping.ts';
import type { NodeEvent } from './event.ts';
import type { Failure } from './failure.ts';
import type { Lookups } from './lookup.ts';
import type { Http, HttpResponse } from './ports.ts';
import type { Spending } from './spending.ts';
import type { Tools } from './tools.ts';

/** The rules for retries: their maximum number, and the waits between attempts. */
export interface RetryPolicy {
  /** Maximum number of retries after the first attempt. */
  readonly max: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** True if each delay is randomized, between 50 % and 100 % of its length. */
  readonly jitter: boolean;
  /** The longest wait in ms that is accepted from a server. If the server asks for a longer wait, the call fails. */
  readonly maxWaitMs: number;
}

/** The services that an attempt of a call uses, and an id for the call. */
export interface AttemptContext {
  readonly http: Http;
  readonly tools: Tools;
  readonly lookups: Lookups;
  readonly documents: Documents;
  /** The money that the node's calls have spent. */
  readonly spending: Spending;
  report(event: NodeEvent): void;
  /**
   * Returns a UUID that is the same every time this record reaches this node in this run. `part` distinguishes several calls for the
   * record.
   */
  idempotencyKey(part?: string): string;
}

/**
 * One call that is answered from local data. Like any call, it costs credits and is reported. It does not wait at a gate (the rate limiter
 * of an API), and is never retried.
 */
export interface LocalCall<Result> {
  /** Computes the answer. Throws a Failure if there is no valid answer. */
  answer(context: AttemptContext): Result | Promise<Result>;
}

/** A maximum number of calls in flight. All calls with the same key share the limit, across all runs of the process. */
export interface CallLimit {
  readonly key: string;
  readonly max: number;
  /** Set if the limit adapts to the response times, up to `max`: the name of the node or connection. Undefined for a fixed limit. */
  readonly auto?: string | undefined;
}

/** A call of a node. It sends a request, and retries the request if it fails. */
export interface Call<Result> {
  /** The gate of the call. Calls to one origin with the same credential share a gate. */
  readonly gate: { readonly origin: string; readonly credential: string | undefined };
  /** Minimum time in ms between two calls at the gate; undefined for no limit. */
  readonly intervalMs: number | undefined;
  readonly limit: CallLimit;
  readonly retry: RetryPolicy;
  /** The cache entry for the response; undefined if the response is not cached. */
  readonly cache?: CachedCall<Result> | undefined;
  /** Makes one attempt. Throws a Failure if the attempt fails. */
  attempt(context: AttemptContext): Promise<Result>;
  /** Returns the actual cost that the result states; undefined if it states none. */
  cost?(result: Result): number | undefined;
  /** Returns the wait in ms that a successful result asks for; undefined if it asks for none. */
  askedToWaitMs(result: Result): number | undefined;
  /**
   * True if the server asks for the wait because a rate limit is used up, so that all calls must wait. False if only this record has to
   * wait.
   */
  isSpent?(result: Result): boolean;
  /** Returns the time at which the result arrived, in monotonic ms; undefined if it was not recorded. */
  atMs?(result: Result): number | undefined;
}

/** The cache entry of a call, which might already contain the answer. */
export interface CachedCall<Result> {
  readonly key: string;
  readonly maxAgeMs: number;
  /** Returns the response to store in the cache. */
  store(result: Result): HttpResponse;
  /** Turns a cached response into the result. Throws a Failure if the response is not accepted. */
  restore(response: HttpResponse, context: AttemptContext): Promise<Result>;
}

/** The time at which a record's last response arrived, and the longest wait that its responses asked for. */
export interface LastAnswer {
  /** The time at which the last response arrived, in monotonic ms. */
  readonly atMs: number;
  /** The longest wait in ms that a response asked for; undefined if none asked for a wait. */
  readonly waitMs: number | undefined;
}

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
  readonly question: BatchQuestion | undefined;
}

/**
 * The key that identifies an entry in the response, and the text that is sent for the entry. Two entries with the same key but different
 * texts clash, so they cannot share a call.
 */
export interface BatchQuestion {
  readonly key: string;
  readonly text: string;
}
