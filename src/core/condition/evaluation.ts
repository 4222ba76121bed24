import type { Clock } from '../ports.ts';
import { isObject, type Value } from '../value/value.ts';
import type { Patterns } from './pattern.ts';

/** The time for the CEL function `now()`, and the limit for evaluations that might take long. */
export type EvaluationClock = Pick<Clock, 'wallNow' | 'abortIfLong'>;

/** For checks of a flow, and templates without expressions. An evaluation fails with it if it needs the time or might take long. */
export const noClock: EvaluationClock = {
  wallNow() {
    throw new Error('there is no clock for now()');
  },
  abortIfLong() {
    throw new Error('there is no time limit');
  },
};

interface Loops {
  readonly loops: number;
  readonly length: number;
}

/** An evaluation of at most this many steps certainly takes less than a second. */
const shortSteps = 1_000_000;

/** One evaluation of an expression. Functions that need it get it as an argument, because CEL passes no context to its functions. */
export class Evaluation {
  readonly patterns: Patterns;
  readonly #clock: EvaluationClock;
  #nowMs: number | undefined;

  constructor(clock: EvaluationClock, patterns: Patterns) {
    this.#clock = clock;
    this.patterns = patterns;
  }

  /** The time for the CEL function `now()`, which stays the same throughout the evaluation. In ms since 1970. */
  get nowMs(): number {
    this.#nowMs ??= this.#clock.wallNow();
    return this.#nowMs;
  }

  /** Short evaluations run without the limit: its setup takes longer. `loops` counts the expression's loops, `length` its characters. */
  within<Result>(evaluate: () => Result, { loops, length }: Loops, values: Iterable<Value>): Result {
    const maxSize = shortSteps ** (1 / loops);
    let size = length;
    for (const value of values) size += sizeOf(value);
    if (size <= maxSize) return evaluate();
    try {
      return this.#clock.abortIfLong(evaluate);
    } catch (error) {
      this.patterns.forget();
      throw error;
    }
  }
}

/** Returns the number of characters and elements in a value. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((size, element) => size + sizeOf(element), value.length);
  return isObject(value) ? sizeOf(Object.values(value)) : 1;
}
