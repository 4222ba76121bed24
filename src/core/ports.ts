import type { Documents } from './answer/document.ts';
import type { Arrival } from './answer/facts.ts';
import type { Auth } from './auth/auth.ts';
import type { ClientCertificate } from './connection.ts';
import type { CodedMessage } from './error-code.ts';
import type { Event, HitSource } from './event.ts';
import type { Item, Outcome, PartialRows, Success } from './item.ts';
import type { Completion, Lookups } from './lookup.ts';
import type { Spending } from './spending.ts';
import type { ToolAnswer, Tools } from './tools.ts';
import type { FormPart, Save, SavedFile } from './transfer.ts';
import type { Value } from './value/value.ts';

/** Waits and deadlines use `now`, which a change of the system time does not affect. `wallNow` is only compared with dates from outside. */
export interface Clock {
  /** Returns the monotonic time in ms. */
  now(): number;
  /** Returns the wall clock as ms since 1970, UTC. */
  wallNow(): number;
  /** Resolves once `now()` has reached `untilMs`, never earlier, or as soon as the signal is aborted. */
  sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in the next turn of the event loop. Waiting for it lets requests be sent before received responses are processed. */
  nextTurn(): Promise<void>;
  /** Resolves in the next turn, after pending signals and responses. Undefined if the current turn has been short so far. */
  yieldIfLong(): Promise<void> | undefined;
  /** Runs an evaluation, and aborts it with an Error if it takes too long. A long one would block even signal handlers, as for Ctrl+C. */
  abortIfLong<Result>(evaluate: () => Result): Result;
}

/** Returns the secret of a credential, or a value of the session. */
export type SecretOf = (name: string, kind?: 'credential' | 'session') => string;

/** A body that contains secrets. They are sent only to the request's origin, which is written literally in the flow. */
export interface SecretBody {
  readonly credentials: readonly string[];
  /** The names of the values of the session. */
  readonly sessions: readonly string[];
  /** Returns the body with its secrets, or the parts of a form that sends files. */
  render(secretOf: SecretOf): string | readonly FormPart[];
}

export interface DayLimit {
  readonly server: string;
  readonly max: number;
}

/** Retries send the same object. */
export interface HttpRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** The headers, with names as written and values without control characters. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, with `***` instead of each secret. */
  readonly body?: string;
  /** Converts the body to bytes; undefined for UTF-8. */
  readonly encode?: (text: string) => Uint8Array;
  /** The parts of a form that sends files, without their secrets. */
  readonly form?: readonly FormPart[];
  /** The file in which the body of a successful response is saved; undefined if the body stays in memory. */
  readonly save?: Save;
  /** Undefined if the body contains no secrets. */
  readonly secretBody?: SecretBody;
  /** The ways to sign the request; undefined if it is not signed. */
  readonly auth?: readonly Auth[];
  readonly clientCert?: ClientCertificate;
  readonly http2?: boolean;
  /** Time limit in ms for the whole request, which includes connecting, headers, body, and every redirect. */
  readonly timeoutMs: number;
  /** Maximum length of the decompressed body in bytes. */
  readonly maxBodyBytes: number;
  /** True if redirects to another origin are followed, without the credential, custom headers and body. */
  readonly followAny: boolean;
  /** Private-network hosts to which a redirect to another origin may lead; undefined if there are none. */
  readonly redirectHosts?: readonly string[];
  /** Redirect statuses that the flow counts as success, so that these redirects are not followed. */
  readonly unfollowed?: readonly number[];
  /** The lookup that completes the request before it is sent. */
  readonly completion?: Completion<HttpRequest>;
  /** Maximum number of requests that this machine may send to a public server per day (UTC); undefined for no limit. */
  readonly perDay?: DayLimit;
  /** A name by which a test of the flow can find the request, besides its method and path. */
  readonly testName?: string;
  /** Set if the host in the URL comes from a record. Only these hosts inside the private network are then allowed. */
  readonly hostFromData?: { readonly allowHosts: readonly string[] };
}

export interface HttpResponse {
  readonly status: number;
  /** Undefined unless the request asked for HTTP/2. */
  readonly httpVersion?: '1.1' | '2';
  /** Returns the value of the header with this lower-case name. Several values are joined by `, `. */
  header(name: string): string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The decompressed body. */
  readonly body: Uint8Array;
  /** The charset of a body that does not state one, according to the flow; undefined for UTF-8. */
  readonly charset?: string;
  /** The body that was read as XML or CSV. Throws the Failure of reading it. Undefined for other formats. */
  readonly document?: () => Value | undefined;
  /** Set if the body was saved, so that `body` is empty. */
  readonly saved?: SavedFile;
  /** True if only the end of the connection marked the end of the body, so that the body might be cut off (RFC 9112, 8). */
  readonly endedByClose: boolean;
  /** The wait in ms that the server asks for. */
  readonly retryAfterMs: number | undefined;
  /** The time at which the last byte arrived, in monotonic ms; undefined for a cached response. */
  readonly atMs?: number;
  /** Undefined if neither a map nor the cache needs it. */
  readonly arrival?: Arrival;
  /** Ms for which the request waited for others, whose number the server limits. This time does not count toward the timeout. */
  readonly waitedMs?: number;
  /** The proxy that has passed on a request without TLS, or has answered it itself; undefined for other requests. */
  readonly proxy?: string;
  /** Undefined if there were no redirects. */
  readonly redirectedTo?: { readonly origin: string; readonly path: string };
}

/** Returns responses of every status. Throws a Failure (`network`, `timeout`, `request`, `parse`) if there is no usable response. */
export interface Http {
  send(request: HttpRequest): Promise<HttpResponse>;
  abort(): void;
}

/** The ledger of credits, the unit in which runs are limited. One reservation of credits covers a call and all its retries. */
export interface Ledger {
  /** Resolves once the ledger can decide whether the node's next call is allowed; undefined if it already can. */
  ready?(node: string): Promise<void> | undefined;
  /** Reserves the credits for the node's next call. If not enough credits are left, reserves nothing and returns the reason. */
  hold(node: string): CodedMessage | undefined;
  /** The call was sent. `cost` is the actual cost, if the response states it. */
  settle(node: string, cost?: number): void;
  /** Gives the reserved credits back, because nothing was sent. */
  release(node: string): void;
  /** The reason why no node can make another call. */
  usedUp(): CodedMessage | undefined;
  /** True if the remaining credits are enough for these calls, or if that is not known yet. */
  affords(calls: readonly (readonly [node: string, count: number])[]): boolean;
}

export interface Cache {
  /**
   * Returns the cached response if it is younger than `maxAgeMs`. Otherwise, calls `produce` and caches its response. Simultaneous requests
   * with the same key share one call of `produce`. Calls `hit` if `produce` was not needed.
   */
  through(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>, hit: (source: HitSource) => void): Promise<HttpResponse>;
}

/** A request whose answer is kept for later runs, and the record that sends it. */
export interface KeptQuestion {
  /** Equal for equal requests. */
  readonly key: string;
  readonly record: number;
  /** The record's row, and the pass of each loop around it. For requests inside a poll, it is the place of the poll. */
  readonly place: string;
  readonly node: string;
  /** For a batch: a question for each of its records, as if it had only that one. Its answer is found by them, and not by the whole batch. */
  readonly parts?: readonly KeptQuestion[];
  /** True for one of the `parts`. */
  readonly isPart?: boolean;
  /**
   * The number of times that an answer is used: `once`; `last` is once, and a poll keeps only its last answer; `always` for a node with a
   * cache.
   */
  readonly use: 'once' | 'last' | 'always';
}

export interface KeptAnswer {
  readonly response: HttpResponse | ToolAnswer;
  readonly arrival: Required<Arrival>;
  /** Facts about the answer besides the response, such as the tokens of a conversation. */
  readonly extra?: Value;
}

export interface FoundAnswer extends KeptAnswer {
  readonly number: number;
  /** Undefined unless the answer is to a batch. */
  readonly part?: BatchPart;
}

/** The part of a batch's answer that is for one of its records. */
export interface BatchPart {
  /** The number of the batch's answer. */
  readonly of: number;
  readonly position: number;
  readonly count: number;
}

/** `secret`: a secret would have to be masked in it. `full`: the file has reached its maximum size, or cannot be written. */
export type Keeping = 'kept' | 'secret' | 'full';

/**
 * The answers that earlier runs have kept for an output, and those that this run keeps for later runs. Nothing that this run keeps is found
 * by it.
 */
export interface Answers {
  /** True if the run sends nothing: a request without a kept answer fails. */
  readonly isReplay: boolean;
  /** Uses an answer up. */
  find(question: KeptQuestion): FoundAnswer | undefined;
  /** The response must be a successful one. Undefined if the run has kept it for a different record, with which this one shares it. */
  keep(question: KeptQuestion, answer: KeptAnswer): Keeping | undefined;
  /** Resolves when everything that was kept so far is in the file; undefined if it is. */
  written(): Promise<void> | undefined;
  /** Drops an answer that the flow no longer accepts. */
  forget(answer: FoundAnswer): void;
  /** Keeps the last answers to the requests inside a poll, which has ended. */
  endPoll(record: number, place: string): void;
  /** Identifies the contents of files that a request sends. Throws a Failure (`request`) if one cannot be read. */
  contentOf(files: readonly string[]): Promise<string>;
}

export interface Output {
  partialRows(): PartialRows;
  /** Writes nothing yet. `isFiltered` counts the record as filtered. Returns the result, or a Failure (`output`) if that fails. */
  put(item: Item, outcome: Outcome, isFiltered?: boolean): Outcome;
  /** Saves a record that finished before an earlier one, for the next run to write. False if the output cannot save it. */
  park(item: Item, outcome: Success): boolean;
  /** Approximate number of characters that were received but not yet written. */
  readonly waiting: number;
  /** Writes everything that was received so far. Nothing more can be written after it has thrown an AutomateError (`output`). */
  flush(): Promise<void>;
}

/** Coordinates the starts of calls at one gate (the rate limiter of an API) among several processes. */
export interface Permits {
  /** Reserves the starts of up to `count` calls that are at least `intervalMs` apart. */
  reserve(intervalMs: number, count: number): Promise<ReservedStarts>;
  /** Removes the rate of this process from the gate, so that only the rates of other processes count. */
  release(): void;
  /** `isPaced` if a server refused a call and this process goes on at a learned pace: the other processes then slow down, too. */
  pause(waitMs: number, isPaced?: boolean): void;
}

export interface ReservedStarts {
  /** 0 if no start can be reserved yet. */
  readonly count: number;
  /** Ms until the first call may start. If `count` is 0, it is the ms until starts can be reserved. */
  readonly inMs: number;
  /** Ms between the starts of two calls, according to the lowest rate that any process has set. */
  readonly intervalMs: number;
}

/** Everything outside of a run that the engine uses. */
export interface Ports {
  readonly http: Http;
  readonly tools: Tools;
  readonly lookups: Lookups;
  readonly ledger: Ledger;
  readonly cache: Cache;
  /** Undefined if the run neither keeps answers nor uses kept ones. */
  readonly answers?: Answers;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly spending: { of(node: string): Spending };
  report(event: Event): void;
  /** The UUID is the same in a resumed run. */
  uuidOf(name: string): string;
  /** Returns a random number from 0 up to, but not including, 1. It is used to randomize retry delays (jitter). */
  random(): number;
}
