import type { CodedMessage } from '../../core/error-code.ts';
import { ownerText } from '../files/owner.ts';
import { type Account, type Book, type Month, monthOf, rounding } from './book.ts';
import { type Home, settleDead, type Usage, usageOf } from './holds.ts';
import { type PayingKey, type Rest, smallestRest, usedUpRest } from './rest.ts';
import { SentLog, sentLogPath } from './sent-log.ts';

/** A run, its accounts and its home. */
export interface ReserveOptions extends Home {
  /** The run's UUID. */
  readonly run: string;
  readonly accounts: readonly Account[];
  /** Credits that earlier parts of the run have spent. */
  readonly before: number;
  /** Credits to take from the book at a time: the book is read once per block, not once per action. */
  readonly block: number;
  /** The API key that pays; undefined for a command. */
  readonly key?: PayingKey | undefined;
}

/**
 * The credits that one run has taken from the book: a part is spent, the rest is available to its next actions.
 * The log holds spent credits that are not in the book yet.
 */
export class Reserve {
  readonly #book: Book;
  readonly #options: ReserveOptions;
  readonly #owner = ownerText();
  /** Spent credits by account that are not in the book yet. */
  readonly #unwritten: number[];
  /** Undefined until credits are needed for the first time. */
  #log: SentLog | undefined;
  #month: Month = { name: '', endMs: 0 };
  #available = 0;
  /** True once the book gave less than a whole block. */
  #isLast = false;
  #logged = 0;
  #loggedInBook = 0;
  /** Credits of this run that are in the book. */
  #total: number;
  #isClosed = false;
  #usedUp: Rest | undefined;

  constructor(book: Book, options: ReserveOptions) {
    this.#book = book;
    this.#options = options;
    this.#unwritten = options.accounts.map(() => 0);
    this.#total = options.before;
  }

  /**
   * Takes more credits from the book if fewer than `credits` or `needed` are available.
   * Returns the reason if `credits` are still not available.
   */
  ensure(credits: number, needed = 0): CodedMessage | undefined {
    const { wallNow, home, run } = this.#options;
    const nowMs = wallNow();
    if (nowMs >= this.#month.endMs) this.#beginMonth(monthOf(nowMs));
    if (this.#covers(Math.max(credits, needed))) return undefined;
    this.#log ??= new SentLog(sentLogPath(home, run));
    this.#available = this.#renew(credits, needed);
    if (!this.#covers(credits) && settleDead(this.#book, this.#options)) this.#available = this.#renew(credits, needed);
    return this.#covers(credits) ? undefined : this.#refusal();
  }

  /** Returns false once the allowance is too small for `credits` in all. `min`: the price of the cheapest action. */
  affords(credits: number, min: number): boolean {
    // The first records begin before the book has given credits, and the book may have more than one block.
    if (!this.#log || this.#isLast) this.ensure(min, credits);
    return !this.#isLast || this.#covers(credits);
  }

  /** The available credits, once the book has given its last ones; infinite before. */
  left(): number {
    return this.#isLast ? this.#available : Number.POSITIVE_INFINITY;
  }

  /** Charges an account. Negative credits are a refund. */
  charge(account: number, credits: number): void {
    this.#log?.add(account, credits);
    this.#logged++;
    this.#available -= credits;
    this.#unwritten[account] = (this.#unwritten[account] as number) + credits;
  }

  /** Writes charged credits to disk, before their requests are sent. */
  flush(): void {
    this.#log?.flush();
  }

  /**
   * Adds everything to the book and closes it. Returns the used part of the allowance; undefined without an allowance and on a second
   * call.
   */
  close(): Usage | undefined {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    try {
      if (this.#log) this.#settle(this.#log);
      return usageOf(this.#book, monthOf(this.#options.wallNow()).name);
    } finally {
      this.#book.close();
    }
  }

  /** The limit that refused the last refused action; undefined if no action was refused. */
  usedUp(): Rest | undefined {
    return this.#usedUp;
  }

  /** Writes the spent credits to the book, and returns the unspent part of the hold. */
  giveBack(): void {
    if (!this.#log || this.#isClosed || (this.#available === 0 && this.#logged === this.#loggedInBook)) return;
    this.#renew(0, 0, 0);
    this.#available = 0;
  }

  #covers(credits: number): boolean {
    return this.#available >= credits - rounding;
  }

  /** Writes the credits spent until now to the month that has ended. */
  #beginMonth(month: Month): void {
    if (this.#log) this.#renew(0);
    this.#month = month;
    this.#available = 0;
  }

  #renew(min: number, needed = 0, block = this.#options.block): number {
    this.#log?.flush();
    const { run, accounts, key } = this.#options;
    const total = this.#unwritten.reduce((sum, credits) => sum + credits, this.#total);
    const hold = { run, owner: this.#owner, month: this.#month.name, accounts, logged: this.#logged, total, key: key?.id ?? '' };
    const credits = Math.max(block + needed, min);
    const granted = this.#book.renew(hold, this.#unwritten, { credits, min, needed, quota: key?.quota });
    // Only after the transaction: if it fails, these credits are still to be written.
    this.#isLast = granted < credits;
    this.#total = total;
    this.#unwritten.fill(0);
    this.#loggedInBook = this.#logged;
    return granted;
  }

  /** The log stays until all its credits are in the book: if the process dies before, the next process reads them in the log. */
  #settle(log: SentLog): void {
    log.flush();
    const settle = () => this.#book.settle(this.#options.run, this.#loggedInBook, this.#unwritten);
    if (!settle()) {
      // Another process took this run for dead and settled it. Some credits may count twice now, but no credit is missed.
      this.#renew(0);
      settle();
    }
    log.remove();
  }

  #refusal(): CodedMessage {
    const { run, key } = this.#options;
    this.#usedUp = smallestRest(this.#book, { month: this.#month.name, run, key });
    return usedUpRest(this.#usedUp, this.#month, key);
  }
}
