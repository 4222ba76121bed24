import type Database from 'libsql';
import { inTransaction, isBusy, openDatabase } from '../../files/database.ts';
import { packBlock, type StoredAnswer, unpackBlock } from './answer-block.ts';

/**
 * Answers are in blocks, which are found by the number of their first answer. `places` finds an answer by its request. `moved` has the
 * answers that another record uses now, or that are gone (without a record). `uses` has a bit for each answer that a part of the run under
 * way has used up, 1024 bits in a row.
 */
const schema = `
create table blocks (first integer primary key, count integer not null, is_packed integer not null, content blob not null);
create index open_blocks on blocks (first) where is_packed = 0;
create table places (number integer primary key, key blob not null, record integer not null, place text not null, at integer not null);
create index places_key on places (key);
create table moved (number integer primary key, record integer, place text);
create table uses (session integer not null, chunk integer not null, bits blob not null, primary key (session, chunk)) without rowid;
create table sessions (number integer primary key, run text not null, first integer not null, begun_at integer not null, last_answer integer not null);`;

const version = 1;

const chunkBits = 1024;

/** An answer as the index has it. */
export interface FoundPlace {
  readonly number: number;
  readonly record: number;
  readonly place: string;
  readonly at: number;
}

/** A part of a run, from its start until it ends or is killed. */
export interface AnswerSession {
  readonly number: number;
  /** The first part of the same run, or of the run that is retried. */
  readonly first: number;
  /** Answers with higher numbers are new in this session. */
  readonly lastAnswer: number;
}

export interface AnswerTotals {
  readonly answers: number;
  readonly bytes: number;
  readonly oldestMs: number | undefined;
  readonly newestMs: number | undefined;
}

const queries = {
  block: 'select content from blocks where first <= ? order by first desc limit 1',
  addBlock: 'insert into blocks values (?, ?, ?, ?)',
  openBlocks: 'select content from blocks where is_packed = 0 order by first limit 256',
  places: 'select number, record, place, at from places where key = ? order by number',
  addPlace: 'insert into places values (?, ?, ?, ?, ?)',
  setPlace: 'update places set record = ?, place = ? where number = ?',
  removePlace: 'delete from places where number = ?',
  move: 'insert or replace into moved values (?, ?, ?)',
  moved: 'select number, record, place from moved where number between ? and ?',
  bits: 'select bits from uses where session = ? and chunk = ?',
  earlierBits: 'select bits from uses where session >= ? and session < ? and chunk = ?',
  setBits: 'insert or replace into uses values (?, ?, ?)',
  next: 'select max(coalesce((select max(number) from places), 0), coalesce((select max(first + count - 1) from blocks), 0)) + 1 as number',
} as const;

/** All methods can throw errors of libsql. Writes need a transaction. */
export class AnswersDatabase {
  readonly #database: Database.Database;
  readonly #statements: Record<keyof typeof queries, Database.Statement>;

  /** `timeoutMs` is the longest wait for a transaction of another process. */
  constructor(path: string, timeoutMs: number) {
    this.#database = openDatabase(path, { schema, version, timeoutMs });
    try {
      const statements = Object.entries(queries).map(([name, sql]) => [name, this.#database.prepare(sql)]);
      this.#statements = Object.fromEntries(statements) as Record<keyof typeof queries, Database.Statement>;
      for (const name of ['block', 'openBlocks', 'places', 'moved', 'bits', 'earlierBits'] as const) this.#statements[name].raw();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  begin(): void {
    this.#database.exec('BEGIN IMMEDIATE');
  }

  commit(): void {
    this.#database.exec('COMMIT');
  }

  /** Does nothing if the transaction has already been undone, as after a full disk. */
  rollback(): void {
    if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
  }

  /** Begins a session. `runs` are the run itself, and the run that it retries. */
  beginSession(runs: readonly string[], nowMs: number): AnswerSession {
    return inTransaction(this.#database, () => {
      const before = this.#database.prepare('select number, run, first from sessions order by number desc limit 1').get() as
        | { number: number; run: string; first: number }
        | undefined;
      const number = (before?.number ?? 0) + 1;
      const first = before && runs.includes(before.run) ? before.first : number;
      const lastAnswer = this.nextNumber() - 1;
      this.#database.prepare('delete from uses where session < ?').run(first);
      this.#database.prepare('insert into sessions values (?, ?, ?, ?, ?)').run(number, runs[0], first, nowMs, lastAnswer);
      return { number, first, lastAnswer };
    });
  }

  nextNumber(): number {
    return (this.#statements.next.get() as { number: number }).number;
  }

  placesOf(key: Buffer): FoundPlace[] {
    // Parameters are passed in an array, because libsql would treat a single Buffer as an object with named parameters.
    const rows = this.#statements.places.all([key]) as [number, number, string, number][];
    return rows.map(([number, record, place, at]) => ({ number, record, place, at }));
  }

  /** The answers of the block with this number, without those that are gone. */
  blockWith(number: number): StoredAnswer[] {
    const row = this.#statements.block.get(number) as [Uint8Array] | undefined;
    if (!row) return [];
    const answers = unpackBlock(row[0]);
    const [first, last] = [answers[0]?.number ?? 0, answers.at(-1)?.number ?? 0];
    const moved = this.#statements.moved.all(first, last) as [number, number | null, string][];
    if (moved.length === 0) return answers;
    const places = new Map(moved.map(([at, record, place]) => [at, { record, place }]));
    return answers.flatMap((answer) => {
      const now = places.get(answer.number);
      if (!now) return [answer];
      return now.record === null ? [] : [{ ...answer, record: now.record, place: now.place }];
    });
  }

  addPlace({ number, record, place, at }: StoredAnswer, key: Buffer): void {
    this.#statements.addPlace.run(number, key, record, place, at);
  }

  /** Returns the size in bytes. */
  addBlock(answers: readonly StoredAnswer[], isPacked: boolean): number {
    const [first] = answers;
    if (!first) return 0;
    const content = packBlock(answers);
    this.#statements.addBlock.run(first.number, (answers.at(-1)?.number ?? 0) - first.number + 1, isPacked ? 1 : 0, content);
    return content.length;
  }

  /** Replaces the blocks that single turns have written by packed ones. */
  pack(answers: readonly StoredAnswer[]): void {
    const [first, last] = [answers[0]?.number ?? 0, answers.at(-1)?.number ?? 0];
    this.#database.prepare('delete from blocks where is_packed = 0 and first between ? and ?').run(first, last);
    this.addBlock(answers, true);
  }

  /** The answers of some blocks that are not packed, because a process was killed, or because several have written them. */
  unpacked(): StoredAnswer[][] {
    return (this.#statements.openBlocks.all() as [Uint8Array][]).map(([content]) => unpackBlock(content));
  }

  /** The answer is now another record's. */
  move(number: number, record: number, place: string): void {
    this.#statements.move.run(number, record, place);
    this.#statements.setPlace.run(record, place, number);
  }

  remove(number: number): void {
    this.#statements.move.run(number, null, null);
    this.#statements.removePlace.run(number);
  }

  bitsOf(session: number, chunk: number): Uint8Array {
    const row = this.#statements.bits.get(session, chunk) as [Uint8Array] | undefined;
    return row ? Uint8Array.from(row[0]) : new Uint8Array(chunkBits / 8);
  }

  /** The answers that earlier parts of the run have used up. */
  earlierBitsOf({ first, number }: AnswerSession, chunk: number): Uint8Array {
    const all = new Uint8Array(chunkBits / 8);
    for (const [bits] of this.#statements.earlierBits.all(first, number, chunk) as [Uint8Array][])
      for (const [index, byte] of bits.entries()) all[index] = (all[index] as number) | byte;
    return all;
  }

  setBits(session: number, chunk: number, bits: Uint8Array): void {
    this.#statements.setBits.run([session, chunk, Buffer.from(bits)]);
  }

  totals(): AnswerTotals {
    const row = this.#database.prepare('select count(*) as answers, min(at) as oldest, max(at) as newest from places').get();
    const { answers, oldest, newest } = row as { answers: number; oldest: number | null; newest: number | null };
    return { answers, bytes: this.bytes(), oldestMs: oldest ?? undefined, newestMs: newest ?? undefined };
  }

  /** The size of the file. */
  bytes(): number {
    const { size } = this.#database.prepare('select page_count * page_size as size from pragma_page_count(), pragma_page_size()').get() as {
      size: number;
    };
    return size;
  }

  /** Deletes answers that are older than a time, and frees their space. Returns their number. */
  clear(beforeMs: number): number {
    const count = inTransaction(this.#database, () => {
      const old = this.#database.prepare('select number from places where at < ?').raw().all(beforeMs) as [number][];
      for (const [number] of old) this.remove(number);
      this.#dropGone();
      return old.length;
    });
    this.#database.exec('VACUUM');
    return count;
  }

  /** Writes the blocks again without the answers that are gone. */
  #dropGone(): void {
    const firsts = this.#database.prepare('select first from blocks order by first').raw().all() as [number][];
    for (const [first] of firsts) {
      const answers = this.blockWith(first);
      this.#database.prepare('delete from blocks where first = ?').run(first);
      this.addBlock(answers, true);
    }
    this.#database.exec('delete from moved where record is null');
  }

  /**
   * Merges the write-ahead log into the file and removes it, so that the file can be copied. This is skipped if another process still uses
   * the file. Workers may need a moment until they have closed it.
   */
  async close(waitsForOthers = false): Promise<void> {
    try {
      this.#database.exec('PRAGMA busy_timeout = 0');
      for (let left = waitsForOthers ? 100 : 0; !this.#mergeLog() && left > 0; left--)
        await new Promise((resolve) => setTimeout(resolve, 20));
    } catch {
      // Nothing is lost: the log still contains the answers.
    } finally {
      this.#database.close();
    }
  }

  /** Returns false if another process uses the file. */
  #mergeLog(): boolean {
    try {
      const { journal_mode: mode } = this.#database.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string };
      return mode === 'delete';
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }
}

/** The chunk of an answer's bit, the byte in it and the bit in that byte. */
export function bitOf(number: number): readonly [chunk: number, byte: number, mask: number] {
  const within = number % chunkBits;
  return [Math.floor(number / chunkBits), within >> 3, 1 << (within & 7)];
}
