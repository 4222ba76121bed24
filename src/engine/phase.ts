import type { CodedMessage } from '../core/error-code.ts';
import type { Ending, FailedStep } from '../core/event.ts';

/** `new`: no request was sent for the record. `begun`: a request was sent, but this call has no credit. `paid`: a credit is reserved. */
export type CallStage = 'new' | 'begun' | 'paid';

/** Called when the phase of the run changes, or when a new reason allows less work than before. */
type PhaseListener = (phase: Phase, previous: Phase) => void;

const order: readonly Phase[] = ['open', 'finishing', 'unpaid', 'stopped'];

/** The phase of one run. Advancing the phase is the only way to end a run early. */
export class RunPhase {
  readonly #listeners: PhaseListener[] = [];
  readonly #stopping = new AbortController();
  #changing = new AbortController();
  #phase: Phase = 'open';
  #reason: StopReason | undefined;
  #patienceMs = Number.POSITIVE_INFINITY;
  #before = Number.POSITIVE_INFINITY;
  readonly #mayBegin: (() => boolean) | undefined;

  /** `mayBegin` returns false while no record may begin. If undefined, records may always begin. */
  constructor(mayBegin?: () => boolean) {
    this.#mayBegin = mayBegin;
  }

  get current(): Phase {
    return this.#phase;
  }

  /**
   * The reason why the run ends early: the first one, unless a later one ends the run in the same way but at an earlier record. Undefined
   * while the run is open, and if an error ended the run.
   */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** A signal that is aborted at the next change of the phase or of its limits. */
  get change(): AbortSignal {
    return this.#changing.signal;
  }

  /** Does nothing if the run has already advanced further. The lowest `patienceMs` and the lowest `before` of all reasons apply. */
  advance(phase: Phase, reason?: StopReason): void {
    const previous = this.#phase;
    if (previous === 'stopped') return;
    if (order.indexOf(phase) > order.indexOf(previous)) this.#phase = phase;
    if (!this.#narrow(reason) && this.#phase === previous) return;
    if (!this.#reason || isEarlier(reason, this.#reason)) this.#reason = reason;
    for (const listener of this.#listeners) listener(this.#phase, previous);
    const changed = this.#changing;
    this.#changing = new AbortController();
    changed.abort();
    if (this.#phase === 'stopped') this.#stopping.abort();
  }

  onPhase(listener: PhaseListener): void {
    this.#listeners.push(listener);
  }

  admits(record: number, stage: CallStage): boolean {
    if (this.#phase === 'unpaid') return stage === 'paid';
    return this.wants(record, stage !== 'new');
  }

  /** `hasBegun` is true if a request was sent for the record. */
  wants(record: number, hasBegun: boolean): boolean {
    return this.#phase !== 'stopped' && (hasBegun || (record < this.#before && (this.#mayBegin?.() ?? true)));
  }

  /** True if a call may wait for `waitMs`. `isPaid` is true if a credit is already reserved for the call. */
  allowsWait(waitMs: number, isPaid: boolean): boolean {
    return this.#phase !== 'stopped' && (isPaid || this.#phase !== 'unpaid') && waitMs <= this.#patienceMs;
  }

  /** True if the limits of the reason allow less work than the current limits. */
  #narrow(reason: StopReason | undefined): boolean {
    if (!reason) return false;
    const { patienceMs = Number.POSITIVE_INFINITY, before = 0 } = reason;
    if (patienceMs >= this.#patienceMs && before >= this.#before) return false;
    this.#patienceMs = Math.min(this.#patienceMs, patienceMs);
    this.#before = Math.min(this.#before, before);
    return true;
  }
}

/** True if the first reason ends the run in the same way as the second, but at an earlier record. */
function isEarlier(reason: StopReason | undefined, { ending, before }: StopReason): reason is StopReason {
  return reason?.ending === ending && reason.before !== undefined && before !== undefined && reason.before < before;
}

/** Lets callers wait until another caller wakes all of them. */
export class Wakeup {
  #waiting: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  wait(): Promise<void> {
    this.#waiting ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#waiting;
  }

  wake(): void {
    this.#waiting = undefined;
    this.#wake?.();
  }
}

/**
 * The phases through which a run ends. A run never returns to an earlier phase.
 *
 * | phase | may continue |
 * |---|---|
 * | open | everything |
 * | finishing | records for which a request was sent, and records before `StopReason.before` |
 * | unpaid | calls for which a credit is reserved, because no credits are left |
 * | stopped | nothing |
 */
export type Phase = 'open' | 'finishing' | 'unpaid' | 'stopped';

export interface StopReason extends CodedMessage {
  readonly ending: Ending;
  /** The step of a `first` node that can only fail, although others might succeed; undefined if the reason is another one. */
  readonly step?: FailedStep;
  /** The longest wait in ms, such as a wait before a retry, that a run still accepts while it ends; undefined for no maximum. */
  readonly patienceMs?: number;
  /** Records with a lower number still begin. Otherwise, a resumed run could end at the same record every time and make no progress. */
  readonly before?: number;
}

export interface Closing {
  readonly phase: Phase;
  /** Undefined if an error ends the run. */
  readonly reason: StopReason | undefined;
}
