import type Database from 'libsql';
import { inTransaction, openDatabase } from '../files/database.ts';
import { answerOf, checksumOf, damage, type KeptAnswer, type NewAnswer, packedOf, type Row } from './cached-answer.ts';

/** How much is kept: headers and bodies. */
export interface Amount {
  readonly answers: number;
  readonly bytes: number;
}

/** The file of answers. Keys are SHA-256 hashes in hex. Every method is one transaction, and throws what libsql throws. */
export interface AnswersFile {
  find(key: string): KeptAnswer | undefined;
  /** Keeps answers, and takes some of what has come to its end or is too much away: the oldest first. Answers whether there is more of that. */
  keep(answers: ReadonlyMap<string, NewAnswer>, nowMs: number, mostBytes: number): boolean;
  amount(): Amount;
  /** When the oldest and the newest answer were kept; absent when there is none. */
  span(): { readonly oldestMs: number; readonly newestMs: number } | undefined;
  /** Takes everything away, and gives the disk back what it took. */
  clear(): Amount;
  /** How long another process is waited for from now on. */
  waitFor(ms: number): void;
  close(): void;
}

/** The newest answer has the highest number. */
const schema = `
create table answers (
  number integer primary key, key blob not null unique, kept_at integer not null, ends_at integer not null,
  bytes integer not null, checksum integer not null, answer blob not null
);
create index answers_end on answers (ends_at);
create table amount (answers integer not null, bytes integer not null);
insert into amount values (0, 0);`;

/** The version of the tables above. */
const version = 1;

/** So many answers are taken away at a time, and so often in one transaction. */
const mostGone = { atOnce: 500, times: 10 };

/** Opens the file of answers, which is made when there is none. */
export function openAnswers(path: string, timeoutMs: number): AnswersFile {
  const database = openDatabase(path, { schema, version, timeoutMs });
  try {
    return answersOf(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

interface Taken {
  readonly number: number;
  readonly bytes: number;
}

/** Every column is cast: in a damaged file anything may be anything, and libsql ends the process over a text that is no UTF-8. */
const taken = 'select number, cast(bytes as integer) as bytes from answers';

function answersOf(database: Database.Database): AnswersFile {
  const found = database.prepare('select cast(checksum as integer), cast(answer as blob) from answers where key = ?').raw();
  const ofKey = database.prepare(`${taken} where key = ?`);
  const ended = database.prepare(`${taken} where ends_at <= ? order by ends_at limit ?`);
  const oldest = database.prepare(`${taken} order by number limit ?`);
  const add = database.prepare('insert into answers values (null, ?, ?, ?, ?, ?, ?)');
  const remove = database.prepare('delete from answers where number = ?');
  const change = database.prepare('update amount set answers = answers + ?, bytes = bytes + ?');
  const total = database.prepare('select cast(answers as integer) as answers, cast(bytes as integer) as bytes from amount');
  const edge = (order: string) => database.prepare(`select cast(kept_at as integer) as ms from answers order by number ${order} limit 1`);
  const amount = () => amountOf(total.get());

  let reading: NodeJS.Immediate | undefined;

  return {
    find(key) {
      beginReading();
      const bytes = Buffer.from(key, 'hex');
      // A single parameter that is an object would be taken for names and values.
      const row = found.get([bytes]) as Row | undefined;
      return row && answerOf(bytes, row);
    },
    keep(answers, nowMs, mostBytes) {
      if (answers.size === 0 && !isAnythingOver(nowMs, mostBytes)) return false;
      endReading();
      return inTransaction(database, () => {
        for (const [key, answer] of answers) put(Buffer.from(key, 'hex'), answer, mostBytes);
        for (let times = 0; times < mostGone.times && isAnythingOver(nowMs, mostBytes); times++) {
          takeAway(ended.all(nowMs, mostGone.atOnce) as Taken[]);
          takeAway(surplus(amount().bytes - mostBytes));
        }
        return isAnythingOver(nowMs, mostBytes);
      });
    },
    amount,
    span() {
      const [first, last] = ['asc', 'desc'].map((order) => edge(order).get() as { ms: number } | undefined);
      return first && last && { oldestMs: first.ms, newestMs: last.ms };
    },
    clear() {
      const gone = inTransaction(database, () => {
        const before = amount();
        database.exec('delete from answers; update amount set answers = 0, bytes = 0');
        return before;
      });
      database.exec('VACUUM');
      return gone;
    },
    waitFor: (ms) => database.exec(`PRAGMA busy_timeout = ${ms}`),
    close() {
      endReading();
      shorten();
      database.close();
    },
  };

  /** What is read in one turn is one transaction: most of the time of a small one goes into its beginning and its end. */
  function beginReading(): void {
    if (reading !== undefined) return;
    database.exec('BEGIN');
    reading = setImmediate(endReading);
  }

  function endReading(): void {
    clearImmediate(reading);
    reading = undefined;
    if (database.inTransaction) database.exec('ROLLBACK');
  }

  /** Brings everything from the log into the file, unless others are at it: the next run need not read the log. */
  function shorten(): void {
    try {
      database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // What is in the log is kept just as well.
    }
  }

  function isAnythingOver(nowMs: number, mostBytes: number): boolean {
    return amount().bytes > mostBytes || ended.get(nowMs, 1) !== undefined;
  }

  /** One that is larger than everything together may be is not kept. */
  function put(key: Buffer, answer: NewAnswer, mostBytes: number): void {
    const packed = packedOf(answer);
    if (packed.length > mostBytes) return;
    takeAway(ofKey.all([key]) as Taken[]);
    add.run(key, answer.keptAtMs, answer.endMs, packed.length, checksumOf(key, packed), packed);
    change.run(1, packed.length);
  }

  /** The oldest answers that together are so many bytes. */
  function surplus(bytes: number): Taken[] {
    if (bytes <= 0) return [];
    const candidates = oldest.all(mostGone.atOnce) as Taken[];
    if (candidates.length === 0) throw damage();
    let left = bytes;
    return candidates.filter((candidate) => {
      const isSurplus = left > 0;
      left -= candidate.bytes;
      return isSurplus;
    });
  }

  function takeAway(gone: readonly Taken[]): void {
    if (gone.length === 0) return;
    for (const { number } of gone) remove.run(number);
    const bytes = gone.reduce((sum, answer) => sum + answer.bytes, 0);
    change.run(-gone.length, -bytes);
  }
}

function amountOf(row: unknown): Amount {
  if (row === undefined) throw damage();
  const { answers, bytes } = row as Amount;
  return { answers, bytes };
}
