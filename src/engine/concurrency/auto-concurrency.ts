import type { ConcurrencyEvent } from '../../core/event.ts';
import { mostAuto } from '../../core/options/amounts.ts';

/**
 * Finds how many calls at once a server likes. The number grows while answers stay as fast as the fastest round of answers, as in TCP Vegas
 * (Brakmo and Peterson, 1995): doubled in slow start, then one more for each round. If answers become slower, it falls with the gradient
 * of the times, as in Gradient2 of Netflix (https://github.com/Netflix/concurrency-limits); if they are refused, by a third, as in AIMD.
 * Pure: a state and an answer make the next state.
 */

/** Calls in flight at the beginning. */
const first = 4;

/** Minimum of answers of a round: in slow start, which has to be quick, and after it. */
const leastAnswers = { starting: 8, later: 20 };

/** The more the times of answers vary, the more answers a round needs for its time to be this certain (standard error); at most `answers`. */
const certain = { error: 0.1, answers: 100 };

/** The variance from which on the first answers after a change do not count: those that arrive first are the fast ones. */
const mixed = 0.02;

/** Weight of a round in the variance of the times. */
const varianceWeight = 0.2;

/** The situation is still changing if fewer calls take longer than this multiple of the time before. */
const stillChanging = 1.1;

/** A round is slower from this multiple of the fastest round on: then the number holds. */
const slower = 1.15;

/** A round is much slower from this multiple of the fastest round on: then the number falls. */
const muchSlower = 1.35;

/** The lowest share to which slow answers lower the number in one round. */
const leastGradient = 0.5;

/** The share that is left after a refusal. */
const leftByRefusal = 2 / 3;

/** Time after a refusal in which the number does not grow. */
const restMs = 5000;

/** Time after which the fastest round is measured anew: the server may have become slower for good. */
const forgetMs = 60_000;

/** The answers of a round. Their times are summed as logarithms, so that one late answer does not decide. */
interface Round {
  /** Only answers to calls that started after this time belong to the round. */
  readonly sinceMs: number;
  /** Answers that are left out at first. */
  readonly skipped: number;
  readonly answers: number;
  readonly sum: number;
  readonly squares: number;
  /** True if all calls that are allowed were in flight at once. Otherwise the round does not show what more of them would do. */
  readonly isFull: boolean;
}

/** A round with fewer calls. `before`: the number that returns after it. `ms`: the time of the round before. */
interface Trial {
  readonly kind: 'relief' | 'measure';
  readonly before: number;
  readonly ms: number;
}

/** The state of one limit that finds its number by itself. */
export interface AutoState {
  /** Calls that may be in flight now. */
  readonly limit: number;
  readonly most: number;
  /** The cause of the last change. */
  readonly reason: ConcurrencyEvent['reason'];
  readonly isStarting: boolean;
  readonly round: Round;
  /** The time of an answer in the fastest round, and the time at which it was measured; undefined before the first round. */
  readonly fastest: { readonly ms: number; readonly atMs: number } | undefined;
  readonly trial: Trial | undefined;
  /** True if the last round was much slower. One such round may be chance. */
  readonly wasSlow: boolean;
  readonly refusedAtMs: number;
  /** The variance of the logarithms of the times in the last rounds; undefined before the first. */
  readonly variance: number | undefined;
}

/** An answer: its duration, the times at which its call started and it arrived, and the calls in flight then, itself included. */
export interface AutoAnswer {
  readonly ms: number;
  readonly sentAtMs: number;
  readonly atMs: number;
  readonly inFlight: number;
}

/** The state before the first call. `most`: maximum of calls in flight. */
export function startAuto(most: number = mostAuto): AutoState {
  return {
    limit: Math.min(first, most),
    most: Math.min(mostAuto, most),
    reason: 'start',
    isStarting: true,
    // The first answers have waited for their connections.
    round: { ...emptyRound(Number.NEGATIVE_INFINITY), skipped: first },
    fastest: undefined,
    trial: undefined,
    wasSlow: false,
    refusedAtMs: Number.NEGATIVE_INFINITY,
    variance: undefined,
  };
}

/** The number that was found. While the fastest round is measured anew, fewer calls are allowed. */
export function foundBy({ limit, trial }: AutoState): number {
  return trial?.kind === 'measure' ? trial.before : limit;
}

/** The state after an answer. */
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

/** The state after a refusal: a 429, a 503, a timeout, or a refused connection. Refusals of calls that started before the last one do not count. */
export function afterRefusal(state: AutoState, { sentAtMs, atMs }: Pick<AutoAnswer, 'sentAtMs' | 'atMs'>): AutoState {
  if (sentAtMs <= state.refusedAtMs) return state;
  const limit = Math.max(1, Math.floor(foundBy(state) * leftByRefusal));
  return { ...changed(state, limit, atMs), reason: 'refused', isStarting: false, trial: undefined, wasSlow: false, refusedAtMs: atMs };
}

/** The answers that a round needs. A round does not end because its own answers are alike: that would prefer lucky ones. */
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
  // Slow start has gone too far.
  if (leastMs < fastest.ms * muchSlower)
    return before.isStarting ? { ...changed(held, Math.ceil((limit * fastest.ms) / typicalMs), atMs), reason: 'slow' } : held;
  if (!before.wasSlow) return { ...held, wasSlow: true };
  const gradient = Math.max(leastGradient, fastest.ms / typicalMs);
  const lower = Math.min(limit - 1, Math.ceil(limit * gradient));
  return { ...tried(held, 'relief', { limit: lower, ms: typicalMs, atMs }), reason: 'slow', wasSlow: true };
}

/** True if fewer calls have hardly made it faster: then the server itself is slower now. */
function isUnrelieved({ before, ms }: Trial, limit: number, nowMs: number): boolean {
  return nowMs > (ms * (1 + limit / before)) / 2 && nowMs < ms * stillChanging;
}

/** Allows more calls, if all that were allowed were in flight. */
function afterFastRound(state: AutoState, atMs: number): AutoState {
  const { limit, most, isStarting, round, refusedAtMs } = state;
  if (!round.isFull || limit >= most || atMs - refusedAtMs < restMs) return { ...state, round: emptyRound(round.sinceMs) };
  const more = { ...state, reason: 'fast' } as const;
  if (isStarting) return changed(more, Math.min(most, limit * 2), atMs);
  // One more call changes little: the calls in flight belong to the next round.
  return { ...more, limit: limit + 1, round: emptyRound(round.sinceMs) };
}

/** Allows fewer calls for a round, to see what it changes. */
function tried(state: AutoState, kind: Trial['kind'], { limit, ms, atMs }: { limit: number; ms: number; atMs: number }): AutoState {
  return { ...changed(state, Math.max(1, limit), atMs), trial: { kind, before: state.limit, ms } };
}

/** Sets the number. The calls in flight started under another number, and belong to no round. */
function changed(state: AutoState, limit: number, atMs: number): AutoState {
  return { ...state, limit, round: { ...emptyRound(atMs), skipped: (state.variance ?? 0) > mixed ? limit : 0 } };
}

function emptyRound(sinceMs: number): Round {
  return { sinceMs, skipped: 0, answers: 0, sum: 0, squares: 0, isFull: false };
}

/** The typical time of an answer (the geometric mean), the most that it may be, and the variance of the times, with that of earlier rounds. */
function timesOf({ answers, sum, squares }: Round, earlier: number | undefined): { typicalMs: number; mostMs: number; variance: number } {
  const mean = sum / answers;
  const own = Math.max(0, squares / answers - mean * mean);
  const mostMs = Math.exp(mean + 2 * Math.sqrt(own / answers));
  return { typicalMs: Math.exp(mean), mostMs, variance: earlier === undefined ? own : earlier + (own - earlier) * varianceWeight };
}
