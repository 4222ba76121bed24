/**
 * Learns at which rate a server accepts calls, from its refusals (429, or 503 with Retry-After). At first the rate grows exponentially until
 * the next refusal, as in slow start. Then it returns to the rate of the last refusal, ever more slowly as it comes near, and leaves it ever
 * faster, as a congestion window does in CUBIC (RFC 9438): rate = top * (1 + c * (t - k)^3), with t in seconds since the refusal.
 *
 * While calls are refused, the bucket of the server's limit is empty, so the rate of the accepted ones is the rate of the limit.
 *
 * All functions are pure: each computes the next state from the current state and an answer.
 */

/** With fewer answers before the first refusal, nothing is learned: the server might refuse every call. */
const leastAnswers = 5;

/** After a refusal, the rate is this share of the one that the server accepted. */
const left = 0.95;

/** The same for the first refusal, before which a burst might have been accepted. */
const leftAtFirst = 0.7;

/** The rate is multiplied by this if the next refusal follows too soon to tell at which rate calls were accepted. */
const leftTooSoon = 0.75;

/** Such a refusal follows within this time in ms, or after fewer accepted calls. */
const soon = { ms: 300, answers: 4 };

/** The constant c of CUBIC. It is lower if refusals ask for a wait, because each probe for a higher rate then costs more. */
const growth = { free: 0.005, paused: 0.003 };

/** While the rate grows exponentially, it is multiplied by `factor` every `everyMs`. */
const start = { everyMs: 250, factor: 1.6 };

/** A share of refusals that does not lower the rate, and the most refusals in a row that it allows. */
const tolerated = { share: 0.012, most: 2 };

/** Accepted calls are counted for this time in ms and the one before. */
const windowMs = 500;

/** The shortest time in ms over which a rate is measured. */
const shortestMs = 250;

/** Without a refusal for this time in ms, the pace is forgotten: the server's limit might have gone. */
const forgottenMs = 600_000;

export interface Pace {
  /** `none`: no pace is known. `rising`: the rate grows until the next refusal. `known`: it stays near `top`. */
  readonly stage: 'none' | 'rising' | 'known';
  /** Calls per second at `activeMs`. */
  readonly rate: number;
  /** Calls per second that the server accepted when it refused a call last. */
  readonly top: number;
  /** Calls may start from then on, in monotonic ms: the last refusal, or the end of the wait that it asked for. */
  readonly activeMs: number;
  /** Refusals of calls that were sent before then say nothing about the present rate. */
  readonly cutMs: number;
  readonly isPaused: boolean;
  readonly firstMs: number | undefined;
  readonly answers: number;
  /** Accepted calls that were sent after `cutMs`. */
  readonly since: number;
  readonly window: { readonly index: number; readonly now: number; readonly before: number };
  /** Refusals that are tolerated at the moment. */
  readonly credit: number;
}

export const noPace: Pace = {
  stage: 'none',
  ...{ rate: 0, top: 0, activeMs: 0, cutMs: 0, isPaused: false, firstMs: undefined, answers: 0, since: 0, credit: 0 },
  window: { index: 0, now: 0, before: 0 },
};

/** The times at which an attempt was sent and ended, in monotonic ms. */
interface AttemptTimes {
  readonly sentAtMs: number;
  readonly atMs: number;
}

export function paceAfterAnswer(pace: Pace, { sentAtMs, atMs }: AttemptTimes): Pace {
  const { now, ...window } = windowAt(pace, atMs);
  return {
    ...pace,
    firstMs: pace.firstMs ?? atMs,
    answers: pace.answers + 1,
    since: sentAtMs >= pace.cutMs ? pace.since + 1 : pace.since,
    window: { ...window, now: now + 1 },
    credit: Math.min(tolerated.most, pace.credit + tolerated.share),
  };
}

/** `pauseMs` is the wait that the refusal asks for; 0 if it asks for none. */
export function paceAfterRefusal(pace: Pace, { sentAtMs, atMs, pauseMs }: AttemptTimes & { readonly pauseMs: number }): Pace {
  const isPaused = pauseMs > 0;
  const activeMs = atMs + pauseMs;
  const cut = (stage: Pace['stage'], rate: number, top: number): Pace => ({
    ...pace,
    ...{ stage, rate, top, activeMs, isPaused, cutMs: atMs, since: 0, credit: 0 },
  });
  if (stageAt(pace, atMs) === 'none') {
    if (pace.answers < leastAnswers) return pace;
    const rate = Math.max(leastAnswers, recentRate(pace, atMs)) * leftAtFirst;
    return cut('rising', rate, rate);
  }
  if (sentAtMs < pace.cutMs) return { ...pace, activeMs: isPaused ? Math.max(pace.activeMs, activeMs) : pace.activeMs };
  if (pace.stage === 'known' && !isPaused && pace.credit >= 1) return { ...pace, credit: pace.credit - 1 };
  const ms = atMs - pace.activeMs;
  const now = paceAt(pace, Math.max(pace.activeMs, sentAtMs));
  if (ms < soon.ms || pace.since < soon.answers) {
    const top = now * leftTooSoon;
    return pace.stage === 'rising' ? cut('rising', top, top) : cut('known', top * left, top);
  }
  const accepted = (pace.since * 1000) / ms;
  const top = Math.min(now, Math.max(accepted, pace.stage === 'rising' ? recentRate(pace, atMs) : now * leftTooSoon));
  return cut('known', top * left, top);
}

/** In calls per second; infinity without a pace. */
export function paceAt(pace: Pace, atMs: number): number {
  if (stageAt(pace, atMs) === 'none') return Number.POSITIVE_INFINITY;
  const ms = Math.max(0, atMs - pace.activeMs);
  if (pace.stage === 'rising') return pace.rate * start.factor ** Math.floor(ms / start.everyMs);
  const c = pace.isPaused ? growth.paused : growth.free;
  const k = Math.cbrt((1 - left) / c);
  return pace.top * (1 + c * (ms / 1000 - k) ** 3);
}

function stageAt({ stage, cutMs }: Pace, atMs: number): Pace['stage'] {
  return atMs - cutMs > forgottenMs ? 'none' : stage;
}

/** Accepted calls per second in the last half to whole second. */
function recentRate(pace: Pace, atMs: number): number {
  const { now, before } = windowAt(pace, atMs);
  const ms = Math.min(windowMs + (atMs % windowMs), Math.max(shortestMs, atMs - (pace.firstMs ?? atMs)));
  return ((now + before) * 1000) / ms;
}

function windowAt({ window }: Pace, atMs: number): Pace['window'] {
  const index = Math.floor(atMs / windowMs);
  if (index === window.index) return window;
  return { index, now: 0, before: index === window.index + 1 ? window.now : 0 };
}
