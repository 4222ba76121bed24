import type { Ending, Event } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import { HeldRows, type Item, type Outcome } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Clock, Output } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { SetFields } from '../core/run-options.ts';
import { membersOf, type Value } from '../core/value/value.ts';
import { Gates } from '../engine/gates.ts';
import { startRun } from '../engine/run.ts';
import { sleepersOf } from '../files/clock.ts';
import { abortIfLong } from '../files/time-limit.ts';
import { withSetFields } from '../flow/set-fields.ts';
import type { AnswerSource } from './given-answers.ts';
import { createTestPorts } from './test-ports.ts';

interface TestRun {
  readonly plan: Plan;
  readonly records: readonly Fields[];
  readonly set: SetFields;
  readonly allowHttp: boolean;
  readonly answers: AnswerSource;
}

export interface FailedRecord {
  /** Counted from 1. */
  readonly record: number;
  readonly failure: Failure;
}

export interface TestOutcome {
  readonly rows: readonly Fields[];
  readonly failures: readonly FailedRecord[];
  /** The length of each wait between two attempts of a request, in ms. */
  readonly waits: readonly number[];
  /** Undefined if all records were finished. */
  readonly stopped: { readonly ending: Ending; readonly reason: string } | undefined;
}

/** Uses the real engine, and a clock that does not wait. */
export async function runTest({ plan, records, set, allowHttp, answers }: TestRun): Promise<TestOutcome> {
  const clock = createTestClock();
  const waits: number[] = [];
  let stopped: TestOutcome['stopped'];
  const report = (event: Event) => {
    if (event.type === 'call-retried') waits.push(event.waitMs);
    if (event.type === 'stopping') stopped = { ending: event.ending, reason: event.reason };
  };
  const credentials = plan.credentials.map(({ name }) => name);
  const ports = createTestPorts({ answers, clock, credentials, allowHttp }, report);
  const output = new TestOutput();
  const items: Item[] = records.map((fields, index) => ({ number: index + 1, fields, end: { offset: 0, line: 0 } }));
  const run = startRun(withSetFields(plan, set), { input: allAtOnce(items), output, ports, gates: new Gates(clock) }, { keepGoing: true });
  await run.ended;
  return { rows: output.rows, failures: output.failures, waits, stopped };
}

export function fieldsOfRecord(written: Readonly<Record<string, unknown>>): Fields {
  return new Map(membersOf(written) as [string, Value][]);
}

async function* allAtOnce(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  yield items;
}

export class TestOutput implements Output {
  readonly waiting = 0;
  readonly rows: Fields[] = [];
  readonly failures: FailedRecord[] = [];

  partialRows(): HeldRows {
    return new HeldRows();
  }

  put(item: Item, outcome: Outcome): Outcome {
    if ('failure' in outcome) this.failures.push({ record: item.number, failure: outcome.failure });
    else if ('rows' in outcome) this.rows.push(...outcome.rows);
    else if ('spilled' in outcome) this.rows.push(...(outcome.spilled as HeldRows).held);
    return outcome;
  }

  park(): boolean {
    return false;
  }

  async flush(): Promise<void> {}
}

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Never really waits: when nothing else can run, jumps to the end of the earliest sleep. `wallStartMs` is in ms since 1970. */
export function createTestClock(wallStartMs = Date.UTC(2026, 0, 1)): Clock {
  const sleep = new JumpingTime();
  return {
    now: () => sleep.nowMs,
    wallNow: () => wallStartMs + sleep.nowMs,
    sleepUntil: (untilMs, signal) => (signal?.aborted ? Promise.resolve() : sleep.until(untilMs, signal)),
    nextTurn: manyMicrotasks,
    yieldIfLong: () => undefined,
    abortIfLong,
  };
}

/** Lets 100 microtasks pass, so that everything that can run has run. */
async function manyMicrotasks(): Promise<void> {
  for (let hop = 0; hop < 100; hop++) await undefined;
}

/** Stands still, except that it jumps to the end of the next sleep. */
class JumpingTime {
  nowMs = 0;
  readonly #sleepers = new Set<Sleeper>();
  #isJumping = false;

  until(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const others = signal && sleepersOf(signal);
      const wake = () => {
        this.#sleepers.delete(sleeper);
        others?.delete(wake);
        resolve();
      };
      const sleeper: Sleeper = { untilMs, wake };
      this.#sleepers.add(sleeper);
      others?.add(wake);
      this.#jumpSoon();
    });
  }

  #jumpSoon(): void {
    if (this.#isJumping || this.#sleepers.size === 0) return;
    this.#isJumping = true;
    setImmediate(() => this.#jump());
  }

  #jump(): void {
    this.#isJumping = false;
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (!first || sleeper.untilMs < first.untilMs) first = sleeper;
    if (!first) return;
    this.nowMs = Math.max(this.nowMs, first.untilMs);
    first.wake();
    this.#jumpSoon();
  }
}
