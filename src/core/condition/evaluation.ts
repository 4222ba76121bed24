import { isObject, type Value } from '../value/value.ts';
import { forgetPatterns } from './pattern.ts';

/**
 * The clock and the time limit of evaluations. A process has one object with both, because options are compiled by schemas, and conditions on answers are evaluated
 * in functions that get only records and answers.
 */
export interface EvaluationWorld {
  /** The clock of the CEL function `now()`, in ms since 1970. */
  wallNow(): number;
  /** Runs work, and aborts it with an Error if it takes too long. Short evaluations run without it, because its setup takes longer. */
  limited<Result>(work: () => Result): Result;
}

let world: EvaluationWorld = {
  wallNow() {
    throw new Error('the clock of now() is not set');
  },
  limited: (work) => work(),
};

/** Replaces members of the world. Returns the former world, so that the caller can put it back. */
export function setEvaluationWorld(members: Partial<EvaluationWorld>): EvaluationWorld {
  const former = world;
  world = { ...world, ...members };
  return former;
}

let startedMs: number | undefined;

/** The CEL function `now()` returns the same time until the next evaluation begins. */
export function beginEvaluation(): void {
  startedMs = undefined;
}

/** In ms since 1970. */
export function evaluationTime(): number {
  startedMs ??= world.wallNow();
  return startedMs;
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
    return world.limited(evaluate);
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
