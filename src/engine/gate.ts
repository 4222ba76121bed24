import type { CallLimit } from '../core/call.ts';
import type { ConcurrencyEvent } from '../core/event.ts';
import type { Clock, Permits } from '../core/ports.ts';
import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto } from './concurrency/auto-concurrency.ts';
import { type AttemptTimes, type Door, type Slot, Turns } from './turns.ts';

/** A timer may be this late without lowering the rate. */
const slackMs = 10;

/** A reserved start that is later than this is given up. */
const lapseMs = 50;

/** Starts within this time are reserved together. */
const reservedMs = 20;

/**
 * Limits how fast calls reach one origin with one credential: a rate (calls per time) and a pause (until a 429 or Retry-After is
 * over). It holds for all runs together; they take turns.
 */
export class Gate implements Door {
  readonly turns = new Turns();
  readonly #clock: Clock;
  readonly #permits: Permits | undefined;
  #intervalMs = 0;
  #pausedUntilMs = 0;
  /** Earliest start of the next call, in monotonic ms. */
  #nextStartMs = 0;
  /** End of the timer that runs; 0 without one. */
  #timerMs = 0;
  /** Starts that are reserved, one interval apart, the first at `#nextStartMs`. */
  #reserved = 0;
  #isReserving = false;

  /** `permits`: shares the rate and the pauses with other processes; undefined if there are none. */
  constructor(clock: Clock, permits?: Permits) {
    this.#clock = clock;
    this.#permits = permits;
  }

  /** Sets the time between two calls. A shorter one does not replace a longer one. */
  limitRate(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }

  /** Starts no call for `waitMs`. A shorter pause does not end a longer one. */
  pause(waitMs: number): void {
    this.pauseHere(waitMs);
    this.#permits?.pause(waitMs);
  }

  /** Starts no call in this process for `waitMs`. */
  pauseHere(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.now() + waitMs);
  }

  /** True if a call may start now; else the waiting calls start later by themselves. */
  isOpen(): boolean {
    const now = this.#clock.now();
    if (this.#pausedUntilMs > now) return this.#startAt(this.#pausedUntilMs);
    if (this.#permits && this.#intervalMs > 0 && !this.#hasReserved(now)) return this.#reserve(this.#permits);
    return this.#nextStartMs <= now || this.#startAt(this.#nextStartMs);
  }

  pass(): void {
    if (this.#reserved > 0) {
      this.#reserved--;
      this.#nextStartMs += this.#intervalMs;
    } else if (this.#intervalMs > 0) this.#nextStartMs = Math.max(this.#nextStartMs, this.#clock.now() - slackMs) + this.#intervalMs;
  }

  /** Starts the calls that may start now. */
  startReady(): void {
    for (let queue = this.turns.next(); queue; queue = this.turns.next()) queue.startFirst();
  }

  /** True if nothing is lost with the gate. */
  isIdle(): boolean {
    const now = this.#clock.now();
    return this.#pausedUntilMs <= now && this.#nextStartMs <= now && this.turns.areNone;
  }

  /** Starts the waiting calls at a later time. Returns false. */
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
    for (; this.#reserved > 0 && now - this.#nextStartMs > lapseMs; this.#reserved--) this.#nextStartMs += this.#intervalMs;
    return this.#reserved > 0;
  }

  /** Reserves starts, and then starts the waiting calls. Returns false. */
  #reserve(permits: Permits): false {
    if (this.#isReserving) return false;
    this.#isReserving = true;
    // One turn later, the calls of this turn wait as well.
    void this.#clock.nextTurn().then(async () => {
      const most = Math.max(1, Math.floor(reservedMs / this.#intervalMs));
      const reserved = await permits.reserve(this.#intervalMs, Math.min(most, Math.max(1, this.turns.startable)));
      const { count, inMs, intervalMs } = reserved;
      this.#isReserving = false;
      this.limitRate(intervalMs);
      this.#reserved = count;
      this.#nextStartMs = this.#clock.now() + inMs;
      if (count === 0) this.#startAt(this.#nextStartMs);
      else this.startReady();
    });
    return false;
  }
}

/** A run that uses slots. */
export interface SlotUser {
  /** Takes the news that the run may have room for more records. */
  checkRoom(): void;
  /** Takes a change of the number of calls in flight, where it is found. */
  report(event: ConcurrencyEvent): void;
}

/**
 * Limits the calls in flight of one node, or of one connection, over all runs of the process. While runs with different limits use
 * the slots, because a flow or a connection was edited between their starts, the lowest limit holds for all of them.
 */
export class Slots implements Door, Slot {
  readonly turns = new Turns();
  /** The runs under way that use the slots, and their limits. */
  readonly #users = new Map<SlotUser, CallLimit>();
  readonly #unused: () => void;
  #max = Number.POSITIVE_INFINITY;
  #inFlight = 0;
  /** The number that was found; undefined while no run has asked for it. */
  #auto: AutoState | undefined;

  /** `unused`: called once no run uses the slots and no call is in flight. */
  constructor(unused: () => void) {
    this.#unused = unused;
  }

  get max(): number {
    return this.#max;
  }

  get left(): number {
    return Math.max(0, this.#max - this.#inFlight);
  }

  /** True if a number was found that later runs can begin with. */
  get hasFound(): boolean {
    return this.#auto !== undefined;
  }

  isOpen(): boolean {
    return this.#inFlight < this.#max;
  }

  pass(): void {
    this.#inFlight++;
  }

  /** Adds a run with its limit. */
  join(user: SlotUser, limit: CallLimit): void {
    this.#users.set(user, limit);
    if (limit.auto !== undefined) this.#auto ??= startAuto(limit.max);
    this.#setMax();
    if (limit.auto !== undefined) user.report({ type: 'concurrency', gate: limit.auto, to: this.#found, reason: 'start' });
  }

  /** Removes a run that makes no more calls. */
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

  /** The number that was found, as far as all runs allow it. */
  get #found(): number {
    return this.#auto ? Math.min(foundBy(this.#auto), this.#bound) : this.#bound;
  }

  /** The lowest limit of the runs. */
  get #bound(): number {
    let bound = Number.POSITIVE_INFINITY;
    for (const { max } of this.#users.values()) bound = Math.min(bound, max);
    return bound;
  }

  /** The found number holds only while a run wants it. */
  #setMax(): void {
    let isWanted = false;
    for (const { auto } of this.#users.values()) isWanted ||= auto !== undefined;
    this.#max = isWanted && this.#auto ? Math.min(this.#bound, this.#auto.limit) : this.#bound;
  }

  #tune(auto: AutoState): void {
    const before = this.#auto;
    if (auto === before) return;
    const from = this.#found;
    this.#auto = auto;
    // Most answers change no number.
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
