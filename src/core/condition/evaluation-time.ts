let wallNow: (() => number) | undefined;
let startedMs: number | undefined;

/** Sets the clock of `now()`, in ms since 1970. */
export function setEvaluationClock(clock: () => number): void {
  wallNow = clock;
}

/** Begins an evaluation, in which time stands still. */
export function beginEvaluation(): void {
  startedMs = undefined;
}

/** The time of the present evaluation, in ms since 1970. */
export function evaluationTime(): number {
  if (!wallNow) throw new Error('the clock of now() is not set');
  startedMs ??= wallNow();
  return startedMs;
}
