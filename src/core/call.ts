/** When and how often a failed call is tried again. */
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

/** One action through a port, with its retries. */
export interface Call<Result> {
  /** Calls to one origin with one credential share a gate. */
  readonly gate: { readonly origin: string; readonly credential: string | undefined };
  /** Ms between two calls at the gate; absent for no limit. */
  readonly intervalMs: number | undefined;
  /** Maximum of calls with the same key in flight at once. */
  readonly limit: { readonly key: string; readonly max: number };
  readonly retry: RetryPolicy;
  /** One attempt. Throws a Failure. */
  attempt(): Promise<Result>;
  /** The real cost as the result states it; absent when it does not. */
  cost?(result: Result): number | undefined;
  /** The wait that a successful result asks for; absent when it asks for none. */
  askedToWaitMs(result: Result): number | undefined;
  /** True if it asks for the wait because the rate limit is used up, false if this record alone has to wait. */
  isSpent?(result: Result): boolean;
  /** When the result arrived, in monotonic ms; absent when that was not noted. */
  atMs?(result: Result): number | undefined;
}

/** Makes a call: holds its credit, passes the gate, retries. Throws the last Failure, or Unfinished. */
export type MakeCall = <Result>(call: Call<Result>) => Promise<Result>;

/** The last answers that a record got. */
export interface LastAnswer {
  /** When the last one arrived, in monotonic ms. */
  readonly atMs: number;
  /** The longest wait that one asked for; absent when none did. */
  readonly waitMs: number | undefined;
}
