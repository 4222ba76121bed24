import type Database from 'libsql';
import { inTransaction, openDatabase } from '../../files/database.ts';
import {
  type AnswerRow,
  answerChecksum,
  type CachedAnswer,
  damageError,
  type NewAnswer,
  packAnswer,
  unpackAnswer,
} from './cached-answer.ts';

/** The number of cached responses, and the bytes of their headers and bodies together. */
interface CacheSize {
  readonly answers: number;
  readonly bytes: number;
}

/** The newest response has the highest `number`. */
const schema = `
create table answers (
  number integer primary key, key blob not null unique, kept_at integer not null, ends_at integer not null,
  bytes integer not null, checksum integer not null, answer blob not null
);
create index answers_end on answers (ends_at);
create table amount (answers integer not null, bytes integer not null);
insert into amount values (0, 0);`;

/** Changes when the tables change. */
const version = 1;

/** Limits for one transaction, so that other processes need not wait long. A round deletes 500 expired and 500 of the oldest responses. */
const maxDeleted = { atOnce: 500, rounds: 10 };

interface NumberedAnswer {
  readonly number: number;
  readonly bytes: number;
}

/** Casts every column, because a damaged file may contain any type, and libsql aborts the process on text that is not valid UTF-8. */
const selectNumbered = 'select number, cast(bytes as integer) as bytes from answers';

const queries = {
  find: 'select cast(checksum as integer), cast(answer as blob) from answers where key = ?',
  ofKey: `${selectNumbered} where key = ?`,
  expired: `${selectNumbered} where ends_at <= ? order by ends_at limit ?`,
  oldest: `${selectNumbered} order by number limit ?`,
  add: 'insert into answers values (null, ?, ?, ?, ?, ?, ?)',
  remove: 'delete from answers where number = ?',
  resize: 'update amount set answers = answers + ?, bytes = bytes + ?',
  size: 'select cast(answers as integer) as answers, cast(bytes as integer) as bytes from amount',
} as const;

/** The SQLite file of cached responses, keyed by the SHA-256 hash of the request in hex. All methods may throw errors of libsql. */
export class AnswersFile {
  readonly #database: Database.Database;
  readonly #statements: Record<keyof typeof queries, Database.Statement>;
  #readEnd: NodeJS.Immediate | undefined;

  /** Opens or creates the cache file. `timeoutMs` is the longest wait for a lock that another process has on the file. */
  constructor(path: string, timeoutMs: number) {
    this.#database = openDatabase(path, { schema, version, timeoutMs });
    try {
      const statements = Object.entries(queries).map(([name, sql]) => [name, this.#database.prepare(sql)]);
      this.#statements = Object.fromEntries(statements) as Record<keyof typeof queries, Database.Statement>;
      this.#statements.find.raw();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  find(key: string): CachedAnswer | undefined {
    this.#beginReading();
    const bytes = Buffer.from(key, 'hex');
    // Parameters are passed in an array, because libsql would treat a single Buffer as an object with named parameters.
    const row = this.#statements.find.get([bytes]) as AnswerRow | undefined;
    return row && unpackAnswer(bytes, row);
  }

  /** Also deletes expired responses, and the oldest ones above `maxBytes`. Returns true if more responses have to be deleted later. */
  write(answers: ReadonlyMap<string, NewAnswer>, nowMs: number, maxBytes: number): boolean {
    if (answers.size === 0 && !this.#hasSurplus(nowMs, maxBytes)) return false;
    this.#endReading();
    return inTransaction(this.#database, () => {
      for (const [key, answer] of answers) this.#add(Buffer.from(key, 'hex'), answer, maxBytes);
      for (let round = 0; round < maxDeleted.rounds && this.#hasSurplus(nowMs, maxBytes); round++) {
        this.#delete(this.#statements.expired.all(nowMs, maxDeleted.atOnce) as NumberedAnswer[]);
        this.#delete(this.#oldest(this.size().bytes - maxBytes));
      }
      return this.#hasSurplus(nowMs, maxBytes);
    });
  }

  size(): CacheSize {
    const row = this.#statements.size.get() as CacheSize | undefined;
    if (row === undefined) throw damageError();
    return { answers: row.answers, bytes: row.bytes };
  }

  /** Returns the times at which the oldest and the newest response were cached; undefined if the cache is empty. */
  span(): { readonly oldestMs: number; readonly newestMs: number } | undefined {
    const [oldest, newest] = ['asc', 'desc'].map((order) => {
      const edge = this.#database.prepare(`select cast(kept_at as integer) as ms from answers order by number ${order} limit 1`);
      return edge.get() as { ms: number } | undefined;
    });
    return oldest && newest && { oldestMs: oldest.ms, newestMs: newest.ms };
  }

  /** Also frees the disk space. Returns the previous size. */
  clear(): CacheSize {
    const before = inTransaction(this.#database, () => {
      const size = this.size();
      this.#database.exec('delete from answers; update amount set answers = 0, bytes = 0');
      return size;
    });
    this.#database.exec('VACUUM');
    return before;
  }

  /** Sets the longest wait in ms for a lock that another process has on the file. */
  setBusyTimeout(ms: number): void {
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`);
  }

  close(): void {
    this.#endReading();
    try {
      // Merges SQLite's write-ahead log into the file, so that the next run need not read the log. This is skipped if another process uses
      // the file.
      this.#database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // If the merge fails, no response is lost, because the log still contains all of them.
    }
    this.#database.close();
  }

  /** All reads in a turn of the event loop share a transaction, because starting and ending it takes longer than a small read. */
  #beginReading(): void {
    if (this.#readEnd !== undefined) return;
    this.#database.exec('BEGIN');
    this.#readEnd = setImmediate(() => this.#endReading());
  }

  #endReading(): void {
    clearImmediate(this.#readEnd);
    this.#readEnd = undefined;
    if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
  }

  #hasSurplus(nowMs: number, maxBytes: number): boolean {
    return this.size().bytes > maxBytes || this.#statements.expired.get(nowMs, 1) !== undefined;
  }

  /** Adds a response to the file, unless the response alone is larger than `maxBytes`. */
  #add(key: Buffer, answer: NewAnswer, maxBytes: number): void {
    const packed = packAnswer(answer);
    if (packed.length > maxBytes) return;
    this.#delete(this.#statements.ofKey.all([key]) as NumberedAnswer[]);
    this.#statements.add.run(key, answer.cachedAtMs, answer.expiresAtMs, packed.length, answerChecksum(key, packed), packed);
    this.#statements.resize.run(1, packed.length);
  }

  /** Returns the oldest responses, as many as must be deleted to free `bytes`, but no more than the limit for one deletion. */
  #oldest(bytes: number): NumberedAnswer[] {
    if (bytes <= 0) return [];
    const candidates = this.#statements.oldest.all(maxDeleted.atOnce) as NumberedAnswer[];
    if (candidates.length === 0) throw damageError();
    let left = bytes;
    return candidates.filter((candidate) => {
      const isSurplus = left > 0;
      left -= candidate.bytes;
      return isSurplus;
    });
  }

  #delete(answers: readonly NumberedAnswer[]): void {
    if (answers.length === 0) return;
    for (const { number } of answers) this.#statements.remove.run(number);
    const bytes = answers.reduce((sum, answer) => sum + answer.bytes, 0);
    this.#statements.resize.run(-answers.length, -bytes);
  }
}
