import type { Clock, Permits } from '../core/ports.ts';
import {
  type AttemptTimes,
  leastAnswers,
  nextStart,
  type Pace,
  paceAfterAnswer,
  paceAfterFirst,
  paceAfterRefusal,
  type Refusal,
} from './pace.ts';
import type { RunPhase } from './phase.ts';

/** A call may start this many ms late without lowering the rate: the wait before the next call is shortened by the delay. */
const slackMs = 10;

/** A start that was reserved in the shared gate is given up once it is this many ms late. */
const lapseMs = 50;

/** Starts that lie within this time in ms are reserved together. */
const reservedMs = 20;

/** If no start could be reserved, the process with the lowest rate might have ended, so starts are requested again after this time in ms. */
const askAgainMs = 1000;

interface WaitingCalls {
  readonly isEmpty: boolean;
  /** Number of calls that only the gate keeps waiting. */
  readonly startable: number;
  readonly firstRecord: number;
  isReady(): boolean;
  startFirst(): void;
}

/**
 * A run goes to the end of the order when it begins to wait, and whenever it has started a call. Its next call therefore waits for at most
 * one call of each other run, no matter how many calls wait there.
 */
export class Turns {
  readonly #queues = new Map<RunPhase, Set<WaitingCalls>>();

  get areNone(): boolean {
    return this.#queues.size === 0;
  }

  /** Counts calls that only the gate keeps waiting. Calls are counted more than once if their queues share slots. */
  get startable(): number {
    let sum = 0;
    for (const queues of this.#queues.values()) for (const queue of queues) sum += queue.startable;
    return sum;
  }

  /** Returns the queue of the first run in turn whose first call may start; of several queues, the queue with the lowest record number. */
  next(): WaitingCalls | undefined {
    for (const queues of this.#queues.values()) {
      let next: WaitingCalls | undefined;
      for (const queue of queues) if ((!next || queue.firstRecord < next.firstRecord) && queue.isReady()) next = queue;
      if (next) return next;
    }
    return undefined;
  }

  add(run: RunPhase, queue: WaitingCalls): void {
    const queues = this.#queues.get(run);
    if (queues) queues.add(queue);
    else this.#queues.set(run, new Set([queue]));
  }

  /** The run moves to the end of the order. Removes the queue if it is empty. */
  end(run: RunPhase, queue: WaitingCalls): void {
    if (!queue.isEmpty && this.#queues.size === 1) return;
    const queues = this.#queues.get(run);
    if (queue.isEmpty) queues?.delete(queue);
    this.#queues.delete(run);
    if (queues && queues.size > 0) this.#queues.set(run, queues);
  }
}

/**
 * Limits how fast calls with one credential reach one origin, also at a pace that refusals teach. Pauses after a Retry-After. All runs
 * share it and take turns.
 */
export class Gate {
  readonly turns = new Turns();
  readonly #clock: Clock;
  readonly #permits: Permits | undefined;
  /** For each run that has a rate, its lowest rate, as the time in ms between two calls. */
  readonly #rates = new Map<object, number>();
  /** The time in ms between two calls at the lowest of these rates; 0 without a rate. */
  #intervalMs = 0;
  #pausedUntilMs = 0;
  /** Earliest start of the next call, in monotonic ms. `#startMs` takes into account that a lower rate may have ended since. */
  #nextStartMs = 0;
  /** The interval in ms that was kept free after the last call. */
  #lastIntervalMs = 0;
  /** Time at which the running timer ends, in monotonic ms; 0 if no timer is running. */
  #timerMs = 0;
  /** They are one interval apart, and the first is at `firstMs`. */
  #reserved = { count: 0, firstMs: 0, intervalMs: 0 };
  #isReserving = false;
  /** Learned from the server's refusals of this process; undefined until the first one. A rate that is set applies in addition. */
  #pace: Pace | undefined;
  /** Until then: how many calls the server has accepted, and when it accepted the first, in monotonic ms. */
  #answers = 0;
  #firstMs = 0;
  /** Earliest start of the next call at the learned pace, in monotonic ms. */
  #pacedMs = 0;

  /** `permits` shares the rate and the pauses with other processes. Undefined if there is only this process. */
  constructor(clock: Clock, permits?: Permits) {
    this.#clock = clock;
    this.#permits = permits;
  }

  /** Sets the time between two calls until `endRate`. If runs set different intervals, the longest one applies. */
  limitRate(run: object, intervalMs: number): void {
    if (intervalMs <= (this.#rates.get(run) ?? 0)) return;
    this.#rates.set(run, intervalMs);
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }

  endRate(run: object): void {
    if (!this.#rates.delete(run)) return;
    const intervalMs = Math.max(0, ...this.#rates.values());
    if (intervalMs === this.#intervalMs) return;
    this.#intervalMs = intervalMs;
    this.#reserved.count = 0;
    // The next reservation tells the other processes the remaining rate of this process.
    this.#permits?.release();
    this.startReady();
  }

  /** For `waitMs`, no new call starts in any process. If a longer pause is already under way, the longer one continues. */
  pause(waitMs: number, isPaced = false): void {
    this.#pauseHere(waitMs);
    this.#permits?.pause(waitMs, isPaced);
  }

  /** Another process has paused the gate. `isPaced` if it goes on at a pace that it has learned from a refusal. */
  pausedElsewhere(waitMs: number, isPaced: boolean): void {
    if (isPaced) this.#refusedElsewhere(waitMs);
    this.#pauseHere(waitMs);
  }

  /** True if a call may start now. If not, sets a timer that starts the waiting calls later. */
  isOpen(): boolean {
    const now = this.#clock.now();
    if (this.#pausedUntilMs > now) return this.#startAt(this.#pausedUntilMs);
    if (this.#pacedMs > now) return this.#startAt(this.#pacedMs);
    if (this.#permits && this.#intervalMs > 0 && !this.#hasReserved(now)) return this.#reserve(this.#permits);
    return this.#startMs <= now || this.#startAt(this.#startMs);
  }

  pass(): void {
    if (this.#pace) this.#pacedMs = nextStart(this.#pace, this.#pacedMs, this.#clock.now());
    if (this.#reserved.count > 0) this.#useReserved();
    else if (this.#intervalMs > 0) {
      this.#nextStartMs = Math.max(this.#startMs, this.#clock.now() - slackMs) + this.#intervalMs;
      this.#lastIntervalMs = this.#intervalMs;
    }
  }

  /** Notes that the server has accepted a call. */
  answered(times: AttemptTimes): void {
    if (this.#pace) this.#learn(paceAfterAnswer(this.#pace, times));
    else if (this.#answers++ === 0) this.#firstMs = times.atMs;
  }

  /** Notes that the server has refused a call because calls came too fast. Returns the pace that has been learned, if any. */
  refused(refusal: Refusal): Pace | undefined {
    return this.#learn(this.#pace ? paceAfterRefusal(this.#pace, refusal) : paceAfterFirst(this.#answers, this.#firstMs, refusal));
  }

  startReady(): void {
    for (let queue = this.turns.next(); queue; queue = this.turns.next()) queue.startFirst();
  }

  /** True if the gate can be deleted, because no call waits, and no pause or interval is under way. */
  isIdle(): boolean {
    const now = this.#clock.now();
    return this.#pausedUntilMs <= now && Math.max(this.#pacedMs, this.#startMs) <= now && this.turns.areNone;
  }

  /** Earliest start of the next call, in monotonic ms. If a lower rate has ended since the last call, it is before `#nextStartMs`. */
  get #startMs(): number {
    if (this.#reserved.count > 0) return this.#reserved.firstMs;
    return this.#nextStartMs - Math.max(0, this.#lastIntervalMs - this.#intervalMs);
  }

  #pauseHere(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.now() + waitMs);
  }

  /** If each process counted only its own refusals, several processes would together pause several times as often as a single one. */
  #refusedElsewhere(pauseMs: number): void {
    const atMs = this.#clock.now();
    const isPaused = this.#pausedUntilMs > atMs;
    // Refusals during a pause, and before a call was accepted at the present rate, say nothing about this rate.
    const isKnown = this.#pace && (isPaused || this.#pace.since === 0);
    this.#answers = Math.max(this.#answers, leastAnswers);
    this.refused({ sentAtMs: isKnown ? 0 : atMs, atMs, pauseMs, isRepeated: false });
    // If all processes went on when the pause ends, they would exceed a small burst. So each keeps its place in the interval.
    if (this.#pace && !isPaused) this.#pacedMs = Math.max(this.#pacedMs, atMs) + pauseMs;
  }

  /** Sets a timer that starts the waiting calls at `atMs`. Returns false, the result of `isOpen`. */
  #startAt(atMs: number): false {
    if (this.#timerMs === atMs) return false;
    this.#timerMs = atMs;
    void this.#clock.sleepUntil(atMs).then(() => {
      if (this.#timerMs === atMs) this.#timerMs = 0;
      this.startReady();
    });
    return false;
  }

  /** Begins to count answers again if the pace is forgotten. */
  #learn(pace: Pace | undefined): Pace | undefined {
    if (this.#pace && !pace) this.#answers = 0;
    this.#pace = pace;
    return pace;
  }

  #hasReserved(now: number): boolean {
    while (this.#reserved.count > 0 && now - this.#reserved.firstMs > lapseMs) this.#useReserved();
    return this.#reserved.count > 0;
  }

  #useReserved(): void {
    this.#reserved.count--;
    this.#reserved.firstMs += this.#reserved.intervalMs;
  }

  /** Asks the gate that all processes share for starts, and then starts the waiting calls. Returns false, the result of `isOpen`. */
  #reserve(permits: Permits): false {
    if (this.#isReserving) return false;
    this.#isReserving = true;
    // Reserves one turn of the event loop later, so that the reservation includes the calls that are still added in this turn.
    void this.#clock.nextTurn().then(async () => {
      const most = Math.max(1, Math.floor(reservedMs / Math.max(this.#intervalMs, this.#reserved.intervalMs)));
      const asked = this.#intervalMs;
      const { count, inMs, intervalMs } = await permits.reserve(asked, Math.min(most, Math.max(1, this.turns.startable)));
      this.#isReserving = false;
      const now = this.#clock.now();
      // If the rate has changed in the meantime, the reservation is discarded.
      const isCurrent = this.#intervalMs === asked;
      this.#reserved = { count: isCurrent ? count : 0, firstMs: now + inMs, intervalMs };
      if (isCurrent && count === 0) this.#startAt(now + Math.min(inMs, askAgainMs));
      else this.startReady();
    });
    return false;
  }
}
