import type { AttemptContext, Call, LastAnswer, LocalCall } from '../core/call.ts';
import type { FailureReport } from '../core/event.ts';
import { Failure, LimitReached, Unfinished } from '../core/failure.ts';
import type { Ports } from '../core/ports.ts';
import type { StopReason } from '../core/workers/closing.ts';
import { UnreachableWatch } from './failure-limits.ts';
import type { RunGates } from './gates.ts';
import type { CallStage, RunPhase } from './phase.ts';
import { finalFailure, waitBeforeRetry } from './retry.ts';
import type { Slot, WaitingCall } from './turns.ts';

/** The record, or the batch of records, that makes a call. */
export interface Caller extends AttemptContext {
  readonly record: number;
  readonly node: string;
  readonly progress: Progress;
  /** True once a sibling row has failed: then the record needs no more calls. */
  isAbandoned(): boolean;
  /** Takes the last answer with the wait that the server asks for; absent if the whole gate waits. */
  readonly heard?: ((answer: LastAnswer) => void) | undefined;
}

/** The progress of a record through the flow. */
export interface Progress {
  /** True once a request was sent for the record: then the record is completed even while the run finishes. */
  readonly hasBegun: boolean;
  /** Notes a paid call at this node. `isShare`: true if another record of the batch has paid. */
  begin(node: string, isShare?: boolean): void;
}

/** The progress of a record outside a budget. */
export class RecordProgress implements Progress {
  hasBegun = false;

  begin(): void {
    this.hasBegun = true;
  }
}

/** The parts of a run that calls use. */
export interface CallTools {
  readonly ports: Ports;
  readonly gates: RunGates;
  readonly phase: RunPhase;
  /** Ends the run because no server answers; undefined if the run continues all the same. */
  readonly giveUp: ((reason: StopReason) => void) | undefined;
}

/** A call under way. Its credit is held once for all attempts; then it is spent or given back. */
class RunningCall implements WaitingCall {
  credit: 'none' | 'held' | 'spent' = 'none';

  constructor(readonly caller: Caller) {}

  get record(): number {
    return this.caller.record;
  }

  get stage(): CallStage {
    if (this.credit !== 'none') return 'paid';
    return this.caller.progress.hasBegun ? 'begun' : 'new';
  }
}

/** The times of a successful call, and the slot of its last attempt. */
interface SuccessTimes {
  readonly attempts: number;
  readonly startedMs: number;
  readonly attemptMs: number;
  readonly slot: Slot;
}

/** A failed attempt. */
interface FailedAttempt {
  readonly failure: Failure;
  /** Ms until the next attempt. */
  readonly waitMs: number;
  /** The failure of the call; absent if there is a next attempt. */
  readonly final: Failure | undefined;
}

/** The calls of a run: each holds a credit, passes its gate, and is retried as its policy says. */
export class Calls {
  readonly #ports: Ports;
  readonly #gates: RunGates;
  readonly #phase: RunPhase;
  /** Absent if the run continues although no server answers. */
  readonly #unreachable: UnreachableWatch | undefined;
  /** Records that wait before their next call, for which they hold no credit yet. */
  #waiting = 0;

  constructor({ ports, gates, phase, giveUp }: CallTools) {
    this.#ports = ports;
    this.#gates = gates;
    this.#phase = phase;
    this.#unreachable = giveUp && new UnreachableWatch(giveUp);
  }

  /** Makes a call that a server answers. Rejects with the last attempt's Failure, or Unfinished. */
  async make<Result>(call: Call<Result>, caller: Caller): Promise<Result> {
    const result = await this.#attempts(call, new RunningCall(caller));
    // The slot is free already: the next call is sent before this answer is processed.
    await this.#ports.clock.nextTurn();
    return result;
  }

  /** Waits before a record's next call. Rejects with Unfinished if the run ends before, or no credits are left. */
  wait(untilMs: number): Promise<void> {
    this.#endIfUsedUp();
    return this.#waitAs('unpaid', untilMs);
  }

  /** Makes a call that data on this machine answer: no gate, no retry, and no turn of the event loop for each. Rejects with a Failure, or Unfinished. */
  async makeLocally<Result>(call: LocalCall<Result>, caller: Caller): Promise<Result> {
    const running = new RunningCall(caller);
    if (!this.#phase.admits(running.record, running.stage)) throw new Unfinished();
    const { ledger, clock } = this.#ports;
    const startedMs = clock.now();
    try {
      for (let ready = this.#ready(running); ready; ready = this.#ready(running)) await ready;
      this.#pay(running);
      const result = await call.answer(caller);
      this.#settle(running);
      this.#ports.report({ type: 'call-done', record: caller.record, node: caller.node, attempts: 1, ms: clock.now() - startedMs });
      return result;
    } catch (error) {
      if (error instanceof Failure && error.sent) this.#settle(running);
      throw error;
    } finally {
      if (running.credit === 'held') ledger.release(caller.node);
    }
  }

  async #attempts<Result>(call: Call<Result>, running: RunningCall): Promise<Result> {
    const startedMs = this.#ports.clock.now();
    try {
      for (let attempts = 1; ; attempts++) {
        const slot = await this.#gates.enter(call, running);
        let failed: FailedAttempt | undefined;
        const attemptMs = this.#ports.clock.now();
        try {
          for (let ready = this.#ready(running); ready; ready = this.#ready(running)) await ready;
          this.#pay(running);
          const result = await call.attempt(running.caller);
          this.#succeed(call, running, result, { attempts, startedMs, attemptMs, slot });
          return result;
        } catch (error) {
          if (error instanceof LimitReached) this.#endUnpaid(error);
          if (!(error instanceof Failure)) throw error;
          failed = this.#fail(call, running, error, attempts);
          if (isRefusal(error)) slot.refused({ sentAtMs: attemptMs, atMs: this.#ports.clock.now() });
        } finally {
          // A final failure can end the run: that must be known before the next call starts.
          if (failed?.final) void this.#ports.clock.nextTurn().then(() => slot.free());
          else slot.free();
        }
        await this.#waitForRetry(running, failed);
      }
    } finally {
      if (running.credit === 'held') this.#ports.ledger.release(running.caller.node);
    }
  }

  /** Resolves when it is known if the call can be paid; undefined if it is known now. Throws Unfinished once the run no longer admits the call. */
  #ready(running: RunningCall): Promise<void> | undefined {
    const { ledger } = this.#ports;
    if (!ledger.ready || running.credit !== 'none') return undefined;
    if (!this.#phase.admits(running.record, running.stage)) throw new Unfinished();
    return ledger.ready(running.caller.node);
  }

  /** Holds a credit for the call, unless the call has one. Throws Unfinished if no credit is left. */
  #pay(running: RunningCall): void {
    const { caller } = running;
    if (caller.isAbandoned()) throw new Unfinished();
    if (running.credit !== 'none') return;
    const refusal = this.#ports.ledger.hold(caller.node);
    if (refusal !== undefined) {
      this.#phase.advance('finishing', { ending: 'max-credits', ...refusal });
      this.#endIfUsedUp();
      throw new Unfinished();
    }
    running.credit = 'held';
    // Other records may wait for hours. If this was the last credit, nothing is left for their next calls.
    if (this.#waiting > 0) this.#endIfUsedUp();
    caller.progress.begin(caller.node);
  }

  #endIfUsedUp(): void {
    const usedUp = this.#ports.ledger.usedUp();
    if (usedUp) this.#phase.advance('unpaid', { ending: 'max-credits', ...usedUp });
  }

  /** Ends the run: an attempt found that every other one would end as it did. Calls in flight finish. Throws Unfinished. */
  #endUnpaid({ ending, message, code, details }: LimitReached): never {
    this.#phase.advance('unpaid', { ending, message, code, details });
    throw new Unfinished();
  }

  #settle(running: RunningCall, cost?: number): void {
    if (running.credit === 'held') this.#ports.ledger.settle(running.caller.node, cost);
    running.credit = 'spent';
  }

  #succeed<Result>(call: Call<Result>, running: RunningCall, result: Result, { attempts, startedMs, attemptMs, slot }: SuccessTimes): void {
    const { record, node, heard } = running.caller;
    const atMs = call.atMs?.(result) ?? this.#ports.clock.now();
    slot.answered({ sentAtMs: attemptMs, atMs });
    this.#settle(running, call.cost?.(result));
    this.#unreachable?.answered();
    const waitMs = call.askedToWaitMs(result);
    heard?.({ atMs, waitMs });
    if (waitMs !== undefined && (!heard || call.isSpent?.(result))) this.#pause(call, waitMs);
    this.#ports.report({ type: 'call-done', record, node, attempts, ms: atMs - startedMs, responseMs: atMs - attemptMs });
  }

  #fail(call: Call<unknown>, running: RunningCall, failure: Failure, attempts: number): FailedAttempt {
    if (failure.sent) this.#settle(running);
    if (failure.status === undefined) this.#unreachable?.failed(failure, call.gate.origin);
    else this.#unreachable?.answered();
    failure.attempts = attempts;
    const waitMs = waitBeforeRetry(call.retry, attempts, failure, this.#ports.random);
    const final = finalFailure(call.retry, failure, waitMs);
    // Pauses before the slot is free: else another call would pass the gate.
    if (concernsAll(failure, final)) this.#pause(call, waitMs, failure.status);
    return { failure, waitMs, final };
  }

  /** Pauses the gate of a call. A wait longer than the policy allows is not waited for: calls in that time are refused, and fail at once. */
  #pause(call: Call<unknown>, waitMs: number, status?: number): void {
    if (waitMs > call.retry.maxWaitMs) return;
    this.#gates.pause(call, waitMs);
    this.#ports.report({ type: 'gate-paused', gate: call.gate.origin, status, waitMs });
  }

  /** Waits until the next attempt. Throws the call's failure if there is no next attempt. */
  async #waitForRetry({ caller }: RunningCall, { failure, waitMs, final }: FailedAttempt): Promise<void> {
    if (this.#phase.current === 'stopped') throw new Unfinished();
    if (final) throw final;
    await this.#waitAs('paid', this.#ports.clock.now() + waitMs);
    // Reported after the wait: a run that ends early does not retry.
    this.#ports.report({ type: 'call-retried', record: caller.record, waitMs, ...reportOf(failure, caller.node) });
  }

  /** Rejects with Unfinished as soon as the run does not allow the wait. Thousands of records may wait here: an async function would take more memory. */
  #waitAs(stage: 'paid' | 'unpaid', untilMs: number): Promise<void> {
    const { clock } = this.#ports;
    const isPaid = stage === 'paid';
    if (!this.#phase.allowsWait(untilMs - clock.now(), isPaid)) return Promise.reject(new Unfinished());
    if (!isPaid) this.#waiting++;
    return clock.sleepUntil(untilMs, this.#phase.change).then(() => {
      if (!isPaid) this.#waiting--;
      const isOver = untilMs <= clock.now() && this.#phase.allowsWait(0, isPaid);
      return isOver ? undefined : this.#waitAs(stage, untilMs);
    });
  }
}

/**
 * True if every call at the gate has to wait: the server asks for it, or answers a call's first attempt with 429. Without Retry-After,
 * a call that is always refused would stop the others with each step of its backoff.
 */
function concernsAll({ retryAfterMs, status, attempts }: Failure, final: Failure | undefined): boolean {
  return retryAfterMs !== undefined || (status === 429 && attempts === 1 && !final);
}

/** True if the server has too much to do: a 429, a 503, a timeout, or a refused connection. */
function isRefusal({ kind, status, retryable, sent }: Failure): boolean {
  return status === 429 || status === 503 || kind === 'timeout' || (kind === 'network' && retryable && !sent);
}

/** A failure as events report it. */
export function reportOf(failure: Failure, node = failure.node): FailureReport {
  const { kind, status, message, attempts, code, details } = failure;
  return { node, class: kind, status, message, attempts, ...(code && { code, details }) };
}
