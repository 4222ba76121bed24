import type { Auth } from './auth/auth.ts';
import type { Event, HitSource } from './event.ts';
import type { Item, Outcome, PartialRows, Success } from './item.ts';
import type { Tools } from './tools/tools.ts';

export type { Auth } from './auth/auth.ts';

/** Time. Waits and deadlines read `now`, which no clock change can move; only dates from outside are compared with `wallNow`. */
export interface Clock {
  /** Monotonic ms. */
  now(): number;
  /** Ms since 1970, UTC. */
  wallNow(): number;
  /** Resolves when `now()` has reached `untilMs`, or as soon as the signal is aborted. Never early otherwise. */
  sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void>;
  /** Resolves a turn of the event loop later: what can be sent goes out before what was received is worked on. */
  nextTurn(): Promise<void>;
  /** Absent while this turn of the event loop has not lasted long. Else resolves behind it: signals are heard and answers received meanwhile. */
  yieldTurn(): Promise<void> | undefined;
}

/** One HTTP request, rendered. The same object is sent again on a retry. */
export interface HttpRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Names as written, values free of control characters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly auth?: Auth | undefined;
  /** One limit for the whole request: connect, headers, body, and every redirect. */
  readonly timeoutMs: number;
  /** The largest body that is taken, counted decompressed. */
  readonly maxBodyBytes: number;
  /** Whether a redirect to another origin is followed, without credential, custom headers and body. */
  readonly followAny: boolean;
  /** Hosts inside the network that a redirect to another origin may lead to; absent for none. */
  readonly redirectHosts?: readonly string[] | undefined;
  /** Statuses of redirects that are answers like any other: the flow counts them as success. Absent for none. */
  readonly unfollowed?: readonly number[] | undefined;
  /** Set when a record decided the host: addresses inside the network are refused but for these hosts. */
  readonly hostFromData?: { readonly allowHosts: readonly string[] } | undefined;
}

/** An answer, whatever its status. */
export interface HttpResponse {
  readonly status: number;
  /** A header's value by its lower-case name; several are joined by `, `. */
  header(name: string): string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Decompressed. */
  readonly body: Uint8Array;
  /** Whether only the end of the connection ended the body: then nobody can tell that it is whole (RFC 9112, 8). */
  readonly endedByClose: boolean;
  /** How long the other side asked us to stay away; absent when it did not. */
  readonly retryAfterMs: number | undefined;
  /** When its last byte came, in monotonic ms; absent for a kept answer. */
  readonly atMs?: number;
  /** Where redirects have led to; absent without one. */
  readonly redirectedTo?: { readonly origin: string; readonly path: string };
}

/** Sends HTTP requests. Answers every response, whatever its status. Throws a Failure (`network`, `timeout`, `request`, `parse`). */
export interface Http {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Gives up what is in flight. */
  abort(): void;
}

/** Keeps the tally of credits. One action is held once, however often it is tried. */
export interface Ledger {
  /** Takes the credits of an action of a node that is about to start. When there are not enough left: why, and nothing is taken. */
  hold(node: string): string | undefined;
  /** The action was sent: its credits are spent. `cost`: what it really cost, where the answer says so. */
  settle(node: string, cost?: number): void;
  /** The action was refused before anything was sent: its credits go back. */
  release(node: string): void;
  /** Why there is not enough left for an action of any node; absent while there is. */
  usedUp(): string | undefined;
  /** Whether what is left is enough for so many actions of these nodes; true, too, where it is not known yet when it will run out. */
  affords(actions: readonly (readonly [node: string, count: number])[]): boolean;
}

/** Answers that are kept on disk. */
export interface Cache {
  /**
   * The kept answer of that key if it is younger than `maxAgeMs`; else what `produce` gives, which is kept. The same key in flight is
   * produced once. `hit`: called when the answer is there without `produce`.
   */
  through(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>, hit: (source: HitSource) => void): Promise<HttpResponse>;
}

/** Takes the results of the records. */
export interface Output {
  /** Rows for a record that is not finished yet. */
  partialRows(): PartialRows;
  /** Takes the result of a record, in memory. Returns it, or a Failure (`output`) for a record that the output cannot hold. */
  put(item: Item, outcome: Outcome): Outcome;
  /** Saves a record that is finished while an earlier one is not, for the next run to write. Returns false if the output cannot save it. */
  park(item: Item, outcome: Success): boolean;
  /** Characters taken and not written yet, roughly. */
  readonly waiting: number;
  /** Writes everything taken so far. After an AutomateError (`output`) nothing more can be written. */
  flush(): Promise<void>;
}

/** What a run may use of the world outside. */
export interface Ports {
  readonly http: Http;
  readonly tools: Tools;
  readonly ledger: Ledger;
  readonly cache: Cache;
  readonly clock: Clock;
  report(event: Event): void;
  /** A UUID that is always the same for the same name in the same run, a resumed one included. */
  uuidOf(name: string): string;
  /** A random number from 0 up to 1, for jitter. */
  random(): number;
}
