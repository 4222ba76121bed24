import type { CallLimit } from '../core/call.ts';
import type { ConcurrencyEvent } from '../core/event.ts';
import type { Clock, Permits } from '../core/ports.ts';
import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto, withMost } from './auto-concurrency.ts';
import { type AttemptTimes, type Door, type Slot, Turns } from './turns.ts';

/** A call may start this many ms late without lowering the rate: the wait before the next call is shortened by the delay. */
const slackMs = 10;

/** A start that was reserved in the shared gate is given up once it is this many ms late. */
const lapseMs = 50;

/** Starts that lie within this time in ms are reserved together. */
const reservedMs = 20;

/**
 * If no start could be reserved, the process with the lowest rate might have ended, so starts are requested again after this time in ms.
 */
const askAgainMs = 1000;

/** Limits how fast calls with one credential reach one origin. Pauses after a 429 or a Retry-After. All runs share it and take turns. */
export class Gate implements Door {
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
  pause(waitMs: number): void {
    this.pauseHere(waitMs);
    this.#permits?.pause(waitMs);
  }

  /** For `waitMs`, no new call starts in this process. Other processes do not pause. */
  pauseHere(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.now() + waitMs);
  }

  /** True if a call may start now. If not, sets a timer that starts the waiting calls later. */
  isOpen(): boolean {
    const now = this.#clock.now();
    if (this.#pausedUntilMs > now) return this.#startAt(this.#pausedUntilMs);
    if (this.#permits && this.#intervalMs > 0 && !this.#hasReserved(now)) return this.#reserve(this.#permits);
    return this.#startMs <= now || this.#startAt(this.#startMs);
  }

  pass(): void {
    if (this.#reserved.count > 0) this.#useReserved();
    else if (this.#intervalMs > 0) {
      this.#nextStartMs = Math.max(this.#startMs, this.#clock.now() - slackMs) + this.#intervalMs;
      this.#lastIntervalMs = this.#intervalMs;
    }
  }

  startReady(): void {
    for (let queue = this.turns.next(); queue; queue = this.turns.next()) queue.startFirst();
  }

  /** True if the gate can be deleted, because no call waits, and no pause or interval is under way. */
  isIdle(): boolean {
    const now = this.#clock.now();
    return this.#pausedUntilMs <= now && this.#startMs <= now && this.turns.areNone;
  }

  /**
   * Earliest start of the next call, in monotonic ms. If a lower rate has ended since the last call, this is earlier than `#nextStartMs`.
   */
  get #startMs(): number {
    if (this.#reserved.count > 0) return this.#reserved.firstMs;
    return this.#nextStartMs - Math.max(0, this.#lastIntervalMs - this.#intervalMs);
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

export interface SlotUser {
  /** Called when slots are free, because the run might then have room for more records. */
  checkRoom(): void;
  /** Receives every change of a limit that adapts to the server. */
  report(event: ConcurrencyEvent): void;
}

/**
 * Limits the number of calls in flight of one node or connection, across all runs of the process. Runs can have different limits if a flow
 * or connection was edited after one of them started. The lowest limit then applies to all runs.
 */
export class Slots implements Door, Slot {
  readonly turns = new Turns();
  readonly #users = new Map<SlotUser, CallLimit>();
  readonly #unused: () => void;
  #max = Number.POSITIVE_INFINITY;
  #inFlight = 0;
  /** The state of the limit that adapts to the server; undefined if no run has used one yet. */
  #auto: AutoState | undefined;

  /** `unused` is called when no run uses the slots any more and no call is in flight. */
  constructor(unused: () => void) {
    this.#unused = unused;
  }

  get max(): number {
    return this.#max;
  }

  get left(): number {
    return Math.max(0, this.#max - this.#inFlight);
  }

  /** True if the limit has adapted to the server. Later runs can then start with the adapted limit. */
  get hasFound(): boolean {
    return this.#auto !== undefined;
  }

  isOpen(): boolean {
    return this.#inFlight < this.#max;
  }

  pass(): void {
    this.#inFlight++;
  }

  join(user: SlotUser, limit: CallLimit): void {
    this.#users.set(user, limit);
    if (limit.auto !== undefined) this.#auto ??= startAuto(limit.max);
    this.#setMax();
    if (limit.auto !== undefined) user.report({ type: 'concurrency', gate: limit.auto, to: this.#found, reason: 'start' });
  }

  quit(user: SlotUser): void {
    this.#users.delete(user);
    this.#setMax();
    this.#startReady();
  }

  free(): void {
    this.#inFlight--;
    this.#startReady();
  }

  answered({ sentAtMs, atMs }: AttemptTimes): void {
    if (this.#auto) this.#tune(afterAnswer(this.#auto, { ms: atMs - sentAtMs, sentAtMs, atMs, inFlight: this.#inFlight }));
  }

  refused(times: AttemptTimes): void {
    if (this.#auto) this.#tune(afterRefusal(this.#auto, times));
  }

  /** Returns the adapted limit, or the lowest limit of all runs if the lowest limit is lower. */
  get #found(): number {
    return this.#auto ? Math.min(foundBy(this.#auto), this.#bound) : this.#bound;
  }

  get #bound(): number {
    let bound = Number.POSITIVE_INFINITY;
    for (const { max } of this.#users.values()) bound = Math.min(bound, max);
    return bound;
  }

  /** The limit that adapts to the server applies only while a run uses it, and a run's own limit only during that run. */
  #setMax(): void {
    if (this.#auto) this.#auto = withMost(this.#auto, this.#bound);
    let isWanted = false;
    for (const { auto } of this.#users.values()) isWanted ||= auto !== undefined;
    this.#max = isWanted && this.#auto ? Math.min(this.#bound, this.#auto.limit) : this.#bound;
  }

  #tune(auto: AutoState): void {
    const before = this.#auto;
    if (auto === before) return;
    const from = this.#found;
    this.#auto = auto;
    // Most responses change neither the limit nor the experiment, so there is nothing to report.
    if (auto.limit === before?.limit && auto.trial === before.trial) return;
    this.#setMax();
    const to = this.#found;
    if (to === from) return;
    for (const [user, limit] of this.#users)
      if (limit.auto !== undefined) user.report({ type: 'concurrency', gate: limit.auto, from, to, reason: auto.reason });
  }

  #startReady(): void {
    while (this.isOpen()) {
      const queue = this.turns.next();
      if (queue) queue.startFirst();
      else break;
    }
    if (this.isOpen()) for (const user of this.#users.keys()) user.checkRoom();
    if (this.#users.size === 0 && this.#inFlight === 0) this.#unused();
  }
}
