/**
 * Estimates the number of tokens in prompts before they are sent. It assumes one token per three bytes until answers state the actual
 * numbers, and then the highest ratio so far. Bytes are used because text in non-Latin scripts has more tokens per character.
 */
export class PromptTokens {
  #perByte: number | undefined;
  #fixed = 0;

  /** Returns the expected maximum number of tokens in a prompt with this number of bytes. */
  of(bytes: number): number {
    return Math.max(this.#fixed, Math.ceil(bytes * (this.#perByte ?? 1 / 3)));
  }

  /**
   * Adjusts the ratio to the actual number of tokens of a prompt. A token has at least one byte. If there are more tokens than bytes, some
   * tokens do not come from the prompt, so their number does not grow with the prompt. It is then kept as a fixed minimum instead of a
   * ratio.
   */
  learn(bytes: number, tokens: number): void {
    if (tokens > bytes) this.#fixed = Math.max(this.#fixed, tokens);
    else this.#perByte = Math.max(this.#perByte ?? 0, tokens / bytes);
  }
}

/** The reason why a call must not begin: the maximum cost is used up, or answers do not state their cost. */
export type SpendingRefusal = 'used-up' | 'unstated';

/** The money that the calls of one node spend in a run, in the unit of the node's `price`. */
export interface Spending {
  /** Estimates the number of tokens in the node's prompts. */
  readonly prompts: PromptTokens;
  /** The cost of all calls so far. */
  readonly total: number;
  /**
   * Reserves the maximum cost of a call. If too little money is left, waits for other calls to end. `most` computes the maximum again after
   * the wait, because answers might have changed the estimate. Returns the reserved amount, or the reason why the call must not begin.
   */
  begin(max: number, most: () => number): Promise<number | SpendingRefusal>;
  /** Ends a call for which the amount `held` was reserved. `cost` is undefined if there was no answer. */
  end(held: number, cost: number | undefined): void;
  /** Adds the cost of a call for which nothing was reserved. */
  add(cost: number): void;
  /** Notes that an answer did not state its number of tokens, so that no maximum cost can be guaranteed. */
  noteUnstated(): void;
}

/** Rounds a sum of money or credits to 12 significant digits, which removes the rounding errors of doubles. */
export function rounded(sum: number): number {
  return Number(sum.toPrecision(12));
}

/** Returns the sum of the credits of all entries. */
export function sumOfCredits(entries: readonly { readonly credits: number }[]): number {
  return rounded(entries.reduce((sum, { credits }) => sum + credits, 0));
}
