import type { Call, LastAnswer, LocalCall } from '../core/call.ts';
import type { FailureReport } from '../core/event.ts';
import { Failure, LimitReached, Unfinished } from '../core/failure.ts';
import type { KeptQuestion, Ports } from '../core/ports.ts';
import { AnswerWatch, isVain, UnreachableWatch } from './failure-limits.ts';
import type { RunGates, WaitingCall } from './gates.ts';
import { type KeptCaller, KeptCalls } from './kept-calls.ts';
import type { CallStage, RunPhase, StopReason } from './phase.ts';
import { finalFailure, waitBeforeRetry } from './retry.ts';
import type { Slots } from './slots.ts';

export interface CallOwner extends KeptCaller {
  readonly progress: Progress;
  /** True if the record continues after a failure of the call (`on_error: keep`). */
  readonly continues: boolean;
  /** Called with the most recent response. The wait then applies only to this record, unless the server says that the quota is used up. */
  readonly heard?: (answer: LastAnswer) => void;
}

export interface Progress {
  /** True once a request was sent for the record. Such a record is completed even if the run is finishing. */
  readonly hasBegun: boolean;
  /** Counts a paid call of the record at a node. `isShare` is true if a different record of the same batch paid for the call. */
  begin(node: string, isShare?: boolean): void;
}

/** The progress of a record in a run that never holds records back for lack of credits. */
export class RecordProgress implements Progress {
  hasBegun = false;

  begin(): void {
    this.hasBegun = true;
  }
}

interface CallTools {
  readonly ports: Ports;
  readonly gates: RunGates;
  readonly phase: RunPhase;
  /** Ends the run because no server responds; undefined if the run continues without responses. */
  readonly giveUp: ((reason: StopReason) => void) | undefined;
  /** True if the records can continue after failed calls, because a node has `on_error: keep`. */
  readonly continues: boolean;
}

/** A call in progress. One credit is reserved for all its attempts together, and is spent or returned when the call ends. */
class RunningCall implements WaitingCall {
  credit: 'none' | 'held' | 'spent' = 'none';

  constructor(
    readonly caller: CallOwner,
    /** Undefined if the answer is not kept. */
    readonly question?: KeptQuestion,
  ) {}

  get record(): number {
    return this.caller.record;
  }

  get stage(): CallStage {
    if (this.credit !== 'none') return 'paid';
    return this.caller.progress.hasBegun ? 'begun' : 'new';
  }
}

/** For a successful call: the number of attempts, the start times of the call and its last attempt, and the slots of that attempt. */
interface SuccessTimes {
  readonly attempts: number;
  readonly startedMs: number;
  readonly attemptMs: number;
  readonly slots: Slots;
}

interface AttemptFailure {
  readonly failure: Failure;
  /** Duration of the attempt in ms. */
  readonly responseMs: number;
  /** Wait in ms before the next attempt. */
  readonly waitMs: number;
  /** Undefined if there will be a further attempt. */
  readonly final: Failure | undefined;
}

/** Each call reserves a credit, waits for its gate (the rate limiter of its origin), and is retried by its retry policy. */
export class Calls {
  readonly #ports: Ports;
  readonly #gates: RunGates;
  readonly #phase: RunPhase;
  /** Undefined if the run continues without responses. */
  readonly #unreachable: UnreachableWatch | undefined;
  /** Undefined if records never continue after a failed call. */
  readonly #answers: AnswerWatch | undefined;
  /** Undefined if the run neither keeps answers nor uses kept ones. */
  readonly #kept: KeptCalls | undefined;
  /** Number of records that wait for a set time before their next call. No credit is reserved for that call yet. */
  #waiting = 0;

  constructor({ ports, gates, phase, giveUp, continues }: CallTools) {
    this.#ports = ports;
    this.#gates = gates;
    this.#phase = phase;
    this.#unreachable = giveUp && new UnreachableWatch(giveUp);
    this.#kept = ports.answers && new KeptCalls(ports.answers, ports, phase);
    this.#answers = continues ? new AnswerWatch((event) => ports.report(event)) : undefined;
  }

  /** Makes a call to a server. Rejects with the Failure of the last attempt, or with Unfinished if the run ends first. */
  async make<Result>(call: Call<Result>, caller: CallOwner): Promise<Result> {
    const asked = this.#kept && (await this.#kept.ask(call, caller));
    if (asked?.found) return asked.found.result;
    const result = await this.#attempts(call, new RunningCall(caller, asked?.question));
    // The slot is already free. Yielding here lets the next call be sent before this response is processed.
    await (this.#ports.answers?.written() ?? this.#ports.clock.nextTurn());
    return result;
  }

  /** Resolves to the result of a call whose answer an earlier run has kept; undefined if there is none. */
  async found<Result>(call: Call<Result>, caller: CallOwner): Promise<{ readonly result: Result } | undefined> {
    return (await this.#kept?.ask(call, caller))?.found;
  }

  /** Waits before the next call of a record. Rejects with Unfinished if the run ends first, or if no credits are left. */
  wait(untilMs: number): Promise<void> {
    this.#endIfUsedUp();
    return this.#waitAs('unpaid', untilMs);
  }

  /** Has no gate and no retries, and does not yield to the event loop. Rejects with a Failure, or with Unfinished if the run ends first. */
  async makeLocally<Result>(call: LocalCall<Result>, caller: CallOwner): Promise<Result> {
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
      if (error instanceof Failure) {
        if (error.sent) this.#settle(running);
        this.#ports.report({ type: 'call-failed', record: caller.record, node: caller.node, attempts: 1 });
      }
      throw error;
    } finally {
      if (running.credit === 'held') ledger.release(caller.node);
    }
  }

  async #attempts<Result>(call: Call<Result>, running: RunningCall): Promise<Result> {
    const startedMs = this.#ports.clock.now();
    try {
      for (let attempts = 1; ; attempts++) {
        const slots = await this.#gates.enter(call, running);
        let failed: AttemptFailure | undefined;
        const attemptMs = this.#ports.clock.now();
        try {
          for (let ready = this.#ready(running); ready; ready = this.#ready(running)) await ready;
          this.#pay(running);
          const result = await call.attempt(running.caller);
          this.#succeed(call, running, result, { attempts, startedMs, attemptMs, slots });
          return result;
        } catch (error) {
          if (error instanceof LimitReached) this.#endAtLimit(error);
          if (!(error instanceof Failure)) throw error;
          const atMs = this.#ports.clock.now();
          failed = { ...this.#fail(call, running, error, attempts), responseMs: atMs - attemptMs };
          if (isRefusal(error)) slots.refused({ sentAtMs: attemptMs, atMs });
        } finally {
          // A final failure can end the run. The slot is freed only after the failure was processed, so that no call starts in between.
          if (failed?.final) void this.#ports.clock.nextTurn().then(() => slots.free());
          else slots.free();
        }
        const result = failed.final && call.resultDespite?.(failed.final);
        if (result !== undefined) return this.#endPartly(running, result, { attempts, startedMs, responseMs: failed.responseMs });
        await this.#waitForRetry(running, failed);
      }
    } finally {
      if (running.credit === 'held') this.#ports.ledger.release(running.caller.node);
    }
  }

  /**
   * Resolves when the ledger can decide about paying for the call; undefined if it can now. Throws Unfinished if the call is not admitted.
   */
  #ready(running: RunningCall): Promise<void> | undefined {
    const { ledger } = this.#ports;
    if (!ledger.ready || running.credit !== 'none') return undefined;
    if (!this.#phase.admits(running.record, running.stage)) throw new Unfinished();
    return ledger.ready(running.caller.node);
  }

  /** Reserves a credit unless one is reserved. Throws Unfinished if no credit is left, or if the record has been abandoned. */
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
    // Other records might be waiting for hours. If this was the last credit, they cannot make their next calls, so their waits should end
    // now.
    if (this.#waiting > 0) this.#endIfUsedUp();
    caller.progress.begin(caller.node);
  }

  #endIfUsedUp(): void {
    const usedUp = this.#ports.ledger.usedUp();
    if (usedUp) this.#phase.advance('unpaid', { ending: 'max-credits', ...usedUp });
  }

  /** Ends the run, because every further attempt would end in the same way. Calls in flight are completed. Throws Unfinished. */
  #endAtLimit({ phase, ending, message, code, details }: LimitReached): never {
    this.#phase.advance(phase, { ending, message, code, details });
    throw new Unfinished();
  }

  #settle(running: RunningCall, cost?: number): void {
    if (running.credit === 'held') this.#ports.ledger.settle(running.caller.node, cost);
    running.credit = 'spent';
  }

  #succeed<Result>(
    call: Call<Result>,
    running: RunningCall,
    result: Result,
    { attempts, startedMs, attemptMs, slots }: SuccessTimes,
  ): void {
    const { record, node, heard } = running.caller;
    const atMs = call.atMs?.(result) ?? this.#ports.clock.now();
    slots.answered({ sentAtMs: attemptMs, atMs });
    if (running.question) this.#kept?.keep(running.question, { call, result, caller: running.caller, ms: atMs - startedMs, attempts });
    this.#settle(running, call.cost?.(result));
    this.#noteAnswer(call, running.caller);
    const waitMs = call.askedToWaitMs(result);
    heard?.({ atMs, waitMs });
    if (waitMs !== undefined && (!heard || call.isSpent?.(result))) this.#pause(call, waitMs);
    this.#ports.report({ type: 'call-done', record, node, attempts, ms: atMs - startedMs, responseMs: atMs - attemptMs });
  }

  /** The attempts before the last one gave a part of the result. The credit was settled when they were sent. */
  #endPartly<Result>(
    { caller }: RunningCall,
    result: Result,
    ended: Pick<SuccessTimes, 'attempts' | 'startedMs'> & { responseMs: number },
  ): Result {
    const { attempts, startedMs, responseMs } = ended;
    const ms = this.#ports.clock.now() - startedMs;
    this.#ports.report({ type: 'call-done', record: caller.record, node: caller.node, attempts, ms, responseMs });
    return result;
  }

  #fail(call: Call<unknown>, running: RunningCall, failure: Failure, attempts: number): Omit<AttemptFailure, 'responseMs'> {
    if (failure.sent) this.#settle(running);
    failure.attempts = attempts;
    if (failure.status === undefined) this.#noteSilence(call, running.caller, failure);
    else this.#noteAnswer(call, running.caller);
    const waitMs = waitBeforeRetry(call.retry, attempts, failure, this.#ports.random);
    const final = finalFailure(call.retry, failure, waitMs);
    // Pauses the gate before the slot is freed. Otherwise, a waiting call would start before the pause.
    if (concernsAll(failure, final)) this.#pause(call, waitMs, failure.status);
    return { failure, waitMs, final };
  }

  /** Notes that a server has responded. If the record would continue without the answer, this does not help the nodes that it needs. */
  #noteAnswer({ gate: { origin } }: Call<unknown>, { continues }: CallOwner): void {
    if (!continues) this.#unreachable?.answered();
    this.#answers?.answered(origin);
  }

  /** Notes that no server has responded. This can end the run, unless the record continues: a later node might replace the answer. */
  #noteSilence({ gate: { origin } }: Call<unknown>, { record, node, continues }: CallOwner, failure: Failure): void {
    if (!continues && !this.#answers?.hasAnswered(origin)) this.#unreachable?.failed(failure, origin);
    else if (continues && isVain(failure)) this.#answers?.failed(reportOf(failure, node), record, origin);
  }

  /**
   * Prevents calls at this call's gate from starting for `waitMs`. If the retry policy does not allow such a long wait, the gate is not
   * paused. Calls are then sent, and fail immediately if the server still asks for the wait.
   */
  #pause(call: Call<unknown>, waitMs: number, status?: number): void {
    if (waitMs > call.retry.maxWaitMs) return;
    this.#gates.pause(call, waitMs);
    this.#ports.report({ type: 'gate-paused', gate: call.gate.origin, status, waitMs });
  }

  /** Throws the call's failure if there is no further attempt. */
  async #waitForRetry({ caller }: RunningCall, { failure, responseMs, waitMs, final }: AttemptFailure): Promise<void> {
    if (this.#phase.current === 'stopped') throw new Unfinished();
    if (final) {
      const { record, node } = caller;
      this.#ports.report({ type: 'call-failed', record, node, attempts: failure.attempts, responseMs });
      throw final;
    }
    await this.#waitAs('paid', this.#ports.clock.now() + waitMs);
    // Reports the retry after the wait, because there is no retry if the run ends during the wait.
    this.#ports.report({ type: 'call-retried', record: caller.record, waitMs, ...reportOf(failure, caller.node) });
  }

  /**
   * Waits until `untilMs`. Rejects with Unfinished as soon as the run no longer allows the wait. Not an async function: thousands of
   * records can wait here, and an async function would use more memory.
   */
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
 * All calls wait if the server asks for it, or responds to a first attempt with 429. A 429 without Retry-After does not count after a
 * retry: a call that is always refused would repeatedly pause all other calls.
 */
function concernsAll({ retryAfterMs, status, attempts }: Failure, final: Failure | undefined): boolean {
  return retryAfterMs !== undefined || (status === 429 && attempts === 1 && !final);
}

/** True if the failure suggests an overloaded server: a 429, a 503, a timeout, or a refused connection. */
function isRefusal({ kind, status, retryable, sent }: Failure): boolean {
  return status === 429 || status === 503 || kind === 'timeout' || (kind === 'network' && retryable && !sent);
}

export function reportOf(failure: Failure, node = failure.node): FailureReport {
  const { kind, status, message, attempts, code, details } = failure;
  return { node, class: kind, status, message, attempts, ...(code && { code, details }) };
}
