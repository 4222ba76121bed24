import type { CallLimit } from '../core/call.ts';
import type { ConcurrencyEvent } from '../core/event.ts';
import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto, withMost } from './auto-concurrency.ts';
import { Turns } from './gate.ts';
import type { AttemptTimes } from './pace.ts';

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
export class Slots {
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

  /** The limit can adapt to the response times. */
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
