import type { StartedAttempt } from '../core/answer/facts.ts';
import type { Call, LastAnswer, LocalCall } from '../core/call.ts';
import type { FailureReport } from '../core/event.ts';
import { CredentialRefused, Failure, LimitReached, Unfinished } from '../core/failure.ts';
import type { KeptQuestion, Ports } from '../core/ports.ts';
import { AnswerWatch, isVain, type StepWatch, UnreachableWatch } from './failure-limits.ts';
import type { RunGates, WaitingCall } from './gates.ts';
import { type AskedCall, type KeptCaller, KeptCalls } from './kept-calls.ts';
import { type AttemptTimes, leastAnswers, type Pace } from './pace.ts';
import type { CallStage, RunPhase, StopReason } from './phase.ts';
import { finalFailure, waitBeforeRetry } from './retry.ts';
import type { Slots } from './slots.ts';

export interface CallOwner extends KeptCaller {
  readonly progress: Progress;
  /** True if the record continues after a failure of the call (`on_error: keep`). */
  readonly continues: boolean;
  /** The use of a step of a `first` node that makes the call; undefined for other nodes. */
  readonly use?: StepUse;
  /** Called when a credit was spent. `cost` is the actual cost, if the response states it. */
  spent?(cost: number | undefined): void;
  /** Called with the most recent response. The wait then applies only to this record, unless the server says that the quota is used up. */
  readonly heard?: (answer: LastAnswer) => void;
}

export interface StepUse {
  /** Undefined if the run continues even if the step can only fail. */
  readonly watch: StepWatch | undefined;
  credits: number;
  cost: number | undefined;
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
  /** Refusals that the gate's pace has taken into account, which `retry.max` does not count. */
  unblamed = 0;

  constructor(
    readonly caller: CallOwner,
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

/** The start of a successful call, and its last attempt with its slots. */
interface SuccessTimes {
  readonly startedMs: number;
  readonly attempt: StartedAttempt;
  readonly slots: Slots;
}

interface AttemptFailure {
  readonly failure: Failure;
  readonly responseMs: number;
  /** Wait in ms before the next attempt. */
  readonly waitMs: number;
  /** Undefined if there will be a further attempt. */
  readonly final: Failure | undefined;
}

/** `retry.max` counts further refusals of a call, which might be refused for ever. */
const mostUnblamed = 10;

/** Maximum wait in ms of such a call, if the server asks for none: a record that is always refused would otherwise take minutes. */
const mostUnblamedMs = 5000;

/** A call that was refused lets this many others start before it is sent again, and twice as many after each further refusal. */
const letBy = 4;

/** Each call reserves a credit, waits for its gate (the rate limiter of its origin), and is retried by its retry policy. */
export class Calls {
  readonly #ports: Ports;
  readonly #gates: RunGates;
  readonly #phase: RunPhase;
  /** Undefined if the run continues without responses. */
  readonly #unreachable: UnreachableWatch | undefined;
  /** Undefined if records never continue after a failed call. */
  readonly #answers: AnswerWatch | undefined;
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

  /**
   * Makes a call to a server. `known` is given if its kept answer was looked for before. Rejects with the Failure of the last attempt, or
   * with Unfinished if the run ends first.
   */
  async make<Result>(call: Call<Result>, caller: CallOwner, known?: AskedCall<Result>): Promise<Result> {
    const asked = known ?? (this.#kept && (await this.#kept.ask(call, caller)));
    if (asked?.found) return asked.found.result;
    const running = new RunningCall(caller, asked?.question);
    const { clock, answers, ledger } = this.#ports;
    const startedMs = clock.now();
    try {
      for (let attempts = 1; ; attempts++) {
        const slots = await this.#gates.enter(call, running);
        const attempt = { number: attempts, startedMs: clock.now() };
        let result: Result | undefined;
        let failed: AttemptFailure | undefined;
        try {
          for (let ready = this.#ready(running); ready; ready = this.#ready(running)) await ready;
          this.#pay(running);
          result = await call.attempt(caller, attempt);
          this.#succeed(call, running, result, { startedMs, attempt, slots });
          // Until its answer is written, the request counts as in flight.
          if (running.question) await answers?.written();
        } catch (error) {
          const failure = this.#failureOf(error, caller);
          const times = { sentAtMs: attempt.startedMs, atMs: clock.now() };
          failed = this.#fail(call, running, failure, { attempts, ...times });
          if (isOverload(failure)) slots.refused(times);
        } finally {
          // A final failure can end the run. The slot is freed only after the failure was processed, so that no call starts in between.
          if (failed?.final) void clock.nextTurn().then(() => slots.free());
          else slots.free();
        }
        if (failed) {
          result = failed.final && call.resultDespite?.(failed.final);
          if (result === undefined) {
            await this.#waitForRetry(running, failed);
            continue;
          }
          this.#endPartly(running, failed, startedMs);
        }
        // The slot is already free. Yielding here lets the next call be sent before this response is processed.
        await clock.nextTurn();
        return result as Result;
      }
    } finally {
      if (running.credit === 'held') ledger.release(caller.node);
    }
  }

  get kept(): KeptCalls | undefined {
    return this.#kept;
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

  /** Resolves when the ledger can decide about the call; undefined if it can now. Throws Unfinished if the call is not admitted. */
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

  /**
   * Throws an error that is not a Failure. At a limit, ends the run, because every further attempt would end in the same way: calls in
   * flight are completed, and this one is Unfinished.
   */
  #failureOf(error: unknown, { use, continues }: CallOwner): Failure {
    if (error instanceof Failure) return error;
    if (error instanceof CredentialRefused && use && continues) return error.asFailure();
    if (!(error instanceof LimitReached)) throw error;
    const { phase, ending, message, code, details } = error;
    this.#phase.advance(phase, { ending, message, code, details });
    throw new Unfinished();
  }

  #settle(running: RunningCall, cost?: number): void {
    if (running.credit === 'held') {
      this.#ports.ledger.settle(running.caller.node, cost);
      running.caller.spent?.(cost);
    }
    running.credit = 'spent';
  }

  #succeed<Result>(call: Call<Result>, running: RunningCall, result: Result, { startedMs, attempt, slots }: SuccessTimes): void {
    const { record, node, heard } = running.caller;
    const atMs = call.atMs?.(result) ?? this.#ports.clock.now();
    const times = { sentAtMs: attempt.startedMs, atMs };
    slots.answered(times);
    if (running.question) this.#kept?.keep(running.question, { call, result, caller: running.caller, attempt, atMs });
    this.#gates.answered(call, times);
    this.#settle(running, call.cost?.(result));
    this.#noteAnswer(call, running.caller);
    const waitMs = call.askedToWaitMs(result);
    heard?.({ atMs, waitMs });
    if (waitMs !== undefined && (!heard || call.isSpent?.(result))) this.#pause(call, waitMs);
    const responseMs = atMs - attempt.startedMs;
    this.#ports.report({ type: 'call-done', record, node, attempts: attempt.number, ms: atMs - startedMs, responseMs });
  }

  /** The attempts before the last one gave a part of the result. The credit was settled when they were sent. */
  #endPartly({ caller }: RunningCall, { failure, responseMs }: AttemptFailure, startedMs: number): void {
    const { record, node } = caller;
    const ms = this.#ports.clock.now() - startedMs;
    this.#ports.report({ type: 'call-done', record, node, attempts: failure.attempts, ms, responseMs });
  }

  #fail(
    call: Call<unknown>,
    running: RunningCall,
    failure: Failure,
    { attempts, ...times }: AttemptTimes & { readonly attempts: number },
  ): AttemptFailure {
    if (failure.sent) this.#settle(running);
    failure.attempts = attempts;
    if (failure.status === undefined) this.#noteSilence(call, running.caller, failure);
    else this.#noteAnswer(call, running.caller);
    // A 404, for example, is a call that the server has accepted.
    if (failure.status !== undefined && failure.status < 500 && !isTooFast(failure)) this.#gates.answered(call, times);
    const pace = isTooFast(failure) ? this.#learn(call, running, failure, times) : undefined;
    const isUnblamed = pace !== undefined && isLearnedFrom(pace, running.unblamed);
    if (isUnblamed) running.unblamed++;
    const blamed = attempts - running.unblamed;
    let waitMs = waitBeforeRetry(call.retry, Math.max(1, isUnblamed ? running.unblamed : blamed), failure, this.#ports.random);
    if (isUnblamed && failure.retryAfterMs === undefined)
      waitMs = Math.min(waitMs, mostUnblamedMs, (letBy * 2 ** (running.unblamed - 1) * 1000) / pace.rate);
    const final = finalFailure(call.retry, failure, { attempts: blamed, waitMs });
    // Pauses the gate before the slot is freed. Otherwise, a waiting call would start before the pause.
    if (failure.retryAfterMs !== undefined || (pace === undefined && concernsAll(failure, final)))
      this.#pause(call, waitMs, failure.status, pace !== undefined);
    return { failure, responseMs: times.atMs - times.sentAtMs, waitMs, final };
  }

  /** Returns the pace at which the gate goes on, instead of a pause that grows. Undefined if none is known. */
  #learn(call: Call<unknown>, running: RunningCall, { status, retryAfterMs = 0 }: Failure, times: AttemptTimes): Pace | undefined {
    if (retryAfterMs > call.retry.maxWaitMs) return undefined;
    const pace = this.#gates.refused(call, { ...times, pauseMs: retryAfterMs, isRepeated: running.unblamed > 1 });
    if (!pace) return undefined;
    this.#ports.report({ type: 'call-refused', gate: call.gate.origin, status, learned: pace.learned });
    return pace;
  }

  /** Notes that a server has responded. If the record would continue without the answer, this does not help the nodes that it needs. */
  #noteAnswer({ gate: { origin } }: Call<unknown>, caller: CallOwner): void {
    if (!caller.continues) this.#unreachableFor(caller)?.answered();
    this.#answers?.answered(origin);
  }

  /** Notes that no server has responded. This can end the run, unless the record continues: a later node might replace the answer. */
  #noteSilence({ gate: { origin } }: Call<unknown>, caller: CallOwner, failure: Failure): void {
    const { record, node, continues } = caller;
    if (!continues && !this.#answers?.hasAnswered(origin)) this.#unreachableFor(caller)?.failed(failure, origin);
    else if (continues && isVain(failure)) this.#answers?.failed(reportOf(failure, node), record, origin);
  }

  /** The steps of a `first` node count by themselves, because the answers of one say nothing about another. */
  #unreachableFor({ use }: CallOwner): UnreachableWatch | undefined {
    return use ? use.watch?.unreachable : this.#unreachable;
  }

  /**
   * Prevents calls at this call's gate from starting for `waitMs`. If the retry policy does not allow such a long wait, the gate is not
   * paused. Calls are then sent, and fail immediately if the server still asks for the wait.
   */
  #pause(call: Call<unknown>, waitMs: number, status?: number, isPaced?: boolean): void {
    if (waitMs > call.retry.maxWaitMs) return;
    this.#gates.pause(call, waitMs, isPaced);
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
 * As long as no pace is known, all calls wait if the server responds to a first attempt with 429. It does not count after a retry: a call
 * that is always refused would repeatedly pause all other calls.
 */
function concernsAll({ status, attempts }: Failure, final: Failure | undefined): boolean {
  return status === 429 && attempts === 1 && !final;
}

/** True if a refusal does not count for `retry.max`, because the pace is being learned from it. `unblamed` counts those before. */
function isLearnedFrom({ since }: Pace, unblamed: number): boolean {
  // A call that is refused again although others were accepted may never be accepted, at any pace.
  return unblamed < mostUnblamed && (unblamed <= 1 || since < leastAnswers);
}

/** True if the server says that calls come too fast, so that the gate's pace reacts. */
function isTooFast({ status, retryAfterMs, retryable }: Failure): boolean {
  return retryable && (status === 429 || (status === 503 && retryAfterMs !== undefined));
}

/** True if the failure suggests an overloaded server: a 503, a timeout, or a refused connection. */
function isOverload({ kind, status, retryable, retryAfterMs, sent }: Failure): boolean {
  return (status === 503 && retryAfterMs === undefined) || kind === 'timeout' || (kind === 'network' && retryable && !sent);
}

export function reportOf(failure: Failure, node = failure.node): FailureReport {
  const { kind, status, message, attempts, code, details } = failure;
  return { node, class: kind, status, message, attempts, ...(code && { code, details }) };
}
