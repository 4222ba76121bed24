import type { Documents, ParseDocument } from './answer/document.ts';
import type { Auth } from './auth/auth.ts';
import type { ClientCertificate } from './auth/client-certificate.ts';
import type { CodedMessage } from './error-code.ts';
import type { Event, HitSource } from './event.ts';
import type { FormPart, Save, SavedFile } from './files/transfer.ts';
import type { Item, Outcome, PartialRows, Success } from './item.ts';
import type { NamedChain } from './lookups/chain.ts';
import type { Lookups } from './lookups/lookup.ts';
import type { Spending } from './spending.ts';
import type { SecretOf } from './template/body-credential.ts';
import type { Tools } from './tools/tools.ts';

/** Time. Waits and deadlines read `now`, which no clock change can move; only dates from outside are compared with `wallNow`. */
export interface Clock {
  /** Monotonic ms. */
  now(): number;
  /** Ms since 1970, UTC. */
  wallNow(): number;
  /** Resolves when `now()` has reached `untilMs`, or as soon as the signal is aborted. Never early otherwise. */
  sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void>;
  /** Resolves a turn of the event loop later: requests go out before received answers are worked on. */
  nextTurn(): Promise<void>;
  /** Resolves in the next turn of the event loop, after signals and answers; undefined while this turn has not lasted long. */
  yieldIfLong(): Promise<void> | undefined;
}

/** A body with secrets in it. They go only to the origin of the request, which the flow names literally. */
export interface SecretBody {
  readonly credentials: readonly string[];
  /** The body, or the parts of a form that sends files. */
  render(secretOf: SecretOf): string | readonly FormPart[];
}

/** The limit of a public server. */
export interface DayLimit {
  /** Its name, for messages. */
  readonly server: string;
  readonly max: number;
}

/** One HTTP request, rendered. The same object is sent again on a retry. */
export interface HttpRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Names as written, values free of control characters. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body without its secrets: `***` stands for each secret. */
  readonly body?: string | undefined;
  /** In place of a body: the parts of a form that sends files, without their secrets. */
  readonly form?: readonly FormPart[] | undefined;
  /** The file for the body of a successful answer; undefined if it stays in memory. */
  readonly save?: Save | undefined;
  /** Undefined if the body holds no secrets. */
  readonly secretBody?: SecretBody | undefined;
  /** The ways to sign it; undefined if it is not signed. */
  readonly auth?: readonly Auth[] | undefined;
  /** The certificate that the server is shown; undefined for none. */
  readonly clientCert?: ClientCertificate | undefined;
  /** One limit for the whole request: connect, headers, body, and every redirect. */
  readonly timeoutMs: number;
  /** Maximum length of the body, decompressed. */
  readonly maxBodyBytes: number;
  /** True if redirects to another origin are followed, without credential, custom headers and body. */
  readonly followAny: boolean;
  /** Hosts inside the network that a redirect to another origin may lead to; undefined without any. */
  readonly redirectHosts?: readonly string[] | undefined;
  /** Statuses of redirects that are answers like any other: the flow counts them as success. Undefined if all redirects are followed. */
  readonly unfollowed?: readonly number[] | undefined;
  /** Undefined if it names no chain. */
  readonly chain?: NamedChain<HttpRequest> | undefined;
  /** The most requests that this machine may send to a public server in a day (UTC); undefined for no limit. */
  readonly perDay?: DayLimit | undefined;
  /** Set when a record decided the host: then only these addresses inside the network are allowed. */
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
  /** Parses the body; undefined unless the node that gets the answer reads it as XML or CSV. */
  readonly parse?: ParseDocument;
  /** The file that has the body, which is then empty here; undefined if no file has it. */
  readonly saved?: SavedFile;
  /** True if only the end of the connection ended the body: then it may be cut off (RFC 9112, 8). */
  readonly endedByClose: boolean;
  /** The wait that the server asks for; undefined if it asks for no wait. */
  readonly retryAfterMs: number | undefined;
  /** The time at which its last byte arrived, in monotonic ms; undefined for a cached answer. */
  readonly atMs?: number;
  /** The address after redirects; undefined without redirects. */
  readonly redirectedTo?: { readonly origin: string; readonly path: string };
}

/** Sends HTTP requests. Answers every response, whatever its status. Throws a Failure (`network`, `timeout`, `request`, `parse`). */
export interface Http {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Aborts the requests in flight of its run only. */
  abort(): void;
}

/** The account of credits. One call is held once, retries included. */
export interface Ledger {
  /** Resolves when it is known if a node's next call can be held; undefined if it is known now. */
  ready?(node: string): Promise<void> | undefined;
  /** Holds the credits of a node's next call. Returns the reason if there are not enough left; then nothing is held. */
  hold(node: string): CodedMessage | undefined;
  /** Spends the held credits: the call was sent. `cost`: its real cost, if the answer states it. */
  settle(node: string, cost?: number): void;
  /** Gives the held credits back: nothing was sent. */
  release(node: string): void;
  /** The reason why no node can make another call; absent while one can. */
  usedUp(): CodedMessage | undefined;
  /** True if the credits left are enough for these calls, or if that is not known yet. */
  affords(calls: readonly (readonly [node: string, count: number])[]): boolean;
}

/** The answer cache. */
export interface Cache {
  /**
   * Answers the cached response if it is younger than `maxAgeMs`; else the one that `produce` gives, and caches it. The same key in
   * flight is produced once. `hit` is called when `produce` was not needed.
   */
  through(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>, hit: (source: HitSource) => void): Promise<HttpResponse>;
}

/** Takes the results of the records. */
export interface Output {
  /** Rows for a record that is not finished yet. */
  partialRows(): PartialRows;
  /** Takes the result of a record, in memory; `isFiltered`: it counts as filtered, and not as written. Returns it, or a Failure (`output`) for a record that the output cannot hold. */
  put(item: Item, outcome: Outcome, isFiltered?: boolean): Outcome;
  /** Saves a record that is finished while an earlier one is not, for the next run to write. Returns false if the output cannot save it. */
  park(item: Item, outcome: Success): boolean;
  /** Characters taken and not written yet, roughly. */
  readonly waiting: number;
  /** Writes everything taken so far. After an AutomateError (`output`) nothing more can be written. */
  flush(): Promise<void>;
}

/** The starts of calls at one gate that several processes share. */
export interface Permits {
  /** Reserves up to `count` starts, `intervalMs` apart or more. */
  reserve(intervalMs: number, count: number): Promise<ReservedStarts>;
  /** Starts no call for `waitMs`, in any process. */
  pause(waitMs: number): void;
}

/** Starts that a gate may use. */
export interface ReservedStarts {
  /** 0 if none can be reserved yet. */
  readonly count: number;
  /** Ms until the first start; without one, ms until starts can be reserved. */
  readonly inMs: number;
  /** Ms between two starts: the lowest rate of all processes. */
  readonly intervalMs: number;
}

/** The world outside of a run. */
export interface Ports {
  readonly http: Http;
  readonly tools: Tools;
  readonly lookups: Lookups;
  readonly ledger: Ledger;
  readonly cache: Cache;
  readonly documents: Documents;
  readonly clock: Clock;
  /** The money by node. */
  readonly spending: { of(node: string): Spending };
  report(event: Event): void;
  /** The UUID of a name in this run. A resumed run has the UUIDs that the run had before. */
  uuidOf(name: string): string;
  /** A random number from 0 up to 1, for jitter. */
  random(): number;
}
