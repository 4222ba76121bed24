import { isObject, type Value } from '../value/value.ts';
import { forgetPatterns } from './pattern.ts';

/** A function that runs synchronous work, and aborts it with an Error if it takes too long. */
export type TimeLimit = <Result>(work: () => Result) => Result;

let timeLimit: TimeLimit = (work) => work();

/** There is no limit by default. Short evaluations run without it, because its setup would take longer than the evaluation. */
export function limitLongEvaluations(limit: TimeLimit): void {
  timeLimit = limit;
}

interface Loops {
  readonly loops: number;
  readonly length: number;
}

/** An evaluation of at most this many steps certainly takes less than a second. */
const shortSteps = 1_000_000;

/** The time limit applies if the evaluation might take long. `loops` counts the expression's loops, `length` its characters. */
export function evaluateWithin<Result>(evaluate: () => Result, { loops, length }: Loops, values: Iterable<Value>): Result {
  const maxSize = shortSteps ** (1 / loops);
  let size = length;
  for (const value of values) size += sizeOf(value);
  if (size <= maxSize) return evaluate();
  try {
    return timeLimit(evaluate);
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
