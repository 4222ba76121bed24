/**
 * Learns at which rate a server accepts calls, from its refusals (429, or 503 with Retry-After).
 *
 * A refusal lowers the rate by a step. The rate returns to what it was within a period, and then rises ever faster, as a congestion window
 * does in CUBIC (RFC 9438): rate * (1 + step * (t / period)^3). It therefore settles where about one call per period is refused, wherever
 * that is, as in the weighted up-down method (Kaernbach 1991), and refusals by chance do not push it far below the limit. A period is a
 * number of calls, but at least a multiple of a call's duration and of the wait that a refusal asks for. The sooner a refusal follows the
 * one before, the larger is the step. At first, the rate doubles in short time until it is refused, as in slow start.
 *
 * A busy machine holds calls up, and they arrive together. The refusals of calls that took longer than others therefore count little.
 *
 * All functions are pure: each computes the next state from the current state and an answer.
 */

/** With fewer answers before the first refusal, nothing is learned: the server might refuse every call. */
export const leastAnswers = 5;

/** A refusal divides the rate by 1 plus this. */
const step = 0.06;

/**
 * A period has this many calls, and is at least this many times as long as a call, as the wait that the refusal asks for, and as the time in
 * which every call was refused.
 */
const period = { calls: 90, trips: 14, waits: 5, refused: 2 };

/** The first rate, as a share of the accepted calls per second, the time in ms in which it doubles, and the most times that it does. */
const start = { share: 0.5, doubledMs: 400, mostTimes: 20 };

/** The first refusal of a rising rate multiplies it by this. */
const leftOfRising = 0.7;

/** The rate counts as at most this many times the accepted calls per second, because it also rises while there are few calls to send. */
const mostUnused = { rising: 6, known: 1.5 };

/** A call was held up if it took longer than the average by this share of the time between two calls. Its refusal counts by `weight`. */
const heldUp = { share: 0.5, weight: 0.1 };

/** Weight of the latest call in the average of durations. */
const tripWeight = 0.1;

/** After this many refusals without an accepted call between them, the server seems to refuse every call, and the pace is forgotten. */
const mostVain = 20;

/** Calls per second below which refusals do not lower the rate. */
const leastRate = 0.2;

/**
 * A late call makes up for at most this many times the time between two calls, so that at most two calls start together. If more calls
 * caught up, a limit with a small burst would refuse them.
 */
const slack = 1;

/** Without a refusal for this time in ms, the pace is forgotten: the server's limit might have gone. */
const forgottenMs = 600_000;

export interface Pace {
  /** True until the first refusal after the one that the pace began with. */
  readonly isRising: boolean;
  /** Calls per second at `activeMs`. */
  readonly rate: number;
  /** The last refusal that lowered the rate, or the end of the wait that it asked for, in monotonic ms. The rate grows from then on. */
  readonly activeMs: number;
  readonly periodMs: number;
  /** Refusals of calls that were sent before then say nothing about the present rate. */
  readonly cutMs: number;
  /** The last refusal, or the end of the wait that it asked for. */
  readonly refusedMs: number;
  /** Accepted calls that were sent after `cutMs`. */
  readonly since: number;
  /** Average duration of accepted calls in ms. */
  readonly tripMs: number;
  /** Refusals that lowered the rate without an accepted call between them. */
  readonly vain: number;
  /** The first of these refusals. */
  readonly first: FirstRefusal;
  /** Calls per second that the server has accepted from one refusal to the next. Undefined as long as the rate is rising. */
  readonly learned: number | undefined;
}

/** Calls were accepted from `fromMs` until a refusal at `atMs`, which lowered the rate to `rate`. */
interface FirstRefusal {
  readonly calls: number;
  readonly fromMs: number;
  readonly atMs: number;
  readonly rate: number;
}

/** The times at which an attempt was sent and ended, in monotonic ms. */
export interface AttemptTimes {
  readonly sentAtMs: number;
  readonly atMs: number;
}

export interface Refusal extends AttemptTimes {
  /** The wait that the refusal asks for; 0 if it asks for none. */
  readonly pauseMs: number;
  /** True if the same call was refused several times before. */
  readonly isRepeated: boolean;
}

/** Undefined if too few calls were accepted before the refusal. `firstMs` is the time of the first answer. */
export function paceAfterFirst(answers: number, firstMs: number, refusal: Refusal): Pace | undefined {
  if (answers < leastAnswers) return undefined;
  const { atMs, pauseMs } = refusal;
  const rate = Math.max(leastAnswers, start.share * perSecond(answers, Math.max(1000, atMs - firstMs)));
  const activeMs = atMs + pauseMs;
  const none = { periodMs: 0, since: 0, vain: 0, first: { calls: 0, fromMs: atMs, atMs, rate }, learned: undefined };
  return { isRising: true, rate, activeMs, cutMs: atMs, refusedMs: activeMs, tripMs: atMs - refusal.sentAtMs, ...none };
}

/** Undefined if the pace is forgotten. */
export function paceAfterAnswer(pace: Pace, { sentAtMs, atMs }: AttemptTimes): Pace | undefined {
  if (isForgotten(pace, atMs)) return undefined;
  const tripMs = pace.tripMs + (atMs - sentAtMs - pace.tripMs) * tripWeight;
  if (sentAtMs <= pace.cutMs) return { ...pace, vain: 0, tripMs };
  // More calls than the pace allows had passed the gate before the refusal, and were only sent later.
  const allowed = 2 + (paceAt(pace, sentAtMs) * Math.max(0, sentAtMs - pace.activeMs)) / 1000;
  const since = Math.min(pace.since + 1, Math.max(pace.since, Math.floor(allowed)));
  return {
    ...pace,
    ...(pace.vain > 1 && (pace.first.calls >= leastAnswers || !pace.isRising) && resumedAt(pace, atMs)),
    since,
    vain: 0,
    tripMs,
  };
}

/**
 * A limit for a fixed time, such as 50 calls in each second, refuses all calls until that time is over, as if it asked for a wait. The calls
 * that it has accepted in the whole time are its rate.
 */
function resumedAt({ rate, first }: Pace, atMs: number): Pick<Pace, 'rate' | 'periodMs' | 'activeMs'> {
  const known = first.calls < leastAnswers ? first.rate : Math.min(first.rate, perSecond(first.calls, atMs - first.fromMs));
  const resumed = Math.max(rate, known);
  return { rate: resumed, periodMs: Math.max((period.calls * 1000) / resumed, period.refused * (atMs - first.atMs)), activeMs: atMs };
}

/** Undefined if the pace is forgotten. */
export function paceAfterRefusal(before: Pace, refusal: Refusal): Pace | undefined {
  const { sentAtMs, atMs, pauseMs, isRepeated } = refusal;
  if (isForgotten(before, atMs)) return undefined;
  const pace = { ...before, refusedMs: Math.max(before.refusedMs, atMs + pauseMs) };
  if (sentAtMs <= pace.cutMs) return pauseMs > 0 ? { ...pace, activeMs: Math.max(pace.activeMs, atMs + pauseMs) } : pace;
  // The server has accepted other calls since then, so it might never accept this one.
  if (isRepeated && pauseMs === 0 && pace.since >= leastAnswers) return pace;
  return pace.vain < mostVain ? lowered(pace, refusal) : undefined;
}

function lowered(pace: Pace, refusal: Refusal): Pace {
  const { sentAtMs, atMs, pauseMs } = refusal;
  const now = paceAt(pace, sentAtMs);
  const accepted = perSecond(pace.since + 1, Math.max(1, sentAtMs - pace.activeMs));
  const used = Math.min(now, Math.max(pace.rate, mostUnused[pace.isRising ? 'rising' : 'known'] * accepted));
  const isHeldUp = atMs - sentAtMs > pace.tripMs + (heldUp.share * 1000) / now;
  const rate = Math.max(Math.min(pace.rate, leastRate), used * left(pace, sentAtMs, isHeldUp));
  const sustained = Math.min(used, perSecond(pace.since, sentAtMs - pace.cutMs));
  return {
    ...pace,
    isRising: pace.isRising && (isHeldUp || pace.since < leastAnswers),
    rate,
    activeMs: atMs + pauseMs,
    periodMs: Math.max((period.calls * 1000) / rate, period.trips * (atMs - sentAtMs), period.waits * pauseMs),
    first: pace.vain > 0 ? pace.first : { calls: pace.since, fromMs: pace.cutMs, atMs, rate },
    // The server still has the calls that were sent at the old rate, and would refuse the ones that follow at once.
    cutMs: pace.isRising ? atMs : 2 * atMs - sentAtMs,
    since: 0,
    vain: pace.vain + 1,
    learned: pace.isRising || pace.since < leastAnswers ? pace.learned : ((pace.learned ?? sustained) + sustained) / 2,
  };
}

/** The share of the rate that is left after a refusal. */
function left(pace: Pace, sentAtMs: number, isHeldUp: boolean): number {
  if (pace.vain > 0) return 0.5;
  const calls = (paceAt(pace, sentAtMs) * Math.max(0, sentAtMs - pace.activeMs)) / 1000;
  // If every nth call is refused, the rate is about 1/n above the limit. Some calls more soften a refusal that follows by chance.
  const share = pace.isRising && !isHeldUp ? leftOfRising : (calls + 3) / (calls + 4) / (1 + step);
  return isHeldUp ? 1 - heldUp.weight * (1 - share) : share;
}

/** In calls per second; infinity if the pace is forgotten. @internal */
export function paceAt(pace: Pace, atMs: number): number {
  if (isForgotten(pace, atMs)) return Number.POSITIVE_INFINITY;
  const ms = Math.max(0, atMs - pace.activeMs);
  return pace.rate * (pace.isRising ? 2 ** Math.min(start.mostTimes, ms / start.doubledMs) : 1 + step * (ms / pace.periodMs) ** 3);
}

/** Earliest start in monotonic ms of the call after one that starts at `atMs`. `startMs` is the earliest start of the latter. */
export function nextStart(pace: Pace, startMs: number, atMs: number): number {
  const intervalMs = 1000 / paceAt(pace, atMs);
  return Math.max(startMs, atMs - slack * intervalMs) + intervalMs;
}

function isForgotten({ refusedMs }: Pace, atMs: number): boolean {
  return atMs - refusedMs > forgottenMs;
}

function perSecond(count: number, ms: number): number {
  return (count * 1000) / ms;
}
