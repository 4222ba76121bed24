/**
 * The money that the calls of one node have cost in a run, in the unit of its `price`. It holds calls back at a maximum: until the
 * first cost is known, one call goes alone; then each call in flight counts as much as the dearest so far.
 */
export class Spending {
  #total: number;
  #dearest: number | undefined;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  /** `before`: the cost of earlier parts of the run. */
  constructor(before = 0) {
    this.#total = before;
  }

  get total(): number {
    return this.#total;
  }

  /** Waits until the cost of a first call is known. Returns false, and begins no call, if `max` would be used up. */
  async begin(max: number): Promise<boolean> {
    while (this.#dearest === undefined && this.#inFlight > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#total + this.#inFlight * (this.#dearest ?? 0) >= max) return false;
    this.#inFlight++;
    return true;
  }

  /** Ends a call that began. `cost`: undefined if there was no answer. */
  end(cost: number | undefined): void {
    this.#inFlight--;
    if (cost !== undefined) {
      this.#total = rounded(this.#total + cost);
      this.#dearest = Math.max(this.#dearest ?? 0, cost);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** The money of a run, by node. */
export class RunSpending {
  readonly #nodes = new Map<string, Spending>();

  /** `before`: the cost of earlier parts of the run. */
  constructor(before: Readonly<Record<string, number>> = {}) {
    for (const [node, cost] of Object.entries(before)) this.#nodes.set(node, new Spending(cost));
  }

  of(node: string): Spending {
    const found = this.#nodes.get(node);
    if (found) return found;
    const spending = new Spending();
    this.#nodes.set(node, spending);
    return spending;
  }

  /** The cost so far of each node that costs anything. */
  totals(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#nodes].flatMap(([node, { total }]) => (total > 0 ? [[node, total]] : [])));
  }
}

/** A sum of money or credits without the noise of doubles: 12 significant digits. */
export function rounded(sum: number): number {
  return Number(sum.toPrecision(12));
}

/** The credits of all entries together. */
export function sumOfCredits(entries: readonly { readonly credits: number }[]): number {
  return rounded(entries.reduce((sum, { credits }) => sum + credits, 0));
}
