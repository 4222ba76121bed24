/**
 * Estimates the tokens of prompts before they are sent: three bytes each, until answers show the real ratio. The dearest ratio so far
 * counts. Bytes stand for characters: texts in other scripts have more tokens per character.
 */
export class PromptTokens {
  #perByte: number | undefined;
  #fixed = 0;

  /** The tokens that a prompt of this size is expected to have at most. */
  of(bytes: number): number {
    return Math.max(this.#fixed, Math.ceil(bytes * (this.#perByte ?? 1 / 3)));
  }

  /** Notes the tokens that a prompt had. A token has a byte at least: more tokens than bytes do not come from the prompt, and do not grow with it. */
  learn(bytes: number, tokens: number): void {
    if (tokens > bytes) this.#fixed = Math.max(this.#fixed, tokens);
    else this.#perByte = Math.max(this.#perByte ?? 0, tokens / bytes);
  }
}

/** The reason why a call does not begin: the maximum, or answers that do not state what they cost. */
export type SpendingRefusal = 'used-up' | 'unstated';

/** The money that the calls of one node cost in a run, in the unit of its `price`. */
export interface Spending {
  /** The tokens of its prompts. */
  readonly prompts: PromptTokens;
  /** The cost so far. */
  readonly total: number;
  /**
   * Holds the most that a call can cost, which answers may change while it waits for room under the maximum. Returns what it holds, or
   * the reason why no call begins.
   */
  begin(max: number, most: () => number): Promise<number | SpendingRefusal>;
  /** Ends a call that holds `held`. `cost`: undefined if there was no answer. */
  end(held: number, cost: number | undefined): void;
  /** Adds the cost of a call without a maximum. */
  add(cost: number): void;
  /** Notes an answer that does not state its tokens: no maximum can be kept. */
  noteUnstated(): void;
}

/**
 * The money of one node in this process. It holds calls back at a maximum: each call in flight holds the most that it can cost, and until
 * the first cost is known, one call goes alone.
 */
export class NodeSpending implements Spending {
  readonly prompts = new PromptTokens();
  #total: number;
  #held = 0;
  #inFlight = 0;
  #isKnown = false;
  #isUnstated = false;
  readonly #waiting: (() => void)[] = [];

  /** `before`: the cost of earlier parts of the run. */
  constructor(before = 0) {
    this.#total = before;
  }

  get total(): number {
    return this.#total;
  }

  async begin(max: number, most: () => number): Promise<number | SpendingRefusal> {
    while (this.#inFlight > 0 && (!this.#isKnown || this.#with(most()) > max))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isUnstated) return 'unstated';
    const held = most();
    if (this.#with(held) > max) return 'used-up';
    this.#inFlight++;
    this.#held += held;
    return held;
  }

  end(held: number, cost: number | undefined): void {
    this.#inFlight--;
    this.#held = this.#inFlight === 0 ? 0 : this.#held - held;
    if (cost !== undefined) {
      this.add(cost);
      this.#isKnown = true;
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  add(cost: number): void {
    this.#total = rounded(this.#total + cost);
  }

  noteUnstated(): void {
    this.#isUnstated = true;
  }

  /** The cost if another call cost `most`. */
  #with(most: number): number {
    return rounded(this.#total + this.#held + most);
  }
}

/** The money of a run, by node. */
export class RunSpending {
  readonly #nodes = new Map<string, NodeSpending>();

  /** `before`: the cost of earlier parts of the run. */
  constructor(before: Readonly<Record<string, number>> = {}) {
    for (const [node, cost] of Object.entries(before)) this.#nodes.set(node, new NodeSpending(cost));
  }

  of(node: string): Spending {
    const found = this.#nodes.get(node);
    if (found) return found;
    const spending = new NodeSpending();
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
