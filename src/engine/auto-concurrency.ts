import type { ConcurrencyEvent } from '../core/event.ts';
import { mostAuto } from '../core/options/amounts.ts';

/**
 * Adjusts the number of calls in flight to the capacity of a server.
 *
 * The number grows while the server responds as quickly as in the fastest round, as in TCP Vegas (Brakmo and Peterson, 1995). It is doubled
 * in slow start, the first stage, and later raised by one per round.
 *
 * If responses take longer, the number is lowered in proportion (by the gradient), as in Gradient2 by Netflix
 * (https://github.com/Netflix/concurrency-limits). If calls are refused, it is lowered by a third, as in AIMD.
 *
 * All functions are pure: each computes the next state from the current state and a response.
 */

/** Nothing is known about the server at the beginning. */
const first = 4;

/** The minimum for a round, after which the number of calls is adjusted. It is lower during slow start, which has to be quick. */
const leastAnswers = { starting: 8, later: 20 };

/** Maximum standard error of a round's mean. The more response times vary, the more responses a round needs, up to `answers`. */
const certain = { error: 0.1, answers: 100 };

/** Above this variance, the first responses after a change of the limit are ignored: the fastest arrive first, and are not typical. */
const mixed = 0.02;

/** Weight of the latest round in the moving average of the response times' variance. */
const varianceWeight = 0.2;

/** If response times rise by more than this factor after fewer calls, the server itself is changing, and the round is ignored. */
const stillChanging = 1.1;

/** If response times exceed those of the fastest round by more than this factor, the number of calls does not grow. */
const slower = 1.15;

/** If response times exceed those of the fastest round by at least this factor, the number of calls can be lowered. */
const muchSlower = 1.35;

/** A slow round multiplies the number of calls by this factor or more. */
const leastGradient = 0.5;

/** A refusal multiplies the number of calls by this factor. */
const leftByRefusal = 2 / 3;

/** After a refusal, the number of calls does not grow for this time in ms. */
const restMs = 5000;

/** After this time in ms, the fastest round is measured once more, because the server might have become permanently slower. */
const forgetMs = 60_000;

/** The responses of one round. Adds up the logarithms of the response times, so that a single late response does not distort the mean. */
interface Round {
  /** A call belongs to the round only if it started after this time, in monotonic ms. */
  readonly sinceMs: number;
  readonly skipped: number;
  readonly answers: number;
  readonly sum: number;
  readonly squares: number;
  /** True if the allowed calls were in flight at some point. If not, the round does not show whether more would slow the server down. */
  readonly isFull: boolean;
}

/**
 * An experiment: a round with fewer calls. `relief` shows whether fewer calls shorten the response times, `measure` measures the fastest
 * round once more. `before` is the number of calls to restore afterwards. `ms` is the previous round's response time.
 */
interface Trial {
  readonly kind: 'relief' | 'measure';
  readonly before: number;
  readonly ms: number;
}

export interface AutoState {
  readonly limit: number;
  readonly most: number;
  readonly reason: ConcurrencyEvent['reason'];
  readonly isStarting: boolean;
  readonly round: Round;
  /** Undefined until the first round has ended. */
  readonly fastest: { readonly ms: number; readonly atMs: number } | undefined;
  readonly trial: Trial | undefined;
  /** The limit is lowered only after a second such round, because a single slow round can be chance. */
  readonly wasSlow: boolean;
  readonly refusedAtMs: number;
  /** The variance of the logarithms of the response times, averaged over the last rounds; undefined until the first round has ended. */
  readonly variance: number | undefined;
}

/** A response: its response time, when its call started, when it arrived, and the number of calls in flight, including this one. */
interface AutoAnswer {
  readonly ms: number;
  readonly sentAtMs: number;
  readonly atMs: number;
  readonly inFlight: number;
}

export function startAuto(most: number = mostAuto): AutoState {
  return {
    limit: Math.min(first, most),
    most: Math.min(mostAuto, most),
    reason: 'start',
    isStarting: true,
    // The first responses are ignored, because their response times include opening the connections.
    round: { ...emptyRound(Number.NEGATIVE_INFINITY), skipped: first },
    fastest: undefined,
    trial: undefined,
    wasSlow: false,
    refusedAtMs: Number.NEGATIVE_INFINITY,
    variance: undefined,
  };
}

export function withMost(state: AutoState, most: number): AutoState {
  return { ...state, most: Math.min(mostAuto, most) };
}

/** The limit that suits the server. It differs from the current limit while the fastest round is measured once more. */
export function foundBy({ limit, trial }: AutoState): number {
  return trial?.kind === 'measure' ? trial.before : limit;
}

export function afterAnswer(state: AutoState, { ms, sentAtMs, atMs, inFlight }: AutoAnswer): AutoState {
  const { limit } = state;
  if (sentAtMs <= state.round.sinceMs) return state;
  const { skipped, answers, sum, squares, isFull } = state.round;
  if (skipped > 0) return { ...state, round: { ...state.round, skipped: skipped - 1 } };
  const log = Math.log(Math.max(1, ms));
  const round = { ...state.round, answers: answers + 1, sum: sum + log, squares: squares + log * log, isFull: isFull || inFlight >= limit };
  const next = { ...state, round };
  return round.answers < answersNeeded(state) ? next : afterRound(next, atMs);
}

/**
 * Returns the state after a refusal: a 503, a timeout, or a refused connection. Ignores a refusal whose call started before the last
 * refusal, because the limit was lowered after that.
 */
export function afterRefusal(state: AutoState, { sentAtMs, atMs }: Pick<AutoAnswer, 'sentAtMs' | 'atMs'>): AutoState {
  if (sentAtMs <= state.refusedAtMs) return state;
  const limit = Math.max(1, Math.floor(foundBy(state) * leftByRefusal));
  return { ...changed(state, limit, atMs), reason: 'refused', isStarting: false, trial: undefined, wasSlow: false, refusedAtMs: atMs };
}

/** Depends only on earlier rounds, so that a round whose own responses happen to be similar does not end early. */
function answersNeeded({ limit, isStarting, variance = 0 }: AutoState): number {
  const least = isStarting ? leastAnswers.starting : leastAnswers.later;
  return Math.max(limit, least, Math.min(certain.answers, variance / certain.error ** 2));
}

function afterRound(before: AutoState, atMs: number): AutoState {
  const { limit, trial, fastest, round } = before;
  const { typicalMs, mostMs, variance } = timesOf(round, before.variance);
  const state: AutoState = { ...before, variance, trial: undefined, wasSlow: false };
  const measured: AutoState = { ...state, fastest: { ms: mostMs, atMs } };
  if (!fastest) return afterFastRound(measured, atMs);
  if (trial?.kind === 'measure') return changed(measured, trial.before, atMs);
  if (trial && isUnrelieved(trial, limit, typicalMs)) return { ...changed(measured, trial.before, atMs), reason: 'no-effect' };
  if (mostMs <= fastest.ms) return afterFastRound(measured, atMs);
  if (atMs - fastest.atMs > forgetMs) return tried(state, 'measure', { limit: Math.floor(limit / 2), ms: typicalMs, atMs });
  if (typicalMs <= fastest.ms * slower) return afterFastRound(state, atMs);
  const held: AutoState = { ...state, isStarting: false, round: emptyRound(round.sinceMs) };
  const leastMs = typicalMs * Math.exp(-Math.sqrt(variance / round.answers));
  if (!round.isFull || limit === 1) return held;
  // The round is only a little slower. In slow start, this means that doubling has raised the number too far.
  if (leastMs < fastest.ms * muchSlower)
    return before.isStarting ? { ...changed(held, Math.ceil((limit * fastest.ms) / typicalMs), atMs), reason: 'slow' } : held;
  if (!before.wasSlow) return { ...held, wasSlow: true };
  const gradient = Math.max(leastGradient, fastest.ms / typicalMs);
  const lower = Math.min(limit - 1, Math.ceil(limit * gradient));
  return { ...tried(held, 'relief', { limit: lower, ms: typicalMs, atMs }), reason: 'slow', wasSlow: true };
}

/** If fewer calls have hardly shortened the response times, the server itself has become slower. */
function isUnrelieved({ before, ms }: Trial, limit: number, nowMs: number): boolean {
  return nowMs > (ms * (1 + limit / before)) / 2 && nowMs < ms * stillChanging;
}

/** Raises the limit after a fast round, if the allowed number of calls was in flight during the round. */
function afterFastRound(state: AutoState, atMs: number): AutoState {
  const { limit, most, isStarting, round, refusedAtMs } = state;
  if (!round.isFull || limit >= most || atMs - refusedAtMs < restMs) return { ...state, round: emptyRound(round.sinceMs) };
  const more = { ...state, reason: 'fast' } as const;
  if (isStarting) return changed(more, Math.min(most, limit * 2), atMs);
  // Raises the limit by just one call. Calls that are already in flight therefore count for the next round.
  return { ...more, limit: limit + 1, round: emptyRound(round.sinceMs) };
}

/** Lowers the limit on the calls in flight for one round, as an experiment. */
function tried(state: AutoState, kind: Trial['kind'], { limit, ms, atMs }: { limit: number; ms: number; atMs: number }): AutoState {
  return { ...changed(state, Math.max(1, limit), atMs), trial: { kind, before: state.limit, ms } };
}

/** Sets the limit. Calls that are already in flight started under the old limit, so they do not count for any round. */
function changed(state: AutoState, limit: number, atMs: number): AutoState {
  return { ...state, limit, round: { ...emptyRound(atMs), skipped: (state.variance ?? 0) > mixed ? limit : 0 } };
}

function emptyRound(sinceMs: number): Round {
  return { sinceMs, skipped: 0, answers: 0, sum: 0, squares: 0, isFull: false };
}

/** Returns the typical response time (the geometric mean), an upper bound for it, and the variance averaged with the earlier rounds. */
function timesOf({ answers, sum, squares }: Round, earlier: number | undefined): { typicalMs: number; mostMs: number; variance: number } {
  const mean = sum / answers;
  const own = Math.max(0, squares / answers - mean * mean);
  const mostMs = Math.exp(mean + 2 * Math.sqrt(own / answers));
  return { typicalMs: Math.exp(mean), mostMs, variance: earlier === undefined ? own : earlier + (own - earlier) * varianceWeight };
}
