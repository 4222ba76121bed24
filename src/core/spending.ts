/**
 * Estimates the number of tokens in prompts before they are sent. It assumes one token per three bytes until answers state the actual
 * numbers, and then the highest ratio so far. Bytes are used because text in non-Latin scripts has more tokens per character.
 */
export class PromptTokens {
  #perByte: number | undefined;
  #fixed = 0;

  of(bytes: number): number {
    return Math.max(this.#fixed, Math.ceil(bytes * (this.#perByte ?? 1 / 3)));
  }

  /**
   * A token has at least one byte, so if there are more tokens than bytes, some do not come from the prompt. Their number does not grow
   * with the prompt, and is kept as a fixed minimum instead of a ratio.
   */
  learn(bytes: number, tokens: number): void {
    if (tokens > bytes) this.#fixed = Math.max(this.#fixed, tokens);
    else this.#perByte = Math.max(this.#perByte ?? 0, tokens / bytes);
  }
}

/** The reason why no money can be held for a call: the maximum cost is used up, or answers do not state their cost. */
export type SpendingRefusal = 'used-up' | 'unstated';

/**
 * The money that the calls of one node spend in a run, in the unit of the node's `price`. As with credits (see `Ledger`), money is held for a
 * call, and then settled or released.
 */
export interface Spending {
  readonly prompts: PromptTokens;
  readonly total: number;
  /**
   * Reserves the maximum cost of a call. If too little money is left, waits for other calls to end, and computes `most` again, because
   * answers might have changed the estimate.
   */
  hold(max: number, most: () => number): Promise<number | SpendingRefusal>;
  /**
   * The call was answered. `held` is the amount that was reserved for it; undefined if the node has no maximum. `cost` is `unstated` if the
   * answer did not state its number of tokens, so that no maximum can be guaranteed.
   */
  settle(held: number | undefined, cost: Cost): void;
  /** Gives the reserved amount back, because there was no answer. */
  release(held: number): void;
}

export type Cost = number | 'unstated';

/** Rounds a sum of money or credits to 12 significant digits, which removes the rounding errors of doubles. */
export function rounded(sum: number): number {
  return Number(sum.toPrecision(12));
}

export function sumOfCredits(entries: readonly { readonly credits: number }[]): number {
  return rounded(entries.reduce((sum, { credits }) => sum + credits, 0));
}
