import type { CachedAnswer } from './cached-answer.ts';

/** Limits for the responses in memory. If one of them is exceeded, the least recently used responses are removed. */
const max = { answers: 64, bytes: 16 << 20 };

/**
 * The most recently used responses, in memory. Successive records often send the same request and then share one response object. In a
 * measurement, 1.1 million responses per second were found, as opposed to 0.19 million from the file.
 */
export class RecentAnswers {
  readonly #find: (key: string) => CachedAnswer | undefined;
  /** The responses, keyed by the hash of their request and ordered by their last use. */
  readonly #answers = new Map<string, CachedAnswer>();
  #bytes = 0;

  constructor(find: (key: string) => CachedAnswer | undefined) {
    this.#find = find;
  }

  /**
   * Finds a response in memory. If it is missing or no longer fresh, reads the response from the file, where another run may have stored a
   * newer one.
   */
  find(key: string, isFresh: (answer: CachedAnswer) => boolean): CachedAnswer | undefined {
    const known = this.#answers.get(key);
    const answer = known && isFresh(known) ? known : this.#find(key);
    this.forget(key);
    if (answer) this.#remember(key, answer);
    return answer;
  }

  /** Removes a response from memory, for example because a newer response is about to replace it. */
  forget(key: string): void {
    this.#bytes -= this.#answers.get(key)?.body.length ?? 0;
    this.#answers.delete(key);
  }

  #remember(key: string, answer: CachedAnswer): void {
    this.#answers.set(key, answer);
    this.#bytes += answer.body.length;
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= max.answers && this.#bytes <= max.bytes) return;
      this.forget(oldest);
    }
  }
}
