import type { Clock } from '../core/ports.ts';
import { type Door, type Slot, Turns } from './turns.ts';

/** A timer may be this late without lowering the rate. */
const slackMs = 10;

/**
 * Limits how fast calls reach one origin with one credential: a rate (calls per time) and a pause (until a 429 or Retry-After is
 * over). It holds for all runs together; they take turns.
 */
export class Gate implements Door {
  readonly turns = new Turns();
  readonly #clock: Clock;
  #intervalMs = 0;
  #pausedUntilMs = 0;
  /** Earliest start of the next call, in monotonic ms. */
  #nextStartMs = 0;
  /** End of the timer that runs; 0 without one. */
  #timerMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the time between two calls. A shorter one does not replace a longer one. */
  limitRate(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }

  /** Starts no call for `waitMs`. A shorter pause does not end a longer one. */
  pause(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.now() + waitMs);
  }

  /** True if a call may start now; else a timer starts the waiting calls later. */
  isOpen(): boolean {
    const readyMs = Math.max(this.#pausedUntilMs, this.#nextStartMs);
    if (readyMs <= this.#clock.now()) return true;
    this.#startAt(readyMs);
    return false;
  }

  pass(): void {
    if (this.#intervalMs > 0) this.#nextStartMs = Math.max(this.#nextStartMs, this.#clock.now() - slackMs) + this.#intervalMs;
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

  #startAt(atMs: number): void {
    if (this.#timerMs === atMs) return;
    this.#timerMs = atMs;
    void this.#clock.sleepUntil(atMs).then(() => {
      if (this.#timerMs === atMs) this.#timerMs = 0;
      this.startReady();
    });
  }
}

/** A run that uses slots. */
export interface SlotUser {
  /** Takes the news that the run may have room for more records. */
  checkRoom(): void;
}

/**
 * Limits the calls in flight of one node, or of one connection, over all runs of the process. While runs with different limits use
 * the slots, because a flow or a connection was edited between their starts, the lowest limit holds for all of them.
 */
export class Slots implements Door, Slot {
  readonly turns = new Turns();
  /** The runs under way that use the slots, and their limits. */
  readonly #users = new Map<SlotUser, number>();
  readonly #unused: () => void;
  #max = Number.POSITIVE_INFINITY;
  #inFlight = 0;

  /** `unused`: called once no run uses the slots and no call is in flight. */
  constructor(unused: () => void) {
    this.#unused = unused;
  }

  get max(): number {
    return this.#max;
  }

  isOpen(): boolean {
    return this.#inFlight < this.#max;
  }

  pass(): void {
    this.#inFlight++;
  }

  /** Adds a run with its limit. */
  join(user: SlotUser, max: number): void {
    this.#users.set(user, max);
    this.#max = Math.min(this.#max, max);
  }

  /** Removes a run that makes no more calls. */
  quit(user: SlotUser): void {
    this.#users.delete(user);
    this.#max = Math.min(...this.#users.values());
    this.#startReady();
  }

  free(): void {
    this.#inFlight--;
    this.#startReady();
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
