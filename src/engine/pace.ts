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

/**
 * The constant c of CUBIC, in 1/s^3, for low rates. A pace that finds a higher limit sooner is refused more often, which is a smaller share
 * of more calls. So the constant grows with the rate.
 */
const growth = { least: 0.002, mostTimes: 6, perSecond: 40 };

/** While the rate grows exponentially, it is multiplied by `factor` every `everyMs`. */
const start = { everyMs: 250, factor: 1.6 };

/** After this many refusals in a row, the server seems to refuse every call, and the pace is forgotten. A refused wait counts more. */
const vain = { most: 40, paused: 4 };

/** Calls per second below which such refusals do not lower the rate. */
const leastRate = 0.2;

/** A share of refusals that does not lower the rate, and the most refusals in a row that it allows. */
const tolerated = { share: 0.006, most: 2 };

/** Accepted calls are counted for this time in ms and the one before. */
const windowMs = 500;

/** The shortest time in ms over which a rate is measured. */
const shortestMs = 250;

/** A call may start this many ms late without lowering the rate. If more calls caught up, a limit without bursts would refuse them. */
const slackMs = 3;

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
  /** The last refusal, or the end of the wait that it asked for. */
  readonly refusedMs: number;
  readonly firstMs: number | undefined;
  readonly answers: number;
  /**
   * Calls per second that the server has accepted from one refusal to the next, with the waits that refusals asked for. Undefined as long
   * as the rate is rising.
   */
  readonly learned: number | undefined;
  /** Accepted calls that were sent after `cutMs`. */
  readonly since: number;
  readonly window: { readonly index: number; readonly now: number; readonly before: number };
  /** Refusals that lowered the rate without an accepted call between them. */
  readonly vain: number;
  /** Refusals that are tolerated at the moment. */
  readonly credit: number;
}

export const noPace: Pace = {
  stage: 'none',
  ...{
    rate: 0,
    top: 0,
    activeMs: 0,
    cutMs: 0,
    refusedMs: 0,
    firstMs: undefined,
    learned: undefined,
    answers: 0,
    since: 0,
    vain: 0,
    credit: 0,
  },
  window: { index: 0, now: 0, before: 0 },
};

/** The times at which an attempt was sent and ended, in monotonic ms. */
export interface AttemptTimes {
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

export interface Refusal extends AttemptTimes {
  /** The wait that the refusal asks for; 0 if it asks for none. */
  readonly pauseMs: number;
  /** True if the same call was refused several times before. */
  readonly isRepeated: boolean;
}

export function paceAfterRefusal(before: Pace, refusal: Refusal): Pace {
  const { sentAtMs, atMs, pauseMs, isRepeated } = refusal;
  const isPaused = pauseMs > 0;
  if (stageAt(before, atMs) === 'none') {
    const rate = Math.max(leastAnswers, recentRate(before, atMs)) * leftAtFirst;
    return before.answers < leastAnswers ? before : cut(before, refusal, { stage: 'rising', rate, top: rate, vain: 0 });
  }
  const pace = { ...before, refusedMs: Math.max(before.refusedMs, atMs + pauseMs) };
  if (sentAtMs < pace.cutMs) return isPaused ? { ...pace, activeMs: Math.max(pace.activeMs, atMs + pauseMs) } : pace;
  if (pace.stage === 'known' && !isPaused && pace.credit >= 1) return { ...pace, credit: pace.credit - 1 };
  // The server has accepted other calls since then, so it might never accept this one.
  if (isRepeated && !isPaused && pace.since >= soon.answers) return pace;
  return paceAfterCut(pace, refusal);
}

/** A refusal says that the rate at which the call was sent is too high. */
function paceAfterCut(pace: Pace, refusal: Refusal): Pace {
  const { sentAtMs, atMs, pauseMs } = refusal;
  // Answers take about as long as refusals, so the calls that were sent in this time have been answered.
  const ms = sentAtMs - Math.max(pace.activeMs, pace.cutMs);
  const now = paceAt(pace, Math.max(pace.activeMs, sentAtMs));
  // A server that delays calls answers the first ones later than it refuses others.
  const isSlow = pace.since < soon.answers && recentAnswers(pace, atMs) >= soon.answers;
  if (ms < soon.ms || (pace.since < soon.answers && !isSlow)) {
    const times = pace.since > 0 ? 0 : pace.vain + (pauseMs > 0 ? vain.paused : 1);
    if (times >= vain.most) return noPace;
    const top = pace.since > 0 ? now * leftTooSoon : Math.max(Math.min(now, leastRate), now * leftTooSoon);
    const rate = pace.stage === 'rising' ? top : top * left;
    return cut(pace, refusal, { stage: pace.stage, rate, top, vain: times });
  }
  const isRising = pace.stage === 'rising';
  const average = perSecond(pace.since, ms);
  // A refusal with a wait costs so much that a single one should not lower the rate far. Without a burst, it can be due to a moment's delay.
  const recent = Math.max(average, recentRate(pace, atMs));
  const accepted = isRising || isSlow ? recent : pauseMs > 0 ? (average + recent) / 2 : average;
  const top = Math.min(now, isRising ? accepted : Math.max(accepted, now * leftTooSoon));
  const sustained = Math.min(top, perSecond(pace.since, sentAtMs - pace.cutMs));
  const learned = ((pace.learned ?? sustained) + sustained) / 2;
  return { ...cut(pace, refusal, { stage: 'known', rate: top * left, top, vain: 0 }), learned };
}

function cut(pace: Pace, { sentAtMs, atMs, pauseMs }: Refusal, next: Pick<Pace, 'stage' | 'rate' | 'top' | 'vain'>): Pace {
  // The server still has the calls that were sent at the old rate, and would refuse the ones that follow at once.
  const cutMs = next.stage === 'known' ? 2 * atMs - sentAtMs : atMs;
  const activeMs = atMs + pauseMs;
  return { ...pace, ...next, activeMs, cutMs, refusedMs: activeMs, since: 0, credit: 0 };
}

/** In calls per second; infinity without a pace. */
export function paceAt(pace: Pace, atMs: number): number {
  if (stageAt(pace, atMs) === 'none') return Number.POSITIVE_INFINITY;
  const ms = Math.max(0, atMs - pace.activeMs);
  if (pace.stage === 'rising') return pace.rate * start.factor ** Math.floor(ms / start.everyMs);
  const c = growth.least * Math.min(growth.mostTimes, Math.max(1, pace.top / growth.perSecond));
  const k = Math.cbrt((1 - left) / c);
  return pace.top * (1 + c * (ms / 1000 - k) ** 3);
}

/** Earliest start in monotonic ms of the call after one that starts at `atMs`. `startMs` is the earliest start of the latter. */
export function nextStart(pace: Pace, startMs: number, atMs: number): number {
  return Math.max(startMs, atMs - slackMs) + 1000 / paceAt(pace, atMs);
}

function stageAt({ stage, refusedMs }: Pace, atMs: number): Pace['stage'] {
  return atMs - refusedMs > forgottenMs ? 'none' : stage;
}

/** Accepted calls per second in the last half to whole second. */
function recentRate(pace: Pace, atMs: number): number {
  const ms = Math.min(windowMs + (atMs % windowMs), Math.max(shortestMs, atMs - (pace.firstMs ?? atMs)));
  return (recentAnswers(pace, atMs) * 1000) / ms;
}

function recentAnswers(pace: Pace, atMs: number): number {
  const { now, before } = windowAt(pace, atMs);
  return now + before;
}

function windowAt({ window }: Pace, atMs: number): Pace['window'] {
  const index = Math.floor(atMs / windowMs);
  if (index === window.index) return window;
  return { index, now: 0, before: index === window.index + 1 ? window.now : 0 };
}

function perSecond(count: number, ms: number): number {
  return (count * 1000) / ms;
}
