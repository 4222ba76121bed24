/** What the flaky endpoint answers instead of an airport. */
export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error: string;
}

/** Answers 500 however often it is asked. */
const alwaysBroken = new Set(['KEF']);
/** Asks to come back in a second, once. */
const impatient = new Set(['LHR', 'NRT']);
/** Down for as long as the default retries last; then it is back. */
const outages = new Map([['BOG', 4]]);

/**
 * Why the flaky endpoint refuses an airport at its `nth` request (1-based); `undefined` when it answers.
 * A fixed rule, so that a run over the same records always ends the same way. `place` is the airport's, 1-based, in the alphabet.
 */
export function refusalOf(iata: string, place: number, nth: number): Refusal | undefined {
  if (alwaysBroken.has(iata)) return { status: 500, error: `${iata} is always broken` };
  if (impatient.has(iata) && nth === 1) {
    return { status: 429, headers: { 'retry-after': '1' }, error: 'too many requests, come back in a second' };
  }
  const failures = outages.get(iata) ?? (place % 10 === 0 ? 1 : 0);
  return nth <= failures ? { status: 503, error: 'temporarily unavailable' } : undefined;
}
