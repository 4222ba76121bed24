import type { Clock } from '../ports.ts';
import { isObject, type Value } from '../value/value.ts';
import { forgetPatterns } from './pattern.ts';

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

/** The clock of the evaluation that is going on, because CEL passes no context to its functions. No evaluation contains another. */
let current: EvaluationClock | undefined;

let startedMs: number | undefined;

export function beginEvaluation(clock: EvaluationClock): void {
  current = clock;
  startedMs = undefined;
}

export function endEvaluation(): void {
  current = undefined;
}

/** Returns the time for the CEL function `now()`, which stays the same throughout the evaluation. In ms since 1970. */
export function evaluationTime(): number {
  startedMs ??= (current ?? noClock).wallNow();
  return startedMs;
}

interface Loops {
  readonly loops: number;
  readonly length: number;
}

/** An evaluation of at most this many steps certainly takes less than a second. */
const shortSteps = 1_000_000;

/** Short evaluations run without the limit: its setup takes longer. `loops` counts the expression's loops, `length` its characters. */
export function evaluateWithin<Result>(
  { abortIfLong }: EvaluationClock,
  evaluate: () => Result,
  { loops, length }: Loops,
  values: Iterable<Value>,
): Result {
  const maxSize = shortSteps ** (1 / loops);
  let size = length;
  for (const value of values) size += sizeOf(value);
  if (size <= maxSize) return evaluate();
  try {
    return abortIfLong(evaluate);
  } catch (error) {
    forgetPatterns();
    throw error;
  }
}

/** Returns the number of characters and elements in a value. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((size, element) => size + sizeOf(element), value.length);
  return isObject(value) ? sizeOf(Object.values(value)) : 1;
}
