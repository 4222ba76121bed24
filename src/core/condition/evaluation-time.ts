let wallNow: (() => number) | undefined;
let startedMs: number | undefined;

/** Sets the clock for the CEL function `now()`. `clock` returns ms since 1970. */
export function setEvaluationClock(clock: () => number): void {
  wallNow = clock;
}

/** Begins an evaluation. The CEL function `now()` returns the same time until the next evaluation begins. */
export function beginEvaluation(): void {
  startedMs = undefined;
}

/** Returns the time of the current evaluation, in ms since 1970. */
export function evaluationTime(): number {
  if (!wallNow) throw new Error('the clock of now() is not set');
  startedMs ??= wallNow();
  return startedMs;
}
