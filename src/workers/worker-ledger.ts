import type { CodedMessage } from '../core/error-code.ts';
import type { Clock } from '../core/ports.ts';
import { PromptTokens, type Spending, type SpendingRefusal } from '../core/spending.ts';
import type { Price } from '../credits/run-ledger.ts';
import type { PaidLedger } from '../run/wire.ts';
import type { HeldMoney, RunLink } from './run-link.ts';

/** Number of calls for which a worker takes credits at once. */
const blockCalls = 64;

/** Time in ms after which a worker returns unused credits to its run. */
const idleMs = 1000;

/** Takes a worker's credits from its run. It takes them in advance, for many calls at once. */
export class WorkerLedger implements PaidLedger {
  readonly #link: RunLink;
  readonly #prices: ReadonlyMap<string, Price>;
  readonly #clock: Clock;
  /** For each node, the number of calls for which the worker has unused credits. */
  readonly #taken = new Map<string, number>();
  readonly #asking = new Map<string, Promise<void>>();
  #refusal: CodedMessage | undefined;
  /** Infinity if credits are not limited, otherwise 0 until the first answer of the run. */
  #left: number;
  #isScarce = false;
  #usedMs = 0;
  #spent = 0;
  #willGiveBack = false;

  constructor(link: RunLink, prices: ReadonlyMap<string, Price>, isLimited: boolean, clock: Clock) {
    this.#link = link;
    this.#prices = prices;
    this.#left = isLimited ? 0 : Number.POSITIVE_INFINITY;
    this.#clock = clock;
  }

  ready(node: string): Promise<void> | undefined {
    return this.#takenAt(node) > 0 || this.#refusal ? undefined : (this.#asking.get(node) ?? this.#take(node));
  }

  hold(node: string): CodedMessage | undefined {
    const taken = this.#takenAt(node);
    if (taken === 0) return this.#refusal ?? { message: 'the credits of this worker are used up' };
    this.#taken.set(node, taken - 1);
    this.#usedMs = this.#clock.now();
    return undefined;
  }

  settle(node: string, cost?: number): void {
    this.#spent += cost ?? this.#priceOf(node);
    this.#link.settle(node, cost);
  }

  release(node: string): void {
    this.#taken.set(node, this.#takenAt(node) + 1);
    this.#giveBackLater();
  }

  usedUp(): CodedMessage | undefined {
    return [...this.#taken.values()].some((calls) => calls > 0) ? undefined : this.#refusal;
  }

  affords(calls: readonly (readonly [node: string, count: number])[]): boolean {
    const missing = calls.reduce((sum, [node, count]) => sum + Math.max(0, count - this.#takenAt(node)) * this.#priceOf(node), 0);
    return missing <= this.#left;
  }

  flush(): void {
    // Does nothing, because the run wrote the credits to disk before it passed them to this worker.
  }

  spent(): number {
    return this.#spent;
  }

  giveBack(): void {
    for (const [node, calls] of this.#taken) if (calls > 0) this.#link.giveBackCalls(node, calls);
    this.#taken.clear();
  }

  #take(node: string): Promise<void> {
    const asking = this.#link.takeCalls(node, blockCalls, this.#isScarce).then(({ calls, refusal, left = Number.POSITIVE_INFINITY }) => {
      this.#asking.delete(node);
      this.#left = left;
      this.#isScarce = calls < blockCalls;
      this.#refusal = refusal;
      this.#taken.set(node, this.#takenAt(node) + calls);
      this.#usedMs = this.#clock.now();
      this.#giveBackLater();
    });
    this.#asking.set(node, asking);
    return asking;
  }

  #giveBackLater(): void {
    if (this.#willGiveBack) return;
    this.#willGiveBack = true;
    void this.#clock.sleepUntil(this.#usedMs + idleMs).then(() => {
      this.#willGiveBack = false;
      if (this.#clock.now() - this.#usedMs >= idleMs) this.giveBack();
      else this.#giveBackLater();
    });
  }

  #takenAt(node: string): number {
    return this.#taken.get(node) ?? 0;
  }

  #priceOf(node: string): number {
    return this.#prices.get(node)?.credits ?? 0;
  }
}

/** Tracks the money that one node spends in a worker. The run reserves the money for it. */
class WorkerSpending implements Spending {
  readonly prompts = new PromptTokens();
  readonly #link: RunLink;
  readonly #node: string;
  total = 0;

  constructor(link: RunLink, node: string) {
    this.#link = link;
    this.#node = node;
  }

  async begin(max: number, most: () => number): Promise<number | SpendingRefusal> {
    const { held, total }: HeldMoney = await this.#link.holdMoney(this.#node, max, most());
    this.total = total;
    return held;
  }

  end(held: number, cost: number | undefined): void {
    this.#link.endMoney(this.#node, held, cost);
  }

  add(cost: number): void {
    this.#link.endMoney(this.#node, undefined, cost);
  }

  noteUnstated(): void {
    this.#link.noteUnstated(this.#node);
  }
}

/** The run reserves the money for the worker's nodes. */
export function workerSpending(link: RunLink): { of(node: string): Spending } {
  const nodes = new Map<string, Spending>();
  return {
    of(node) {
      const found = nodes.get(node);
      if (found) return found;
      const spending = new WorkerSpending(link, node);
      nodes.set(node, spending);
      return spending;
    },
  };
}
