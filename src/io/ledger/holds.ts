import { rmSync } from 'node:fs';
import { livingOwner } from '../files/owner.ts';
import { statOf } from '../files/stat.ts';
import type { Book, Hold } from './book.ts';
import { sentLogPath, sentSince } from './sent-log.ts';

/** The folder of the book and the logs, and the clock. */
export interface Home {
  readonly home: string;
  wallNow(): number;
}

/** The used part of a month's allowance. */
export interface Usage {
  readonly month: string;
  readonly spent: number;
  readonly limit: number;
}

/** The used part of the allowance of a month; absent without an allowance. */
export function usageOf(book: Book, month: string): Usage | undefined {
  const limit = book.limit();
  if (limit === undefined) return undefined;
  return { month, limit, spent: book.spent(month).reduce((sum, { credits }) => sum + credits, 0) };
}

/** The used part of an allowance as if dead runs were settled, and the credits that living runs hold. Writes nothing. */
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

/** Credits of a month that runs hold and have not spent, without the runs in `except`. */
export function heldCredits(book: Book, month: string, except: readonly string[] = []): number {
  return book.holds().reduce((sum, hold) => (except.includes(hold.run) || hold.month !== month ? sum : sum + hold.credits), 0);
}

/** A run on another machine counts as dead after this time without an action. */
const silentMs = 86_400_000;

/** Adds to the book what dead runs have spent, and ends their holds. Returns true if there were dead runs. `run` never counts as dead. */
export function settleDead(book: Book, where: Home & { readonly run?: string }): boolean {
  return deadHolds(book, where)
    .map((hold) => settleHold(book, where.home, hold, 0))
    .includes(true);
}

function deadHolds(book: Book, { home, wallNow, run }: Home & { readonly run?: string }): Hold[] {
  const isRecent = (other: string) => wallNow() - (statOf(sentLogPath(home, other))?.mtimeMs ?? 0) < silentMs;
  return book.holds().filter((hold) => hold.run !== run && !livingOwner(hold.owner, () => isRecent(hold.run)));
}

/** Adds to the book what a run has spent before it is resumed: at least what its journal says. */
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

/** Credits by account that are not in the book yet. If the log is missing, the run may have spent all that it held. */
function spentSince(home: string, { run, logged, accounts, credits }: Hold): number[] {
  return sentSince(sentLogPath(home, run), logged, accounts.length) ?? accounts.map((_, index) => (index === 0 ? credits : 0));
}
