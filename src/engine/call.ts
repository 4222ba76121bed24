import type { AttemptContext, Call, LastAnswer } from '../core/call.ts';
import { durationText } from '../core/duration.ts';
import type { FailureReport } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Ports } from '../core/ports.ts';
import type { Gates } from './gate.ts';
import { waitBeforeRetry } from './retry.ts';
import type { Stopping } from './stopping.ts';
import { createReach } from './unreachable.ts';

/** Whose action it is. */
export interface Caller extends AttemptContext {
  readonly record: number;
  readonly node: string;
  readonly progress: Progress;
  /** True once a sibling row has failed: then the record needs no more calls. */
  isAbandoned(): boolean;
  /** Takes when a success came, and what it asks to wait before this record asks again; absent where the whole gate waits for it. */
  readonly heard?: ((answer: LastAnswer) => void) | undefined;
}

/** How far a record is. */
export interface Progress {
  /** Whether something was sent for it: then it is brought to its end even while the run is stopping. */
  readonly hasBegun: boolean;
  /** A call of this node is paid for. `isShare`: by another record that shares it. */
  begin(node: string, isShare?: boolean): void;
}

/** Makes what keeps that one record has begun. Every record has one, so they share their method. */
export function createProgress(): Progress {
  return { hasBegun: false, begin };
}

function begin(this: { hasBegun: boolean }): void {
  this.hasBegun = true;
}

/** Runs an action: a credit is held, the gate passed, and it is tried again where the policy says so. */
export type RunCall = <Result>(call: Call<Result>, caller: Caller) => Promise<Result>;

/** What a call needs around it. */
export interface CallTools {
  readonly ports: Ports;
  readonly gates: Gates;
  readonly stopping: Stopping;
}

/** Makes the one way in which every action is run. Throws the last try's Failure, or Unfinished. */
export function createCaller(tools: CallTools): RunCall {
  const { ports, stopping, gates } = tools;
  const reach = createReach(stopping);
  return async (call, caller) => {
    const result = await tried(call, caller);
    // Its place is taken already: what waited is sent before this answer is worked on.
    await ports.clock.nextTurn();
    return result;
  };

  function tellHeard(call: Call<unknown>, { heard }: Caller, answer: LastAnswer, isSpent: boolean): void {
    heard?.(answer);
    if (!heard || isSpent) pauseFor(call, answer.waitMs, tools);
  }

  async function tried<Result>(call: Call<Result>, caller: Caller): Promise<Result> {
    const startedMs = ports.clock.now();
    const credit = creditOf(tools, caller.node);
    const standing = () => (credit.isHeld() ? 'paid' : caller.progress.hasBegun ? 'begun' : 'new');
    try {
      for (let attempts = 1; ; attempts++) {
        await gates.enter(call, caller.record, standing);
        let refused: Refused | undefined;
        try {
          if (caller.isAbandoned()) throw new Unfinished();
          if (!credit.isHeld()) {
            credit.hold();
            caller.progress.begin(caller.node);
          }
          const result = await call.attempt(caller);
          const atMs = call.atMs?.(result) ?? ports.clock.now();
          credit.settle(call.cost?.(result));
          reach.answered();
          tellHeard(call, caller, { atMs, waitMs: call.askedToWaitMs(result) }, call.isSpent?.(result) ?? false);
          ports.report({ type: 'call-done', record: caller.record, node: caller.node, attempts, ms: atMs - startedMs });
          return result;
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          if (error.sent) credit.settle();
          if (error.status !== undefined) reach.answered();
          error.attempts = attempts;
          refused = { failure: error, waitMs: waitBeforeRetry(call.retry, attempts, error, ports.random) };
          // Before the call leaves: its leaving lets the next one in.
          pauseIfAsked(call, refused, tools);
        } finally {
          // With the last failure the run may end: that is known before the next one is let in.
          if (refused && lastFailure(call, refused)) void ports.clock.nextTurn().then(() => gates.leave(call));
          else gates.leave(call);
        }
        if (stopping.signal.aborted) throw new Unfinished();
        await waitOrThrow(call, caller, refused, tools).catch((error: unknown) => {
          if (error instanceof Failure) reach.failed(error, call.gate.origin);
          throw error;
        });
      }
    } finally {
      credit.release();
    }
  }
}

/** A try that failed, and how long to wait before the next one. */
interface Refused {
  readonly failure: Failure;
  readonly waitMs: number;
}

/** What becomes of the call when there is no next try; absent when there is one. */
function lastFailure(call: Call<unknown>, { failure, waitMs }: Refused): Failure | undefined {
  if (!failure.retryable || failure.attempts > call.retry.max) return failure;
  return waitMs > call.retry.maxWaitMs ? tooLong(failure, waitMs, call.retry.maxWaitMs) : undefined;
}

interface Credit {
  isHeld(): boolean;
  hold(): void;
  settle(cost?: number): void;
  release(): void;
}

/** One action's credit: held once, then either spent or given back. */
function creditOf({ ports, stopping }: CallTools, node: string): Credit {
  let state: 'none' | 'held' | 'spent' = 'none';
  return {
    // What was spent for a try holds for the next one.
    isHeld: () => state !== 'none',
    hold() {
      const refusal = ports.ledger.hold(node);
      if (refusal !== undefined) {
        stopping.request('max-credits', refusal);
        endIfUsedUp({ ports, stopping });
        throw new Unfinished();
      }
      state = 'held';
      if (stopping.areAnyWaiting) endIfUsedUp({ ports, stopping });
    },
    settle(cost) {
      if (state === 'held') ports.ledger.settle(node, cost);
      state = 'spent';
    },
    release() {
      if (state !== 'held') return;
      ports.ledger.release(node);
      state = 'none';
    },
  };
}

/** Who waits to ask again need not wait for that. */
function endIfUsedUp({ ports, stopping }: Pick<CallTools, 'ports' | 'stopping'>): void {
  const reason = ports.ledger.usedUp();
  if (reason === undefined) return;
  stopping.request('max-credits', reason);
  stopping.spend();
}

/** Nobody else need be refused where the other side asked to be left alone. */
function pauseIfAsked(call: Call<unknown>, { failure, waitMs }: Refused, tools: CallTools): void {
  const isAsked = failure.status === 429 || failure.retryAfterMs !== undefined;
  pauseFor(call, isAsked ? waitMs : undefined, tools);
}

/** A wait longer than the policy allows is not waited for: what comes in that time will be refused, and fail at once. */
function pauseFor(call: Call<unknown>, waitMs: number | undefined, { ports, gates }: CallTools): void {
  if (waitMs === undefined || waitMs > call.retry.maxWaitMs) return;
  gates.pause(call, waitMs);
  ports.report({ type: 'gate-paused', gate: call.gate.origin, waitMs });
}

/** Waits until the next try; throws the failure when there is none. */
async function waitOrThrow(call: Call<unknown>, caller: Caller, refused: Refused, tools: CallTools): Promise<void> {
  const { ports } = tools;
  const { failure, waitMs } = refused;
  const last = lastFailure(call, refused);
  if (last) throw last;
  ports.report({ type: 'call-retried', record: caller.record, waitMs, ...reportOf(failure, caller.node) });
  await waitUntil(ports.clock.now() + waitMs, tools);
}

/** Waits before something new is paid for, unless the run ends before. Throws Unfinished then, and where nothing can be paid for. */
export function waitUnpaid(untilMs: number, tools: Pick<CallTools, 'ports' | 'stopping'>): Promise<void> {
  const { ports, stopping } = tools;
  endIfUsedUp(tools);
  stopping.waits(1);
  // Thousands of records may wait here: an async function would hold more memory meanwhile.
  return ports.clock.sleepUntil(untilMs, stopping.unpaid).then(() => {
    stopping.waits(-1);
    if (stopping.isSpent) throw new Unfinished();
    return stopping.hurry.aborted ? waitUntil(untilMs, tools) : undefined;
  });
}

/** Waits, unless the run ends before. Throws Unfinished then. */
async function waitUntil(untilMs: number, { ports: { clock }, stopping }: Pick<CallTools, 'ports' | 'stopping'>): Promise<void> {
  await clock.sleepUntil(untilMs, stopping.hurry);
  if (stopping.hurry.aborted && untilMs - clock.now() <= stopping.patienceMs) await clock.sleepUntil(untilMs, stopping.signal);
  if (untilMs > clock.now()) throw new Unfinished();
}

/** A wait longer than the policy allows is a refusal: coming back early would only be refused again. */
function tooLong(failure: Failure, waitMs: number, maxWaitMs: number): Failure {
  return failure.retold(
    `${failure.message} (it asks to wait ${durationText(waitMs)}, longer than retry.max_wait of ${durationText(maxWaitMs)})`,
  );
}

/** A failure as it is told in events. */
export function reportOf(failure: Failure, node = failure.node): FailureReport {
  const { kind, status, message, attempts } = failure;
  return { node, class: kind, status, message, attempts };
}
