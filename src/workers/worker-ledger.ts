import type { CodedMessage } from '../core/error-code.ts';
import { entryOf } from '../core/map-entry.ts';
import type { Clock } from '../core/ports.ts';
import { type Cost, PromptTokens, type Spending, type SpendingRefusal } from '../core/spending.ts';
import type { Price } from '../credits/run-ledger.ts';
import type { PaidLedger } from '../run/wire.ts';
import type { HeldMoney, RunLink } from './run-link.ts';

/** Number of calls for which a worker holds credits at once. */
const blockCalls = 64;

/** Time in ms after which a worker releases unused credits. */
const idleMs = 1000;

/** Holds a worker's credits in its run. It holds them in advance, for many calls at once. */
export class WorkerLedger implements PaidLedger {
  readonly #link: RunLink;
  readonly #prices: ReadonlyMap<string, Price>;
  readonly #clock: Clock;
  /** For each node, the number of calls for which the worker has unused credits. */
  readonly #unused = new Map<string, number>();
  readonly #asking = new Map<string, Promise<void>>();
  #refusal: CodedMessage | undefined;
  /** Infinity if credits are not limited, otherwise 0 until the first answer of the run. */
  #left: number;
  #isScarce = false;
  #usedMs = 0;
  #spent = 0;
  #willRelease = false;

  constructor(link: RunLink, prices: ReadonlyMap<string, Price>, isLimited: boolean, clock: Clock) {
    this.#link = link;
    this.#prices = prices;
    this.#clock = clock;
    this.#left = isLimited ? 0 : Number.POSITIVE_INFINITY;
  }

  ready(node: string): Promise<void> | undefined {
    return this.#unusedAt(node) > 0 || this.#refusal ? undefined : (this.#asking.get(node) ?? this.#holdMore(node));
  }

  hold(node: string): CodedMessage | undefined {
    const unused = this.#unusedAt(node);
    if (unused === 0) return this.#refusal ?? { message: 'the credits of this worker are used up' };
    this.#unused.set(node, unused - 1);
    this.#usedMs = this.#clock.now();
    return undefined;
  }

  settle(node: string, cost?: number): void {
    this.#spent += cost ?? this.#priceOf(node);
    this.#link.add({ kind: 'settle-credits', node, cost });
  }

  release(node: string): void {
    this.#unused.set(node, this.#unusedAt(node) + 1);
    this.#releaseLater();
  }

  usedUp(): CodedMessage | undefined {
    return [...this.#unused.values()].some((calls) => calls > 0) ? undefined : this.#refusal;
  }

  affords(calls: readonly (readonly [node: string, count: number])[]): boolean {
    const missing = calls.reduce((sum, [node, count]) => sum + Math.max(0, count - this.#unusedAt(node)) * this.#priceOf(node), 0);
    return missing <= this.#left;
  }

  flush(): void {
    // Does nothing, because the run wrote the credits to disk before it passed them to this worker.
  }

  spent(): number {
    return this.#spent;
  }

  releaseUnused(): void {
    for (const [node, calls] of this.#unused) if (calls > 0) this.#link.tell({ kind: 'release-credits', node, calls });
    this.#unused.clear();
  }

  #holdMore(node: string): Promise<void> {
    const asking = this.#link.holdCredits(node, blockCalls, this.#isScarce).then(({ calls, refusal, left = Number.POSITIVE_INFINITY }) => {
      this.#asking.delete(node);
      this.#left = left;
      this.#isScarce = calls < blockCalls;
      this.#refusal = refusal;
      this.#unused.set(node, this.#unusedAt(node) + calls);
      this.#usedMs = this.#clock.now();
      this.#releaseLater();
    });
    this.#asking.set(node, asking);
    return asking;
  }

  #releaseLater(): void {
    if (this.#willRelease) return;
    this.#willRelease = true;
    void this.#clock.sleepUntil(this.#usedMs + idleMs).then(() => {
      this.#willRelease = false;
      if (this.#clock.now() - this.#usedMs >= idleMs) this.releaseUnused();
      else this.#releaseLater();
    });
  }

  #unusedAt(node: string): number {
    return this.#unused.get(node) ?? 0;
  }

  #priceOf(node: string): number {
    return this.#prices.get(node)?.credits ?? 0;
  }
}

/** Tracks the money that one node spends in a worker. The run reserves the money for it. */
class WorkerSpending implements Spending {
  readonly #link: RunLink;
  readonly #node: string;
  readonly prompts = new PromptTokens();
  total = 0;

  constructor(link: RunLink, node: string) {
    this.#link = link;
    this.#node = node;
  }

  async hold(max: number, most: () => number): Promise<number | SpendingRefusal> {
    const { held, total }: HeldMoney = await this.#link.holdMoney(this.#node, max, most());
    this.total = total;
    return held;
  }

  settle(held: number | undefined, cost: Cost): void {
    this.#link.tell({ kind: 'settle-money', node: this.#node, held, cost });
  }

  release(held: number): void {
    this.#link.tell({ kind: 'release-money', node: this.#node, held });
  }
}

/** The run reserves the money for the worker's nodes. */
export function workerSpending(link: RunLink): { of(node: string): Spending } {
  const nodes = new Map<string, Spending>();
  return { of: (node) => entryOf(nodes, node, () => new WorkerSpending(link, node)) };
}
