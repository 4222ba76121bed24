import { orUndefined } from '../core/value/value.ts';
import { ProblemResponse } from './problem.ts';
import type { ServerDatabase } from './store/database.ts';

/** A request that the client has named with an Idempotency-Key, so that it can be repeated safely. */
export interface NamedRequest {
  /** The id of the sender's API key; empty for the web page. */
  readonly key: string;
  /** Hash of the Idempotency-Key. The key itself is not stored, because it might be a secret. */
  readonly name: string;
  readonly flow: string;
  /** `call` for a call to a flow, `run` for a new run. */
  readonly kind: 'call' | 'run';
}

/** The response to an earlier request, which is sent again if the request is repeated. */
export interface EarlierAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

interface StoredAnswerRow {
  readonly hash: string;
  readonly kind: string;
  readonly status: number | null;
  readonly type: string;
  readonly body: string;
}

/** In characters. After a longer response, a repeated request is processed again. */
export const maxAnswer = 64 * 1024;

/** Stored in place of the HTTP status if the response was too long to be stored. */
const notStored = 0;

const maxAgeMs = 24 * 3_600_000;

const visible = /^[\x21-\x7e]{1,255}$/;

/** Throws a Problem (`bad-request`) if the header is not valid. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && visible.test(header)) return header;
  throw new ProblemResponse('bad-request', 'Idempotency-Key: expected 1 to 255 visible characters');
}

/** Stores responses for a day. A repeated request gets the stored response, so it sends nothing to upstream APIs and costs nothing. */
export class Idempotency {
  readonly #database: ServerDatabase;
  readonly #wallNow: () => number;
  readonly #underWay = new Set<string>();
  /** Requests that were forgotten, although they could not be deleted from the database. They count as never received. */
  readonly #forgotten = new Set<string>();

  #answerBytes: number;

  constructor(database: ServerDatabase, wallNow: () => number) {
    this.#database = database;
    this.#wallNow = wallNow;
    this.#answerBytes = sumOf(database.read((found) => found.prepare(`select ${bodyBytes} from idempotency`).all()));
  }

  /** Total size of the stored responses, in bytes. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /**
   * Begins a call whose body has this hash. Returns the response to an earlier call with the same Idempotency-Key; undefined if there was
   * none. Throws a Problem: `call-in-progress` if the earlier call has not ended, `idempotency-key-reused` if its body was different.
   */
  begin(request: NamedRequest, hash: string): EarlierAnswer | undefined {
    const row = this.#earlier(request, hash);
    if (row?.status === null) return interrupted;
    if (row && row.status !== notStored) return { status: row.status, type: row.type, body: row.body };
    // This is written to disk before the call sends a request. Otherwise, it would be unknown after a crash whether a request had been
    // sent.
    this.#put(request, { hash, kind: request.kind, status: null, type: '', body: '' });
    this.#underWay.add(idOf(request));
    return undefined;
  }

  /**
   * Begins a request for a new run. Returns the run that an earlier request with the same Idempotency-Key created. If there is none, writes
   * the id of the new run to disk, so that a repeated request finds the run even after a crash. Throws the same Problems as `begin`.
   */
  beginRun<Run>(request: NamedRequest, hash: string, id: string, find: (id: string) => Run | undefined): Run | undefined {
    const row = this.#earlier(request, hash);
    const run = row && find(row.body);
    if (run) return run;
    this.#put(request, { hash, kind: request.kind, status: null, type: '', body: id });
    this.#underWay.add(idOf(request));
    return undefined;
  }

  /** Ends a request for a new run, because the run is now stored. */
  endRun(request: NamedRequest): void {
    this.#underWay.delete(idOf(request));
  }

  /** Stores the response to a call. Throws an AutomateError (`output`) if it cannot be written. */
  end(request: NamedRequest, hash: string, answer: EarlierAnswer): void {
    this.#underWay.delete(idOf(request));
    const stored = answer.body.length > maxAnswer ? { status: notStored, type: '', body: '' } : answer;
    this.#put(request, { hash, kind: request.kind, ...stored });
  }

  /** Forgets a request for which nothing was sent to an API: a repetition is processed as a new request. Works even if the disk is full. */
  forget(request: NamedRequest): void {
    const id = idOf(request);
    this.#underWay.delete(id);
    this.#forgotten.add(id);
    const { key, name, flow } = request;
    orUndefined(() => {
      this.#answerBytes -= this.#database.write((database) => sumOf(database.prepare(deleted).all(key, name, flow)));
      this.#forgotten.delete(id);
    });
  }

  #earlier(request: NamedRequest, hash: string): StoredAnswerRow | undefined {
    const id = idOf(request);
    if (this.#underWay.has(id)) throw new ProblemResponse('call-in-progress', 'a request with this Idempotency-Key is in progress');
    const row = this.#forgotten.has(id) ? undefined : this.#row(request);
    if (row && (row.hash !== hash || row.kind !== request.kind))
      throw new ProblemResponse('idempotency-key-reused', 'this Idempotency-Key belongs to a request with a different body');
    return row;
  }

  #row({ key, name, flow }: NamedRequest): StoredAnswerRow | undefined {
    const since = this.#wallNow() - maxAgeMs;
    return this.#database.read(
      (database) =>
        database
          .prepare('select hash, kind, status, type, body from idempotency where key = ? and name = ? and flow = ? and at > ?')
          .get(key, name, flow, since) as StoredAnswerRow | undefined,
    );
  }

  #put(request: NamedRequest, { hash, kind, status, type, body }: StoredAnswerRow): void {
    const { key, name, flow } = request;
    const now = this.#wallNow();
    this.#answerBytes += this.#database.write((database) => {
      const gone = [
        ...database.prepare(`delete from idempotency where at <= ? returning ${bodyBytes}`).all(now - maxAgeMs),
        ...database.prepare(deleted).all(key, name, flow),
      ];
      database
        .prepare('insert into idempotency (key, name, flow, kind, hash, status, type, body, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(key, name, flow, kind, hash, status, type, body, now);
      return Buffer.byteLength(body) - sumOf(gone);
    });
    this.#forgotten.delete(idOf(request));
  }
}

const bodyBytes = 'length(cast(body as blob)) as bytes';

const deleted = `delete from idempotency where key = ? and name = ? and flow = ? returning ${bodyBytes}`;

function sumOf(rows: readonly unknown[]): number {
  return (rows as readonly { readonly bytes: number }[]).reduce((sum, { bytes }) => sum + bytes, 0);
}

const interruptedProblem = new ProblemResponse(
  'call-timeout',
  'the server stopped during the first request; the requests already sent still cost credits',
);

const interrupted: EarlierAnswer = {
  status: interruptedProblem.status,
  type: 'application/problem+json; charset=utf-8',
  body: JSON.stringify(interruptedProblem.body('interrupted')),
};

function idOf({ key, name, flow }: NamedRequest): string {
  return JSON.stringify([key, name, flow]);
}
