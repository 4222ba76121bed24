import type { CodedMessage } from '../core/error-code.ts';
import type { Ledger } from '../core/ports.ts';
import { creditText } from '../core/text/number.ts';
import { type Account, type Book, rounding } from './book.ts';
import type { Home, MonthlyUsage } from './holds.ts';
import { Reserve } from './reserve.ts';
import type { PayingKey, Rest } from './rest.ts';

export interface Price {
  readonly account: Account;
  readonly credits: number;
}

export interface RunPrices extends Home {
  readonly run: string;
  readonly prices: ReadonlyMap<string, Price>;
  /** Undefined if the run has no maximum. */
  readonly max: number | undefined;
  /** Number of credits that the run had already spent when it was resumed. */
  readonly before: number;
  /** Number of credits that are reserved in the credit book at a time. */
  readonly block?: number;
  readonly key?: PayingKey;
}

const defaultBlock = 1024;

/** Enforces the run's own maximum and, if there is a credit book, the monthly allowance and the API key's quota. */
export class RunLedger implements Ledger {
  readonly isLimited: boolean;
  readonly #prices: ReadonlyMap<string, { readonly credits: number; readonly account: number }>;
  readonly #cheapest: number;
  readonly #max: number;
  readonly #reserve: Reserve | undefined;
  /** Credits of all actions in progress or finished, except those before a resume: a resumed run may spend its maximum again. */
  #held = 0;
  #spent = 0;

  /** If `book` is undefined, only the run's own maximum applies. `close` also closes the credit book. */
  constructor({ prices, max = Number.POSITIVE_INFINITY, before, block = defaultBlock, ...where }: RunPrices, book: Book | undefined) {
    const accounts = [...prices.values()].map(({ account }) => account);
    this.#prices = new Map([...prices].map(([node, { credits }], account) => [node, { credits, account }]));
    this.#cheapest = Math.min(...[...prices.values()].map(({ credits }) => credits));
    this.#max = max;
    this.isLimited = Number.isFinite(max) || (book !== undefined && (book.limit() ?? where.key?.quota) !== undefined);
    this.#reserve = book && new Reserve(book, { ...where, accounts, before, block });
  }

  hold(node: string): CodedMessage | undefined {
    const { credits } = this.#priceOf(node);
    const refusal = this.#refusalOf(credits);
    if (refusal === undefined) this.#charge(node, credits);
    return refusal;
  }

  settle(node: string, cost?: number): void {
    const { credits } = this.#priceOf(node);
    if (cost !== undefined && cost !== credits) this.#charge(node, cost - credits);
    this.#spent += cost ?? credits;
  }

  /** Counts an action from before a resume whose result is used now. Its credits are already in the book. */
  addEarlier(node: string, cost?: number): void {
    this.#spent += cost ?? this.#priceOf(node).credits;
  }

  release(node: string): void {
    this.#charge(node, -this.#priceOf(node).credits);
  }

  // Checks the price of the cheapest action, because the run can continue as long as it can afford that one.
  usedUp(): CodedMessage | undefined {
    return this.#refusalOf(this.#cheapest);
  }

  affords(actions: readonly (readonly [node: string, count: number])[]): boolean {
    const credits = actions.reduce((sum, [node, count]) => sum + count * this.#priceOf(node).credits, 0);
    return !this.#exceedsMax(credits) && (this.#reserve?.affords(credits, this.#cheapest) ?? true);
  }

  /** Infinity if there is no limit, or if the credit book might grant more. */
  left(): number {
    return Math.min(this.#max - this.#held, this.#reserve?.left() ?? Number.POSITIVE_INFINITY);
  }

  /** Writes the charged credits to the run's credit log. It must be called before the requests that cost them are sent. */
  flush(): void {
    this.#reserve?.flush();
  }

  spent(): number {
    return this.#spent;
  }

  /**
   * Adds all spent credits to the credit book and closes the book. Returns how much of the monthly allowance has been spent. It is
   * undefined if there is no allowance, or if this is not the first call.
   */
  close(): MonthlyUsage | undefined {
    return this.#reserve?.close();
  }

  /** Returns the monthly allowance or quota that caused the last refusal of credits; undefined if no credits were refused. */
  limitReached(): Rest | undefined {
    return this.#reserve?.usedUp();
  }

  /** Settles the spent credits and releases the others. Used for a ledger that stays open while no action runs. */
  giveBack(): void {
    this.#reserve?.giveBack();
  }

  #refusalOf(credits: number): CodedMessage | undefined {
    return this.#exceedsMax(credits) ? maxReached(this.#max) : this.#reserve?.ensure(credits);
  }

  #exceedsMax(credits: number): boolean {
    return this.#held + credits > this.#max + rounding;
  }

  #charge(node: string, credits: number): void {
    this.#held += credits;
    this.#reserve?.charge(this.#priceOf(node).account, credits);
  }

  #priceOf(node: string) {
    return this.#prices.get(node) as { readonly credits: number; readonly account: number };
  }
}

function maxReached(credits: number): CodedMessage {
  const message = credits === 1 ? 'the 1 credit of this run is used up' : `the ${creditText(credits)} credits of this run are used up`;
  return { message, code: 'max-credits', details: { credits } };
}
