import type { CodedMessage } from '../../core/error-code.ts';
import type { Ledger } from '../../core/ports.ts';
import { type Account, type Book, rounding } from './book.ts';
import type { Home, Usage } from './holds.ts';
import { Reserve } from './reserve.ts';
import { formatCredits, type PayingKey, type Rest } from './rest.ts';

/** The price of a node's actions, and the account that pays them. */
export interface Price {
  readonly account: Account;
  /** Per action. */
  readonly credits: number;
}

/** The prices and limits of a run. */
export interface RunLedgerOptions extends Home {
  /** The run's UUID. */
  readonly run: string;
  /** By node id. */
  readonly prices: ReadonlyMap<string, Price>;
  /** The credits that the run may spend; absent for unlimited. */
  readonly max: number | undefined;
  /** Credits that earlier parts of the run have spent. */
  readonly before: number;
  /** Credits that it takes from the book at a time. */
  readonly block?: number;
  /** The API key that pays; absent for a command. */
  readonly key?: PayingKey | undefined;
}

const defaultBlock = 1024;

/** The credits of one run: its own maximum and, with a book, the monthly allowance and the quota of its key. */
export class RunLedger implements Ledger {
  /** True if an allowance, its key's quota or the run's own maximum limits it. */
  readonly isLimited: boolean;
  /** By node id, each with the index of its account. */
  readonly #prices: ReadonlyMap<string, { readonly credits: number; readonly account: number }>;
  readonly #cheapest: number;
  readonly #max: number;
  readonly #reserve: Reserve | undefined;
  /** Credits of this part's actions, under way and finished: each part of a run may spend the maximum. */
  #held = 0;
  #spent = 0;

  /** `close` also closes the book. Without a book, only the run's own maximum counts. */
  constructor(
    { prices, max = Number.POSITIVE_INFINITY, before, block = defaultBlock, ...where }: RunLedgerOptions,
    book: Book | undefined,
  ) {
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

  release(node: string): void {
    this.#charge(node, -this.#priceOf(node).credits);
  }

  // Where an action was too expensive, a cheaper one may still be possible.
  usedUp(): CodedMessage | undefined {
    return this.#refusalOf(this.#cheapest);
  }

  affords(actions: readonly (readonly [node: string, count: number])[]): boolean {
    const credits = actions.reduce((sum, [node, count]) => sum + count * this.#priceOf(node).credits, 0);
    return !this.#exceedsMax(credits) && (this.#reserve?.affords(credits, this.#cheapest) ?? true);
  }

  /** The credits that the run may still spend, as far as it knows; infinite without a limit. */
  left(): number {
    return Math.min(this.#max - this.#held, this.#reserve?.left() ?? Number.POSITIVE_INFINITY);
  }

  /** Writes held credits to disk, before their requests are sent. */
  flush(): void {
    this.#reserve?.flush();
  }

  /** Credits that the finished actions of this part of the run have cost. */
  spent(): number {
    return this.#spent;
  }

  /**
   * Writes the remaining credits to the book. Returns the used part of the allowance; undefined without an allowance and on a second call.
   */
  close(): Usage | undefined {
    return this.#reserve?.close();
  }

  /** The limit that refused the last refused action; undefined if no action was refused, or the run's own maximum refused it. */
  limitReached(): Rest | undefined {
    return this.#reserve?.usedUp();
  }

  /** Writes the spent credits to the book, and returns the unspent part of the hold: for a ledger that stays open without actions. */
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
  const message = credits === 1 ? 'the 1 credit of this run is used up' : `the ${formatCredits(credits)} credits of this run are used up`;
  return { message, code: 'max-credits', details: { credits } };
}
