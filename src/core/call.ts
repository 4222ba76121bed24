import type { Documents } from './answer/document.ts';
import type { NodeEvent } from './event.ts';
import type { Lookups } from './lookups/lookup.ts';
import type { Http, HttpResponse } from './ports.ts';
import type { Spending } from './spending.ts';
import type { Tools } from './tools/tools.ts';

/** The number of retries and the waits between them. */
export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly max: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** True if each delay is drawn at random between half of it and all of it. */
  readonly jitter: boolean;
  /** Longest wait that a server may ask for; the call fails if it asks for more. */
  readonly maxWaitMs: number;
}

/** The ports that an attempt uses, and the identity of its call. */
export interface AttemptContext {
  readonly http: Http;
  readonly tools: Tools;
  readonly lookups: Lookups;
  readonly documents: Documents;
  /** The money that the node's calls have cost. */
  readonly spending: Spending;
  report(event: NodeEvent): void;
  /** A UUID that is the same whenever this record passes this node in this run. `part`: names one of several calls for the record. */
  idempotencyKey(part?: string): string;
}

/** One action that data on this machine answer. It costs credits and is reported as any call, but passes no gate and is not retried. */
export interface LocalCall<Result> {
  /** Throws a Failure. */
  answer(context: AttemptContext): Result | Promise<Result>;
}

/** A maximum of calls in flight. Calls with the same key share it, over all runs of the process. */
export interface CallLimit {
  readonly key: string;
  readonly max: number;
  /** The node or connection whose number is found, up to the maximum, by how fast answers come; undefined for a fixed number. */
  readonly auto?: string | undefined;
}

/** One action through a port, with its retries. */
export interface Call<Result> {
  /** Calls to one origin with one credential share a gate. */
  readonly gate: { readonly origin: string; readonly credential: string | undefined };
  /** Ms between two calls at the gate; undefined for no limit. */
  readonly intervalMs: number | undefined;
  readonly limit: CallLimit;
  readonly retry: RetryPolicy;
  /** Its place in the cache; undefined if it is not cached. */
  readonly cache?: CachedCall<Result> | undefined;
  /** Makes one attempt. Throws a Failure. */
  attempt(context: AttemptContext): Promise<Result>;
  /** The real cost as the result states it; undefined if it does not. */
  cost?(result: Result): number | undefined;
  /** The wait that a successful result asks for; undefined if it asks for none. */
  askedToWaitMs(result: Result): number | undefined;
  /** True if it asks for the wait because the rate limit is used up, false if this record alone has to wait. */
  isSpent?(result: Result): boolean;
  /** The time at which the result arrived, in monotonic ms; undefined if it was not noted. */
  atMs?(result: Result): number | undefined;
}

/** A call whose answer may come from the cache. */
export interface CachedCall<Result> {
  readonly key: string;
  readonly maxAgeMs: number;
  /** The response to store. */
  store(result: Result): HttpResponse;
  /** The result of a stored response. Throws a Failure. */
  restore(response: HttpResponse, context: AttemptContext): Promise<Result>;
}

/** The answers that a record got last. */
export interface LastAnswer {
  /** The time at which the last answer arrived, in monotonic ms. */
  readonly atMs: number;
  /** The longest wait that an answer asked for; undefined if none did. */
  readonly waitMs: number | undefined;
}
