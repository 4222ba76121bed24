import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUndefined } from '../core/value/value.ts';
import { makeFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import { livingOwner } from '../files/owner.ts';
import { isLink, statOf } from '../files/stat.ts';
import { type Book, bookPath, type Hold, openBook } from './book.ts';

export interface Home {
  readonly home: string;
  wallNow(): number;
}

/** The credits that all runs have spent in a month, and the monthly allowance. */
export interface MonthlyUsage {
  readonly month: string;
  readonly spent: number;
  readonly limit: number;
}

/** Undefined if there is no allowance. */
export function usageOf(book: Book, month: string): MonthlyUsage | undefined {
  const limit = book.limit();
  if (limit === undefined) return undefined;
  return { month, limit, spent: book.spent(month).reduce((sum, { credits }) => sum + credits, 0) };
}

/** Credits in the logs of dead runs count as spent, but the book is not changed. Undefined if there is no allowance. */
export function usageWithHolds(book: Book, month: string, where: Home): (MonthlyUsage & { readonly held: number }) | undefined {
  const usage = usageOf(book, month);
  const dead = deadHolds(book, where).filter((hold) => hold.month === month);
  const unsettled = dead.flatMap((hold) => spentSince(where.home, hold)).reduce((sum, credits) => sum + credits, 0);
  const runs = dead.map(({ run }) => run);
  return usage && { ...usage, spent: usage.spent + unsettled, held: heldCredits(book, month, runs) };
}

/** Returns the number of credits that are reserved in a month, except by the runs in `except`. */
export function heldCredits(book: Book, month: string, except: readonly string[] = []): number {
  return book.holds().reduce((sum, hold) => (except.includes(hold.run) || hold.month !== month ? sum : sum + hold.credits), 0);
}

/** A run on another machine counts as dead if its credit log has not changed for this many ms. */
const silentMs = 86_400_000;

/** Adds the spent credits of dead runs to the book, and releases their holds. True if there were any. `run` never counts as dead. */
export function settleDead(book: Book, where: Home & { readonly run?: string }): boolean {
  return deadHolds(book, where)
    .map((hold) => settleHold(book, where.home, hold, 0))
    .includes(true);
}

/** Opens the credit book of a home folder, and creates it if there is none. First counts as spent what dead runs had sent. */
export function withBook<Result>(where: Home, act: (book: Book) => Result): Result {
  const book = openBook(bookPath(where.home));
  try {
    settleDead(book, where);
    return act(book);
  } finally {
    book.close();
  }
}

function deadHolds(book: Book, { home, wallNow, run }: Home & { readonly run?: string }): Hold[] {
  const isRecent = (other: string) => wallNow() - (statOf(sentLogPath(home, other))?.mtimeMs ?? 0) < silentMs;
  return book.holds().filter((hold) => hold.run !== run && !livingOwner(hold.owner, () => isRecent(hold.run)));
}

/** Settles a run before it is resumed. If its journal contains more credits than its log, adds `journalCredits` instead. */
export function settleEarlier(book: Book, home: string, run: string, journalCredits: number): void {
  const hold = book.holds().find((other) => other.run === run);
  if (hold) settleHold(book, home, hold, journalCredits);
}

function settleHold(book: Book, home: string, hold: Hold, min: number): boolean {
  const spent = spentSince(home, hold);
  const total = spent.reduce((sum, credits) => sum + credits, hold.total);
  if (min > total && spent.length > 0) spent[0] = (spent[0] as number) + min - total;
  const isSettled = book.settle(hold.run, hold.logged, spent);
  if (isSettled) rmSync(sentLogPath(home, hold.run), { force: true });
  return isSettled;
}

/** The spent credits of each account that are not in the book yet. If the run's log is missing, its whole reservation counts as spent. */
function spentSince(home: string, { run, logged, accounts, credits }: Hold): number[] {
  return sentSince(sentLogPath(home, run), logged, accounts.length) ?? accounts.map((_, index) => (index === 0 ? credits : 0));
}

/** Size of a log entry in bytes: 2 for the account's index and 8 for the credits. */
const entryBytes = 10;

const maxBuffered = 1024;

export function sentLogPath(home: string, run: string): string {
  return join(home, 'runs', `${run}.credits`);
}

/** Credits are logged before the requests that cost them, so that another run can settle them if the process is killed. */
export class SentLog {
  readonly #path: string;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(entryBytes * maxBuffered);
  #bufferedBytes = 0;
  #writtenBytes = 0;

  /** Creates the credit log of a run, in place of any earlier one. Throws an AutomateError (`output`) if the file cannot be written. */
  constructor(path: string) {
    this.#path = path;
    this.#file = namingErrors(path, 'written', () => {
      const folder = dirname(path);
      if (isLink(folder)) throw new Error(`${folder} is a symbolic link\nremove it, or move the home folder with AUTOMATE_HOME`);
      makeFolder(folder);
      rmSync(path, { force: true });
      return openSync(path, 'wx', 0o600);
    });
  }

  /** A negative number of credits is a refund. */
  add(account: number, credits: number): void {
    if (this.#bufferedBytes === this.#buffer.length) this.flush();
    this.#buffer.writeUInt16LE(account, this.#bufferedBytes);
    this.#buffer.writeDoubleLE(credits, this.#bufferedBytes + 2);
    this.#bufferedBytes += entryBytes;
  }

  /** Must be called before the requests that cost these credits are sent. Throws an AutomateError (`output`) if writing fails. */
  flush(): void {
    if (this.#bufferedBytes === 0) return;
    try {
      const written = writeSync(this.#file, this.#buffer, 0, this.#bufferedBytes, this.#writtenBytes);
      if (written < this.#bufferedBytes) throw new Error('no space left on device');
      this.#writtenBytes += written;
      this.#bufferedBytes = 0;
    } catch (error) {
      // Removes an entry that was written only in part, because all later entries would be misread. The next flush writes the whole buffer
      // again.
      ftruncateSync(this.#file, this.#writtenBytes);
      throw fileError(this.#path, 'written', error);
    }
  }

  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }
}

/** Returns the sum of the logged credits for each account, without the first `entries` entries. Undefined if there is no log. */
export function sentSince(path: string, entries: number, accounts: number): number[] | undefined {
  const sums = new Array<number>(accounts).fill(0);
  const bytes = isLink(path) ? undefined : orUndefined(() => readFileSync(path));
  if (!bytes) return undefined;
  for (let at = entries * entryBytes; at + entryBytes <= bytes.length; at += entryBytes) {
    const account = bytes.readUInt16LE(at);
    if (account < accounts) sums[account] = (sums[account] as number) + bytes.readDoubleLE(at + 2);
  }
  return sums;
}
