import type { ActionRequest } from '../../core/action.ts';
import type { Action, Step } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';

/** Bound on memory: later requests count as different requests. */
const maxKeys = 100_000;

/** The different requests of a step whose answers are cached: equal requests are sent once. */
export class Questions {
  readonly #keyOf: NonNullable<Action['cache']>['key'];
  readonly #keys = new Set<string>();
  #others = 0;

  constructor(keyOf: NonNullable<Action['cache']>['key']) {
    this.#keyOf = keyOf;
  }

  /** The requests of a step; absent if its answers are not cached, or if records share them. */
  static of({ node: { action } }: Step): Questions | undefined {
    return action?.cache && action.batchSize === undefined ? new Questions(action.cache.key) : undefined;
  }

  /** Adds a request. Returns false if an equal request was added before. */
  add(request: ActionRequest, fields: Fields): boolean {
    const key = fingerprint(this.#keyOf(request, fields));
    if (this.#keys.has(key)) return false;
    if (this.#keys.size < maxKeys) this.#keys.add(key);
    else this.#others++;
    return true;
  }

  /** Number of different requests. */
  count(): number {
    return this.#keys.size + this.#others;
  }
}
