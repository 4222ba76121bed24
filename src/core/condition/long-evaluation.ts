import { isObject, type Value } from '../value/value.ts';
import { forgetPatterns } from './pattern.ts';

/** Runs synchronous work. Throws an Error if the work takes too long, and ends it. */
export type TimeLimit = <Result>(work: () => Result) => Result;

let timeLimit: TimeLimit = (work) => work();

/** Sets the limit of evaluations that may take long. It costs more than most evaluations take. Without one there is none. */
export function limitLongEvaluations(limit: TimeLimit): void {
  timeLimit = limit;
}

interface Loops {
  readonly loops: number;
  readonly length: number;
}

/** Steps that take well under a second. */
const shortSteps = 1_000_000;

/** Evaluates an expression with `loops` loops, of a text with `length` characters. It has a time limit if it could take long. */
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

/** The characters and elements of a value. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((size, element) => size + sizeOf(element), value.length);
  return isObject(value) ? sizeOf(Object.values(value)) : 1;
}
