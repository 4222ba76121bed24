import type { Phase, StopReason } from '../core/workers/closing.ts';

/**
 * new: no request was sent for this record yet.
 * begun: a request was sent, but this call holds no credit.
 * paid: this call holds its credit.
 */
export type CallStage = 'new' | 'begun' | 'paid';

/** Called when the phase changes, or allows less work than before. */
export type PhaseListener = (phase: Phase, previous: Phase) => void;

const order: readonly Phase[] = ['open', 'finishing', 'unpaid', 'stopped'];

/** The phase of one run: the only way a run closes. */
export class RunPhase {
  readonly #listeners: PhaseListener[] = [];
  readonly #stopping = new AbortController();
  #changing = new AbortController();
  #phase: Phase = 'open';
  #reason: StopReason | undefined;
  #patienceMs = Number.POSITIVE_INFINITY;
  #before = Number.POSITIVE_INFINITY;
  readonly #mayBegin: (() => boolean) | undefined;

  /** `mayBegin`: false while no record may begin; undefined for always. */
  constructor(mayBegin?: () => boolean) {
    this.#mayBegin = mayBegin;
  }

  get current(): Phase {
    return this.#phase;
  }

  /** The first reason that was given; absent while the run is open, and if an error ended it. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Aborted once the run is stopped. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborted at the next change. */
  get change(): AbortSignal {
    return this.#changing.signal;
  }

  /** Advances to a phase, unless the run is further already. The least patience and the lowest `before` of all reasons count. */
  advance(phase: Phase, reason?: StopReason): void {
    const previous = this.#phase;
    if (previous === 'stopped') return;
    if (order.indexOf(phase) > order.indexOf(previous)) this.#phase = phase;
    if (!this.#narrow(reason) && this.#phase === previous) return;
    this.#reason ??= reason;
    for (const listener of this.#listeners) listener(this.#phase, previous);
    const changed = this.#changing;
    this.#changing = new AbortController();
    changed.abort();
    if (this.#phase === 'stopped') this.#stopping.abort();
  }

  /** Calls the listener at every change. */
  onPhase(listener: PhaseListener): void {
    this.#listeners.push(listener);
  }

  /** True if a call may start. */
  admits(record: number, stage: CallStage): boolean {
    if (this.#phase === 'unpaid') return stage === 'paid';
    return this.wants(record, stage !== 'new');
  }

  /** True if a record may go on. `hasBegun`: true if a request was sent for the record. */
  wants(record: number, hasBegun: boolean): boolean {
    return this.#phase !== 'stopped' && (hasBegun || (record < this.#before && (this.#mayBegin?.() ?? true)));
  }

  /** True if a call may wait for `waitMs`. `isPaid`: true if the call holds its credit. */
  allowsWait(waitMs: number, isPaid: boolean): boolean {
    return this.#phase !== 'stopped' && (isPaid || this.#phase !== 'unpaid') && waitMs <= this.#patienceMs;
  }

  /** True if the reason allows less work than the earlier reasons. */
  #narrow(reason: StopReason | undefined): boolean {
    if (!reason) return false;
    const { patienceMs = Number.POSITIVE_INFINITY, before = 0 } = reason;
    if (patienceMs >= this.#patienceMs && before >= this.#before) return false;
    this.#patienceMs = Math.min(this.#patienceMs, patienceMs);
    this.#before = Math.min(this.#before, before);
    return true;
  }
}

/** Lets one caller wait until another wakes it. */
export class Wakeup {
  #wake: (() => void) | undefined;

  /** True while the caller waits. */
  get isAwaited(): boolean {
    return this.#wake !== undefined;
  }

  /** Resolves at the next `wake`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
