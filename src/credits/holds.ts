import { rmSync } from 'node:fs';
import { livingOwner } from '../files/owner.ts';
import { statOf } from '../files/stat.ts';
import type { Book, Hold } from './book.ts';
import { sentLogPath, sentSince } from './sent-log.ts';

/** The home folder, which contains the credit book and the runs' credit logs, and the clock. */
export interface Home {
  readonly home: string;
  wallNow(): number;
}

/** The credits that all runs have spent in a month, and the monthly allowance. */
export interface Usage {
  readonly month: string;
  readonly spent: number;
  readonly limit: number;
}

/** Returns how much of the monthly allowance has been spent in a month; undefined if there is no allowance. */
export function usageOf(book: Book, month: string): Usage | undefined {
  const limit = book.limit();
  if (limit === undefined) return undefined;
  return { month, limit, spent: book.spent(month).reduce((sum, { credits }) => sum + credits, 0) };
}

/**
 * Returns how much of the monthly allowance has been spent, and how many credits living runs have reserved. Credits in the logs of dead
 * runs count as spent, but the credit book is not changed. It is undefined if there is no allowance.
 */
export function usageWithHolds(book: Book, month: string, where: Home): (Usage & { readonly held: number }) | undefined {
  const usage = usageOf(book, month);
  const dead = deadHolds(book, where).filter((hold) => hold.month === month);
  const unsettled = dead.flatMap((hold) => spentSince(where.home, hold)).reduce((sum, credits) => sum + credits, 0);
  const held = heldCredits(
    book,
    month,
    dead.map(({ run }) => run),
  );
  return usage && { ...usage, spent: usage.spent + unsettled, held };
}

/** Returns the number of credits that are reserved in a month, except by the runs in `except`. */
export function heldCredits(book: Book, month: string, except: readonly string[] = []): number {
  return book.holds().reduce((sum, hold) => (except.includes(hold.run) || hold.month !== month ? sum : sum + hold.credits), 0);
}

/** A run on another machine counts as dead if its credit log has not changed for this many ms. */
const silentMs = 86_400_000;

/**
 * Adds the spent credits of dead runs to the credit book, and releases the credits that these runs had reserved. Returns true if there were
 * any dead runs. `run` never counts as dead.
 */
export function settleDead(book: Book, where: Home & { readonly run?: string }): boolean {
  return deadHolds(book, where)
    .map((hold) => settleHold(book, where.home, hold, 0))
    .includes(true);
}

function deadHolds(book: Book, { home, wallNow, run }: Home & { readonly run?: string }): Hold[] {
  const isRecent = (other: string) => wallNow() - (statOf(sentLogPath(home, other))?.mtimeMs ?? 0) < silentMs;
  return book.holds().filter((hold) => hold.run !== run && !livingOwner(hold.owner, () => isRecent(hold.run)));
}

/**
 * Adds the spent credits of a run to the credit book before the run is resumed. If its journal contains more credits than its log,
 * `journalCredits` are added instead.
 */
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

/**
 * Returns a run's spent credits that are not in the credit book yet, for each account. If the run's credit log is missing, all its reserved
 * credits count as spent.
 */
function spentSince(home: string, { run, logged, accounts, credits }: Hold): number[] {
  return sentSince(sentLogPath(home, run), logged, accounts.length) ?? accounts.map((_, index) => (index === 0 ? credits : 0));
}
