import { orUndefined } from '../core/value/value.ts';
import type { ServerDatabase } from '../io/server/database.ts';
import { Problem } from './problem.ts';

/** A request with an idempotency key. */
export interface NamedRequest {
  /** The API key's id; empty for the page. */
  readonly key: string;
  /** The hash of the header's value, which may be a secret. */
  readonly name: string;
  readonly flow: string;
  /** `call` or `run`. */
  readonly kind: 'call' | 'run';
}

/** The answer that a repeated request gets again. */
export interface EarlierAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

interface Row {
  readonly hash: string;
  readonly kind: string;
  readonly status: number | null;
  readonly type: string;
  readonly body: string;
}

/** Maximum of characters of a stored answer. A larger one is not stored: a repeated request is done again. */
export const maxAnswer = 64 * 1024;

/** The status in the row of a request whose answer was too large. */
const notStored = 0;

const maxAgeMs = 24 * 3_600_000;

const visible = /^[\x21-\x7e]{1,255}$/;

/** The header `Idempotency-Key`; absent without it. Throws a Problem (`bad-request`). */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && visible.test(header)) return header;
  throw new Problem('bad-request', 'Idempotency-Key: expected 1 to 255 visible characters');
}

/** Saves answers for a day, so that a repeated request sends nothing and costs nothing. */
export class Idempotency {
  readonly #database: ServerDatabase;
  readonly #wallNow: () => number;
  readonly #underWay = new Set<string>();
  /** Requests that were to be forgotten while the database could not be written. */
  readonly #forgotten = new Set<string>();

  /** The bytes of all stored answers. */
  #answerBytes: number;

  constructor(database: ServerDatabase, wallNow: () => number) {
    this.#database = database;
    this.#wallNow = wallNow;
    this.#answerBytes = sumOf(database.read((found) => found.prepare(`select ${bodyBytes} from idempotency`).all()));
  }

  /** The bytes of all stored answers. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /**
   * Begins a call whose body has this hash. Returns the answer of an earlier call; absent for the first call. Throws a Problem:
   * `call-in-progress`, or `idempotency-key-reused` for another body.
   */
  begin(request: NamedRequest, hash: string): EarlierAnswer | undefined {
    const row = this.#earlier(request, hash);
    if (row?.status === null) return interrupted;
    if (row && row.status !== notStored) return { status: row.status, type: row.type, body: row.body };
    // On disk before anything is sent: after a crash, nobody knows if a request was sent.
    this.#put(request, { hash, kind: request.kind, status: null, type: '', body: '' });
    this.#underWay.add(idOf(request));
    return undefined;
  }

  /**
   * Begins a request for a new run. Returns the run of an earlier request. Without one, the id of the new run is on disk before the run is:
   * whatever a crash leaves, a repeated request finds the run, or makes it. Throws a Problem like `begin`.
   */
  beginRun<Run>(request: NamedRequest, hash: string, id: string, find: (id: string) => Run | undefined): Run | undefined {
    const row = this.#earlier(request, hash);
    const run = row && find(row.body);
    if (run) return run;
    this.#put(request, { hash, kind: request.kind, status: null, type: '', body: id });
    this.#underWay.add(idOf(request));
    return undefined;
  }

  /** Ends the request for a run that is stored. */
  endRun(request: NamedRequest): void {
    this.#underWay.delete(idOf(request));
  }

  /** Saves the answer of a call. Throws an AutomateError (`output`). */
  end(request: NamedRequest, hash: string, answer: EarlierAnswer): void {
    this.#underWay.delete(idOf(request));
    const stored = answer.body.length > maxAnswer ? { status: notStored, type: '', body: '' } : answer;
    this.#put(request, { hash, kind: request.kind, ...stored });
  }

  /** Forgets a request for which nothing was sent, even if the disk is full. */
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

  #earlier(request: NamedRequest, hash: string): Row | undefined {
    const id = idOf(request);
    if (this.#underWay.has(id)) throw new Problem('call-in-progress', 'a request with this Idempotency-Key is under way');
    const row = this.#forgotten.has(id) ? undefined : this.#row(request);
    if (row && (row.hash !== hash || row.kind !== request.kind))
      throw new Problem('idempotency-key-reused', 'this Idempotency-Key belongs to a request with another body');
    return row;
  }

  #row({ key, name, flow }: NamedRequest): Row | undefined {
    const since = this.#wallNow() - maxAgeMs;
    return this.#database.read(
      (database) =>
        database
          .prepare('select hash, kind, status, type, body from idempotency where key = ? and name = ? and flow = ? and at > ?')
          .get(key, name, flow, since) as Row | undefined,
    );
  }

  #put(request: NamedRequest, { hash, kind, status, type, body }: Row): void {
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

const interruptedProblem = new Problem('call-timeout', 'the server stopped during the first request; what was sent is paid');

/** The answer for a request that a crash cut off. */
const interrupted: EarlierAnswer = {
  status: interruptedProblem.status,
  type: 'application/problem+json; charset=utf-8',
  body: JSON.stringify(interruptedProblem.body('interrupted')),
};

function idOf({ key, name, flow }: NamedRequest): string {
  return JSON.stringify([key, name, flow]);
}
