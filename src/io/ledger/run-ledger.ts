import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '../../core/ports.ts';
import { isOwnerAlive, ownerText } from '../files/lock.ts';
import { statOf } from '../files/stat.ts';
import type { Account, Book, Hold } from './book.ts';
import { type Month, monthOf } from './month.ts';
import { createSentLog, type SentLog, sentSince } from './sent-log.ts';

/** What a node's actions cost, and on which account. */
export interface Price {
  readonly account: Account;
  /** Of one action. */
  readonly credits: number;
}

/** What a run's ledger is made of. */
export interface RunLedgerOptions {
  /** The run's UUID. */
  readonly run: string;
  readonly home: string;
  /** By node id. */
  readonly prices: ReadonlyMap<string, Price>;
  /** How many credits the run may spend; absent for any number. */
  readonly most: number | undefined;
  /** What an earlier part of the run has spent. */
  readonly before: number;
  /** How many credits it takes from the book at a time; absent for the usual number. */
  readonly block?: number;
  wallNow(): number;
}

/** The credits of one run. */
export interface RunLedger extends Ledger {
  /** Notes on disk what was held: before anything of it is sent. */
  flush(): void;
  /** What its finished actions have cost. */
  spent(): number;
  /** Writes down what is not in the book yet; the second time it does nothing. Answers how much of the allowance is used; absent without one. */
  close(): Usage | undefined;
}

/** How much of a month's allowance is used. */
export interface Usage {
  readonly month: string;
  readonly spent: number;
  readonly limit: number;
}

/** Sums of prices such as 0.7 are off by less. */
const rounding = 1e-6;

/** The book is asked once in so many actions. */
const usualBlock = 1024;

/** Makes the ledger of a run. Without a book only the run's own budget is watched. */
export function createRunLedger(options: RunLedgerOptions, book: Book | undefined): RunLedger {
  const { block = usualBlock } = options;
  const owner = ownerText();
  const ids = [...options.prices.keys()];
  const prices = [...options.prices.values()];
  const cheapest = Math.min(...prices.map(({ credits }) => credits));
  const numbers = new Map(ids.map((id, number) => [id, number]));
  const unwritten = prices.map(() => 0);
  let month: Month = { name: '', endMs: 0 };
  let log: SentLog | undefined;
  let logged = 0;
  let loggedInBook = 0;
  let total = options.before;
  /** What is taken from the book and not yet given to an action. */
  let available = 0;
  /** Whether the book has no more to give. */
  let isLast = false;
  /** Of actions under way and finished ones. */
  let taken = 0;
  let spent = 0;
  let isClosed = false;
  let usage: Usage | undefined;
  return {
    hold(node) {
      const number = numberOf(node);
      const { credits } = prices[number] as Price;
      if (isOver(credits)) return spentText(options.most as number);
      const refusal = book && reserve(book, credits);
      if (refusal !== undefined) return refusal;
      add(number, credits);
      return undefined;
    },
    settle(node, cost) {
      const number = numberOf(node);
      const { credits } = prices[number] as Price;
      if (cost !== undefined && cost !== credits) add(number, cost - credits);
      spent += cost ?? credits;
    },
    release(node) {
      const number = numberOf(node);
      add(number, -(prices[number] as Price).credits);
    },
    // What was too much for one action may still be enough for a cheaper one.
    usedUp: () => (isOver(cheapest) ? spentText(options.most as number) : book && reserve(book, cheapest)),
    affords(actions) {
      if (options.most === undefined && (!book || (log && !isLast))) return true;
      const credits = actions.reduce((sum, [node, count]) => sum + count * (prices[numberOf(node)] as Price).credits, 0);
      if (isOver(credits)) return false;
      // The first records are begun before anything is held; and what a run has got is not all that there is.
      if (book && (!log || isLast)) reserve(book, cheapest, credits);
      return !isLast || available >= credits - rounding;
    },
    flush: () => log?.flush(),
    spent: () => spent,
    close() {
      if (!book || isClosed) return usage;
      isClosed = true;
      try {
        if (log) settleAll(book, log);
        usage = usageOf(book, monthOf(options.wallNow()).name);
        return usage;
      } finally {
        book.close();
      }
    },
  };

  function isOver(credits: number): boolean {
    return options.most !== undefined && taken + credits > options.most + rounding;
  }

  function numberOf(node: string): number {
    return numbers.get(node) as number;
  }

  function add(number: number, credits: number): void {
    taken += credits;
    if (!book) return;
    log?.add(number, credits);
    logged++;
    available -= credits;
    unwritten[number] = (unwritten[number] as number) + credits;
  }

  /** Why the book has not enough left; absent when there is. `needed`: as much of it as can be had would be welcome. */
  function reserve(book: Book, credits: number, needed = 0): string | undefined {
    const nowMs = options.wallNow();
    if (nowMs >= month.endMs) turnOver(book, monthOf(nowMs));
    if (available >= Math.max(credits, needed) - rounding) return undefined;
    log ??= createSentLog(logPath(options.home, options.run));
    available = renewed(book, credits, needed);
    if (available < credits - rounding && settleDead(book, options)) available = renewed(book, credits, needed);
    return available < credits - rounding ? usedUp(book, month, options.run) : undefined;
  }

  /** What was spent until now belongs to the month that has ended. */
  function turnOver(book: Book, next: Month): void {
    if (log) renewed(book, 0);
    month = next;
    available = 0;
  }

  function renewed(book: Book, least: number, needed = 0): number {
    log?.flush();
    const accounts = prices.map(({ account }) => account);
    const totalNow = unwritten.reduce((sum, credits) => sum + credits, total);
    const hold = { run: options.run, owner, month: month.name, accounts, logged, total: totalNow };
    const wanted = Math.max(block + needed, least);
    const granted = book.renew(hold, unwritten, wanted, least, needed);
    isLast = granted < wanted;
    // Only what is in the book for sure is no longer to be written.
    total = totalNow;
    unwritten.fill(0);
    loggedInBook = logged;
    return granted;
  }

  /** The log is kept until all of it is in the book: whoever comes next reads it there. */
  function settleAll(book: Book, log: SentLog): void {
    log.flush();
    // Where somebody took this run for dead, what he wrote down may be counted twice, but never not at all.
    if (!book.settle(options.run, loggedInBook, unwritten)) {
      renewed(book, 0);
      book.settle(options.run, loggedInBook, unwritten);
    }
    log.remove();
  }
}

/** How much of the allowance of a month is used; absent without one. */
export function usageOf(book: Book, month: string): Usage | undefined {
  const limit = book.limit();
  if (limit === undefined) return undefined;
  return { month, limit, spent: book.spent(month).reduce((sum, { credits }) => sum + credits, 0) };
}

/** The same as it will be once what dead runs have left open is in the book, and what others hold. Nothing is written. */
export function usageToBe(book: Book, month: string, where: Home): (Usage & { readonly held: number }) | undefined {
  const usage = usageOf(book, month);
  const dead = deadHolds(book, where).filter((hold) => hold.month === month);
  const open = dead.flatMap((hold) => spentSince(where.home, hold)).reduce((sum, credits) => sum + credits, 0);
  const ended = dead.map(({ run }) => run);
  return usage && { ...usage, spent: usage.spent + open, held: heldIn(book, month, ended) };
}

/** What runs hold of a month's allowance and have not spent. `except`: runs that do not count. */
export function heldIn(book: Book, month: string, except: readonly string[] = []): number {
  return book.holds().reduce((sum, hold) => (except.includes(hold.run) || hold.month !== month ? sum : sum + hold.credits), 0);
}

function usedUp(book: Book, month: Month, run: string): string {
  const held = heldIn(book, month.name, [run]);
  const others = held > 0 ? `, or held by runs under way (${shown(Math.ceil(held))})` : '';
  return `the allowance of ${shown(book.limit() ?? 0)} credits for ${month.name} is used up${others} (automate credits limit changes it)`;
}

function shown(credits: number): string {
  return credits.toLocaleString('en-US', { maximumFractionDigits: 4 });
}

function logPath(home: string, run: string): string {
  return join(home, 'runs', `${run}.credits`);
}

/** Where nobody can look whether a process is alive: after so long without an action it is not. */
const silentMs = 86_400_000;

type Home = Pick<RunLedgerOptions, 'home' | 'wallNow'>;

/** Writes down what runs have spent whose process is dead; answers whether there were any. Their holds end. */
export function settleDead(book: Book, where: Home & { readonly run?: string }): boolean {
  return deadHolds(book, where)
    .map((hold) => settleHold(book, where.home, hold, 0))
    .includes(true);
}

/** The holds of runs whose process is dead; `run` is not asked about. */
function deadHolds(book: Book, { home, wallNow, run }: Home & { readonly run?: string }): Hold[] {
  const isRecent = (other: string) => wallNow() - (statOf(logPath(home, other))?.mtimeMs ?? 0) < silentMs;
  return book.holds().filter((hold) => hold.run !== run && !isOwnerAlive(hold.owner, () => isRecent(hold.run)));
}

/** Writes down what an earlier part of a run has spent, before the run goes on: no less than its journal says. */
export function settleEarlier(book: Book, home: string, run: string, journalCredits: number): void {
  const hold = book.holds().find((other) => other.run === run);
  if (hold) settleHold(book, home, hold, journalCredits);
}

function settleHold(book: Book, home: string, hold: Hold, least: number): boolean {
  const spent = spentSince(home, hold);
  const total = spent.reduce((sum, credits) => sum + credits, hold.total);
  if (least > total && spent.length > 0) spent[0] = (spent[0] as number) + least - total;
  const isSettled = book.settle(hold.run, hold.logged, spent);
  if (isSettled) rmSync(logPath(home, hold.run), { force: true });
  return isSettled;
}

/** What a run has spent on each account that is not in the book. Without its log it may have spent all that it held. */
function spentSince(home: string, { run, logged, accounts, credits }: Hold): number[] {
  return sentSince(logPath(home, run), logged, accounts.length) ?? accounts.map((_, index) => (index === 0 ? credits : 0));
}

function spentText(most: number): string {
  return most === 1 ? 'the 1 credit of --max-credits is used up' : `the ${shown(most)} credits of --max-credits are used up`;
}
