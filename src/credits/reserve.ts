import type { CodedMessage } from '../core/error-code.ts';
import { ownerText } from '../files/owner.ts';
import { type Account, type Book, type Month, monthOf, rounding } from './book.ts';
import { type Home, type MonthlyUsage, SentLog, sentLogPath, settleDead, usageOf } from './holds.ts';
import { type PayingKey, type Rest, smallestRest, usedUpRest } from './rest.ts';

interface ReserveOptions extends Home {
  readonly run: string;
  readonly accounts: readonly Account[];
  /** Number of credits that the run had already spent when it was resumed. */
  readonly before: number;
  /** Number of credits that are reserved at a time. With larger blocks, the credit book is accessed less often. */
  readonly block: number;
  /** The API key that pays for the run; undefined if the run was started on the command line. */
  readonly key?: PayingKey;
}

/** A run's reserved credits, including the spent ones. Spent credits are first written to the run's log, and later added to the book. */
export class Reserve {
  readonly #book: Book;
  readonly #options: ReserveOptions;
  readonly #owner = ownerText();
  /** For each account, the spent credits that are not in the credit book yet. */
  readonly #unwritten: number[];
  /** The run's credit log; undefined until the run first needs credits. */
  #log: SentLog | undefined;
  #month: Month = { name: '', endMs: 0 };
  #available = 0;
  /** True if the last request was granted fewer credits than it asked for, because not enough remain. */
  #isLast = false;
  #logged = 0;
  #loggedInBook = 0;
  /** Number of this run's credits that have already been added to the credit book. */
  #total: number;
  #isClosed = false;
  #usedUp: Rest | undefined;

  constructor(book: Book, options: ReserveOptions) {
    this.#book = book;
    this.#options = options;
    this.#unwritten = options.accounts.map(() => 0);
    this.#total = options.before;
  }

  /** Reserves more if fewer than `credits` or `needed` are available. Returns the reason if fewer than `credits` are even then. */
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

  /** True if the run has this many credits, or if the credit book might still grant them. `min` is the price of the cheapest action. */
  affords(credits: number, min: number): boolean {
    // Requests credits if the run has not requested any yet. Also requests credits if the last request was not granted in full, because
    // more may be available now.
    if (!this.#log || this.#isLast) this.ensure(min, credits);
    return !this.#isLast || this.#covers(credits);
  }

  /** Returns infinity unless the credit book refuses more at the moment. */
  left(): number {
    return this.#isLast ? this.#available : Number.POSITIVE_INFINITY;
  }

  /** A negative number is a refund. */
  charge(account: number, credits: number): void {
    this.#log?.add(account, credits);
    this.#logged++;
    this.#available -= credits;
    this.#unwritten[account] = (this.#unwritten[account] as number) + credits;
  }

  /** Writes the charged credits to the run's credit log. It must be called before the requests that cost them are sent. */
  flush(): void {
    this.#log?.flush();
  }

  /**
   * Adds all spent credits to the credit book and closes the book. Returns how much of the monthly allowance has been spent. It is
   * undefined if there is no allowance, or if this is not the first call.
   */
  close(): MonthlyUsage | undefined {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    try {
      if (this.#log) this.#settle(this.#log);
      return usageOf(this.#book, monthOf(this.#options.wallNow()).name);
    } finally {
      this.#book.close();
    }
  }

  /** Returns the monthly limit that caused the last refusal of credits; undefined if no credits were refused. */
  usedUp(): Rest | undefined {
    return this.#usedUp;
  }

  /** Adds the spent credits to the credit book, and releases the reserved credits that were not spent. */
  giveBack(): void {
    if (!this.#log || this.#isClosed || (this.#available === 0 && this.#logged === this.#loggedInBook)) return;
    this.#renew(0, 0, 0);
    this.#available = 0;
  }

  #covers(credits: number): boolean {
    return this.#available >= credits - rounding;
  }

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
    // The fields are changed only after the transaction, because after a failed transaction, the spent credits are not in the credit book
    // yet.
    this.#isLast = granted < credits;
    this.#total = total;
    this.#unwritten.fill(0);
    this.#loggedInBook = this.#logged;
    return granted;
  }

  /** If the process dies before the log is deleted, another process adds the credits from the log. */
  #settle(log: SentLog): void {
    log.flush();
    const settle = () => this.#book.settle(this.#options.run, this.#loggedInBook, this.#unwritten);
    if (!settle()) {
      // Another process took this run for dead and has added its logged credits to the credit book. Adding the credits here may count some
      // of them twice, but does not lose any.
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
