import { entryOf } from '../core/map-entry.ts';
import { type Cost, PromptTokens, rounded, type Spending, type SpendingRefusal } from '../core/spending.ts';

/** With a maximum, each call in flight reserves its maximum cost. Until the first call's cost is known, only one call is in flight. */
class NodeSpending implements Spending {
  readonly prompts = new PromptTokens();
  #total: number;
  #held = 0;
  #inFlight = 0;
  #isKnown = false;
  #isUnstated = false;
  readonly #waiting: (() => void)[] = [];

  /** `before` is the money that earlier parts of a resumed run spent. */
  constructor(before = 0) {
    this.#total = before;
  }

  get total(): number {
    return this.#total;
  }

  async hold(max: number, most: () => number): Promise<number | SpendingRefusal> {
    while (this.#inFlight > 0 && (!this.#isKnown || this.#with(most()) > max))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isUnstated) return 'unstated';
    const held = most();
    if (this.#with(held) > max) return 'used-up';
    this.#inFlight++;
    this.#held += held;
    return held;
  }

  settle(held: number | undefined, cost: Cost): void {
    if (cost === 'unstated') this.#isUnstated = true;
    else this.#total = rounded(this.#total + cost);
    if (held === undefined) return;
    this.#isKnown = true;
    this.release(held);
  }

  release(held: number): void {
    this.#inFlight--;
    this.#held = this.#inFlight === 0 ? 0 : this.#held - held;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #with(most: number): number {
    return rounded(this.#total + this.#held + most);
  }
}

export class RunSpending {
  readonly #nodes = new Map<string, NodeSpending>();

  /** `before` is the money that earlier parts of a resumed run spent, by node. */
  constructor(before: Readonly<Record<string, number>> = {}) {
    for (const [node, cost] of Object.entries(before)) this.#nodes.set(node, new NodeSpending(cost));
  }

  of(node: string): Spending {
    return entryOf(this.#nodes, node, () => new NodeSpending());
  }

  totals(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#nodes].flatMap(([node, { total }]) => (total > 0 ? [[node, total]] : [])));
  }
}
