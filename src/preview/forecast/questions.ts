import type { ActionRequest } from '../../core/action.ts';
import type { Action, Step } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';

/** Maximum number of requests to remember, which limits memory use. All requests after that count as distinct. */
const maxKeys = 100_000;

/** Counts the distinct requests of a step that uses the cache. Equal requests are sent only once. */
export class Questions {
  readonly #keyOf: NonNullable<Action['cache']>['key'];
  readonly #keys = new Set<string>();
  #others = 0;

  constructor(keyOf: NonNullable<Action['cache']>['key']) {
    this.#keyOf = keyOf;
  }

  /** Creates the counter for a step. Returns undefined if the step does not use the cache, or if several records can share a request. */
  static of({ node: { action } }: Step): Questions | undefined {
    return action?.cache && action.batchSize === undefined ? new Questions(action.cache.key) : undefined;
  }

  /** Counts a request if it is new. Returns false if an equal request was counted before. */
  add(request: ActionRequest, fields: Fields): boolean {
    const key = fingerprint(this.#keyOf(request, fields));
    if (this.#keys.has(key)) return false;
    if (this.#keys.size < maxKeys) this.#keys.add(key);
    else this.#others++;
    return true;
  }

  /** Returns the number of distinct requests. */
  count(): number {
    return this.#keys.size + this.#others;
  }
}
