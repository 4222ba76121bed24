/** The names of the facts of an answer, which a map reads as `$url` and so on. */
export const factNames = ['url', 'at', 'ms', 'attempts', 'cached'] as const;

export type FactName = (typeof factNames)[number];

export interface AnswerFacts {
  /** The final URL, without secrets. */
  readonly url: string;
  readonly at: string;
  /** Undefined, as `attempts`, for an answer that an older version has cached. */
  readonly ms?: number;
  readonly attempts?: number;
  readonly cached: boolean;
}

/** The arrival of an answer. It is cached with the answer. */
export interface Arrival {
  /** In ms since 1970. */
  readonly atMs: number;
  /** The duration of the attempt that brought the answer. */
  readonly ms?: number;
  readonly attempts?: number;
}

/** An attempt of a call: its 1-based number, and its start in monotonic ms. */
export interface StartedAttempt {
  readonly number: number;
  readonly startedMs: number;
}

/** `answeredMs` is the monotonic time at which the answer arrived; undefined for now. */
export function arrivalOf(
  { number, startedMs }: StartedAttempt,
  clock: { now(): number; wallNow(): number },
  answeredMs: number | undefined,
): Required<Arrival> {
  const nowMs = clock.now();
  const endedMs = answeredMs ?? nowMs;
  return { atMs: Math.round(clock.wallNow() - (nowMs - endedMs)), ms: Math.round(endedMs - startedMs), attempts: number };
}
