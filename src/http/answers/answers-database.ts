import { hash } from 'node:crypto';
import type Database from 'libsql';
import type { FlowOrigins } from '../../core/field-origins.ts';
import { inTransaction, isBusy, openDatabase } from '../../files/database.ts';
import { packBlock, type StoredAnswer, unpackBlock } from './answer-block.ts';

/**
 * Answers are in blocks, which are found by the number of their first answer. `places` finds answers by their requests.
 * `moved` has the answers that another record uses now, or that are gone (without a record). `shared` has the other records that a cached
 * answer was for. `uses` has a bit for each answer that a part of the run under way has used up, 1024 bits in a row.
 */
const schema = `
create table blocks (first integer primary key, count integer not null, is_packed integer not null, content blob not null);
create index open_blocks on blocks (first) where is_packed = 0;
create table places (number integer primary key, key blob not null, record integer not null, place text not null, at integer not null);
create index places_key on places (key, record);
create table moved (number integer primary key, record integer, place text);
create table shared (record integer not null, number integer not null, session integer not null, primary key (record, number)) without rowid;
create table uses (session integer not null, chunk integer not null, bits blob not null, primary key (session, chunk)) without rowid;
create table sessions (number integer primary key, run text not null, first integer not null, last_answer integer not null, flow text not null);`;

const version = 1;

const chunkBits = 1024;

/** A block is packed as soon as it reaches one of these limits. To find one answer, its whole block is unpacked. */
const blockEnd = { answers: 128, bytes: 64 << 10 };

const placesAtOnce = 64;

/** The beginning of the places of batches, whose answers are found only by their parts, and of those parts. */
export const batchPlace = 'batch ';
export const partPlace = 'part ';

const blocksAtOnce = 64;

/** An answer as the index has it. */
export interface KeptPlace {
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

interface AnswerTotals {
  readonly answers: number;
  readonly bytes: number;
  readonly oldestMs: number | undefined;
  readonly newestMs: number | undefined;
}

/** The answers that the last run has used for a record, and its flow. */
interface UsedAnswers {
  /** `endedMs` is when the run has ended, after it had closed its output. Undefined if it was killed or is under way. */
  readonly flow: FlowOrigins & { readonly endedMs?: number };
  readonly answers: readonly (StoredAnswer & { readonly isNew: boolean })[];
}

const queries = {
  block: 'select content from blocks where first <= ? order by first desc limit 1',
  addBlock: 'insert into blocks values (?, ?, ?, ?)',
  dropBlocks: 'delete from blocks where is_packed = 0 and first between ? and ?',
  openBlocks: 'select content from blocks where is_packed = 0 order by first limit 256',
  ownPlaces: 'select number, record, place, at from places where key = ? and record = ? order by number',
  places: `select number, record, place, at from places where key = ? and (record, number) > (?, ?) order by record, number limit ${placesAtOnce}`,
  addPlace: 'insert or ignore into places values (?, ?, ?, ?, ?)',
  setPlace: 'update places set record = ?, place = ? where number = ?',
  removePlace: 'delete from places where number = ?',
  unindexed: `select first from blocks where is_packed = 1 and first >=
    coalesce((select first from blocks where first <= (select max(number) from places) order by first desc limit 1), 0) order by first`,
  count: 'select count(*) from places where key = ? and at >= ?',
  move: 'insert or replace into moved values (?, ?, ?)',
  moved: 'select number, record, place from moved where number between ? and ?',
  share: 'insert or replace into shared values (?, ?, ?)',
  bits: 'select bits from uses where session = ? and chunk = ?',
  earlierBits: 'select bits from uses where session >= ? and session < ? and chunk = ?',
  setBits: 'insert or replace into uses values (?, ?, ?)',
  next: 'select coalesce(max(first + count), 1) from (select first, count from blocks order by first desc limit 1)',
  lastSession: 'select number, run, first, flow from sessions order by number desc limit 1',
  sessionBefore: 'select last_answer from sessions where number = ?',
  usedBy: 'select number from places where record = ? union select number from shared where record = ? and session >= ? order by number',
} as const;

/** All methods can throw errors of libsql. Writes need a transaction. */
export class AnswersDatabase {
  readonly #database: Database.Database;
  readonly #statements: Record<keyof typeof queries, Database.Statement>;
  /** Number of packed blocks since answers were last indexed. */
  #unindexed = 0;

  /** `timeoutMs` is the longest wait for a transaction of another process. */
  constructor(
    path: string,
    timeoutMs: number,
    readonly isReadOnly = false,
  ) {
    this.#database = openDatabase(path, { schema, version, timeoutMs, isReadOnly });
    try {
      const statements = Object.entries(queries).map(([name, sql]) => [
        name,
        sql.startsWith('select') ? this.#database.prepare(sql).raw() : this.#database.prepare(sql),
      ]);
      this.#statements = Object.fromEntries(statements) as Record<keyof typeof queries, Database.Statement>;
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
  beginSession(runs: readonly string[], flow: FlowOrigins): AnswerSession {
    return inTransaction(this.#database, () => {
      this.packOpen();
      const [before = 0, run = '', firstBefore = 0] = (this.#statements.lastSession.get() ?? []) as [number?, string?, number?];
      const number = before + 1;
      const first = runs.includes(run) ? firstBefore : number;
      const lastAnswer = this.nextNumber() - 1;
      this.#database.prepare('delete from uses where session < ?').run(first);
      this.#database.prepare('insert into sessions values (?, ?, ?, ?, ?)').run(number, runs[0], first, lastAnswer, JSON.stringify(flow));
      return { number, first, lastAnswer };
    });
  }

  endSession({ number }: AnswerSession, ms: number): void {
    this.#database.prepare(`update sessions set flow = json_set(flow, '$.endedMs', ?) where number = ?`).run(ms, number);
  }

  /** A session that only finds answers. */
  readOnlySession(): AnswerSession {
    const [before = 0] = (this.#statements.lastSession.get() ?? []) as [number?];
    return { number: before + 1, first: before + 1, lastAnswer: this.nextNumber() - 1 };
  }

  nextNumber(): number {
    return (this.#statements.next.get() as [number])[0];
  }

  placesOf(key: Buffer, record: number): KeptPlace[] {
    return placesIn(this.#statements.ownPlaces.all([key, record]));
  }

  /** The next places of any record, by record and number. Fewer than asked for are the last ones. */
  placesAfter(key: Buffer, { record, number }: Pick<KeptPlace, 'record' | 'number'>): { places: KeptPlace[]; areLast: boolean } {
    const places = placesIn(this.#statements.places.all([key, record, number]));
    return { places, areLast: places.length < placesAtOnce };
  }

  /** The number of answers that are at least as new as this. */
  count(key: Buffer, sinceMs: number): number {
    return (this.#statements.count.get([key, sinceMs]) as [number])[0];
  }

  /** The answers of the block with this number, without those that are gone. */
  blockWith(number: number): StoredAnswer[] {
    const row = this.#statements.block.get(number) as [Uint8Array] | undefined;
    if (!row) return [];
    const answers = unpackBlock(row[0]);
    const moved = this.#statements.moved.all(answers[0]?.number ?? 0, answers.at(-1)?.number ?? 0) as [number, number | null, string][];
    if (moved.length === 0) return answers;
    const places = new Map(moved.map(([at, record, place]) => [at, { record, place }]));
    return answers.flatMap((answer) => {
      const { record, place } = places.get(answer.number) ?? answer;
      return record === null ? [] : [{ ...answer, record, place }];
    });
  }

  answerWith(number: number): StoredAnswer | undefined {
    return this.blockWith(number).find((answer) => answer.number === number);
  }

  addBlock(answers: readonly StoredAnswer[], isPacked: boolean): number {
    const [first] = answers;
    if (!first) return 0;
    const content = packBlock(answers);
    this.#statements.addBlock.run(first.number, (answers.at(-1)?.number ?? 0) - first.number + 1, isPacked ? 1 : 0, content);
    return content.length;
  }

  /** Replaces the blocks that single turns have written by a packed one. */
  pack(answers: readonly StoredAnswer[]): void {
    this.#statements.dropBlocks.run(answers[0]?.number ?? 0, answers.at(-1)?.number ?? 0);
    this.addBlock(answers, true);
    if (++this.#unindexed >= blocksAtOnce) this.#index();
  }

  /** Keys are hashes, so adding a few of them writes as many pages as adding many. No session finds its own answers before. */
  #index(): void {
    this.#unindexed = 0;
    const firsts = (this.#statements.unindexed.all() as [number][]).map(([first]) => first);
    for (let from = 0; from < firsts.length; from += blocksAtOnce) {
      const answers = firsts.slice(from, from + blocksAtOnce).flatMap((first) => this.blockWith(first));
      const places = answers.map(({ number, key, record, place, at }) => {
        const asked = place.startsWith(batchPlace) ? keyHash(batchPlace + key) : keyHash(key);
        return [number, asked, record, place, at] as const;
      });
      for (const place of places.sort(([, one], [, other]) => one.compare(other))) this.#statements.addPlace.run(...place);
    }
  }

  /** Packs the blocks that killed processes have left, or several at once, and makes all answers known to later sessions. */
  packOpen(): void {
    for (let rows = this.#openBlocks(); rows.length > 0; rows = this.#openBlocks()) {
      let answers: StoredAnswer[] = [];
      for (const [content] of rows) {
        answers.push(...unpackBlock(content));
        if (isFull(answers)) {
          this.pack(answers);
          answers = [];
        }
      }
      if (answers.length > 0) this.pack(answers);
    }
    this.#index();
  }

  #openBlocks(): [Uint8Array][] {
    return this.#statements.openBlocks.all() as [Uint8Array][];
  }

  /** The answer is now another record's. */
  move(number: number, record: number, place: string): void {
    this.#statements.move.run(number, record, place);
    this.#statements.setPlace.run(record, place, number);
  }

  share(number: number, record: number, session: number): void {
    this.#statements.share.run(record, number, session);
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
  earlierBitsOf({ first, number }: Pick<AnswerSession, 'first' | 'number'>, chunk: number): Uint8Array {
    const all = new Uint8Array(chunkBits / 8);
    for (const [bits] of this.#statements.earlierBits.all(first, number, chunk) as [Uint8Array][])
      for (const [index, byte] of bits.entries()) all[index] = (all[index] as number) | byte;
    return all;
  }

  setBits(session: number, chunk: number, bits: Uint8Array): void {
    this.#statements.setBits.run([session, chunk, Buffer.from(bits)]);
  }

  /** Undefined if no run has used the file. */
  usedFor(record: number): UsedAnswers | undefined {
    const session = this.#statements.lastSession.get() as [number, string, number, string] | undefined;
    if (!session) return undefined;
    const [number, , first, flow] = session;
    const [lastAnswer] = this.#statements.sessionBefore.get(first) as [number];
    const indexed = (this.#statements.usedBy.all(record, record, first) as [number][]).map(([one]) => one);
    const others = this.#unindexedAnswers().flatMap((one) => (one.record === record ? [one.number] : []));
    const numbers = [...new Set([...indexed, ...others])];
    const used = numbers.filter((one) => {
      const [chunk, byte, mask] = bitOf(one);
      return (this.earlierBitsOf({ first, number: number + 1 }, chunk)[byte] as number) & mask;
    });
    // A batch can have several rows of the record.
    const whole = new Set(used.map((one) => this.answerWith(one)?.part?.of ?? one));
    const answers = [...whole].flatMap((one) => this.answerWith(one) ?? []);
    return { flow: JSON.parse(flow) as UsedAnswers['flow'], answers: answers.map((one) => ({ ...one, isNew: one.number > lastAnswer })) };
  }

  /** A run adds answers to the index only from time to time, so one that is under way or was killed has answers that are not in it. */
  #unindexedAnswers(): StoredAnswer[] {
    const firsts = this.#database.prepare('select first from blocks where first > (select coalesce(max(number), 0) from places)').raw();
    return (firsts.all() as [number][]).flatMap(([first]) => this.blockWith(first));
  }

  /** A batch counts as one. */
  totals(): AnswerTotals {
    const sums = `select count(*) filter (where place not like '${partPlace}%'), min(at), max(at) from places`;
    const [indexed, oldest, newest] = this.#database.prepare(sums).raw().get() as [number, number | null, number | null];
    const others = this.#unindexedAnswers();
    const times = [oldest ?? [], newest ?? [], others.map(({ at }) => at)].flat();
    const answers = indexed + others.filter(({ part }) => !part).length;
    return { answers, bytes: this.bytes(), ...rangeOf(times) };
  }

  bytes(): number {
    const size = 'select page_count * page_size from pragma_page_count(), pragma_page_size()';
    return (this.#database.prepare(size).raw().get() as [number])[0];
  }

  /** Deletes answers that are older than a time, and frees their space. Returns their number. */
  clear(beforeMs: number): number {
    const count = inTransaction(this.#database, () => {
      this.packOpen();
      const next = this.nextNumber();
      const old = this.#database.prepare('select number, place from places where at < ?').raw().all(beforeMs) as [number, string][];
      for (const [number] of old) this.remove(number);
      this.#dropGone();
      // Numbers will be given again.
      if (this.nextNumber() < next) this.#database.exec('delete from shared; delete from uses');
      return old.filter(([, place]) => !place.startsWith(partPlace)).length;
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

  #mergeLog(): boolean {
    try {
      return (this.#database.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string }).journal_mode === 'delete';
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }
}

function rangeOf(times: readonly number[]): Pick<AnswerTotals, 'oldestMs' | 'newestMs'> {
  const sorted = [...times].sort((a, b) => a - b);
  return { oldestMs: sorted[0], newestMs: sorted.at(-1) };
}

function placesIn(rows: unknown[]): KeptPlace[] {
  return (rows as [number, number, string, number][]).map(([number, record, place, at]) => ({ number, record, place, at }));
}

export function isFull(answers: readonly StoredAnswer[]): boolean {
  return answers.length >= blockEnd.answers || answers.reduce((sum, { body, key }) => sum + body.length + key.length, 0) >= blockEnd.bytes;
}

/** A stored key that begins with `#` contains its hash. */
export function keyHash(key: string): Buffer {
  return Buffer.from(key.startsWith('#') ? key.slice(1, 33) : hash('sha256', key, 'hex').slice(0, 32), 'hex');
}

/** The chunk of an answer's bit, the byte in it and the bit in that byte. */
export function bitOf(number: number): readonly [chunk: number, byte: number, mask: number] {
  const within = number % chunkBits;
  return [Math.floor(number / chunkBits), within >> 3, 1 << (within & 7)];
}
