import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Ledger } from '../core/ports.ts';
import { type Progress, RecordProgress } from './call.ts';
import { type RunPhase, Wakeup } from './phase.ts';

/**
 * Holds back new records if the remaining credits (the spending limit of a run) might not be enough to complete them. Otherwise, all
 * credits could be spent on the first calls of many records, and nothing would be written.
 *
 * A record begins if the remaining credits cover all calls that this record and the records in progress are likely to need. It also begins
 * if no record is in progress. And it begins if no credits are left: the ledger then refuses its first call, which ends the run.
 *
 * A record is assumed to need this number of calls at a node:
 *
 * | when | calls |
 * |---|---|
 * | at first | all pages and passes that the flow allows at the node; 100 if an earlier call can expand the record |
 * | after a record that made calls at the node | the most calls that any record has made there (`made`) |
 * | after a record that skipped the node | half the previous number (rounded up), but at least 1 and at least `made` |
 * | if records share calls | the number above, divided by the maximum batch size; once a batch was sent, by the average batch size |
 *
 * Failed records do not change these numbers. If no record makes more than one call, nothing is held back, because the ledger refuses each
 * call that cannot be paid for.
 */
export class Budget {
  readonly #ledger: Pick<Ledger, 'affords' | 'usedUp'>;
  readonly #phase: RunPhase;
  /** The number of calls that records need at each node, keyed by the node's id. Empty if all records may begin. */
  readonly #needs: ReadonlyMap<string, Need>;
  readonly #room = new Wakeup();
  #running = 0;

  constructor({ steps }: Pick<Plan, 'steps'>, ledger: Pick<Ledger, 'affords' | 'usedUp'>, phase: RunPhase) {
    this.#ledger = ledger;
    this.#phase = phase;
    this.#needs = new Map(makeOneCall(steps) ? [] : needsOf(steps).map((need) => [need.node, need]));
    phase.onPhase(() => this.#room.wake());
  }

  /** Undefined if the next record may begin now. */
  room(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#room.wait();
  }

  begin(): Progress {
    if (this.#needs.size === 0) return new RecordProgress();
    this.#running++;
    return new BudgetedProgress(this.#needs, this.#onCall);
  }

  /** The record counts as in progress until `task` has ended. */
  endWith(task: Promise<unknown>, progress: Progress): void {
    if (!(progress instanceof BudgetedProgress)) return;
    const end = () => {
      this.#running--;
      progress.forget();
      this.#room.wake();
    };
    const succeed = () => {
      progress.learn();
      end();
    };
    void task.then(succeed, end);
  }

  readonly #onCall = () => {
    if (this.#room.isAwaited && this.#hasRoom()) this.#room.wake();
  };

  #hasRoom(): boolean {
    if (this.#running === 0 || this.#phase.current !== 'open') return true;
    const needed = [...this.#needs.values()].map((need) => [need.node, need.callsFor(this.#running + 1)] as const);
    return this.#ledger.affords(needed) || this.#ledger.usedUp() !== undefined;
  }
}

class BudgetedProgress implements Progress {
  hasBegun = false;
  readonly #needs: ReadonlyMap<string, Need>;
  readonly #onCall: () => void;
  readonly #calls = new Map<Need, number>();

  constructor(needs: ReadonlyMap<string, Need>, onCall: () => void) {
    this.#needs = needs;
    this.#onCall = onCall;
  }

  begin(node: string, isShare = false): void {
    this.hasBegun = true;
    const need = this.#needs.get(node) as Need;
    const calls = (this.#calls.get(need) ?? 0) + 1;
    this.#calls.set(need, calls);
    need.pay(calls, isShare);
    this.#onCall();
  }

  /** Called when the record is no longer in progress. Its calls then no longer count as paid. */
  forget(): void {
    for (const [need, calls] of this.#calls) need.release(calls);
  }

  /** Called when the record has gone through the whole flow. Adjusts the estimate for later records. */
  learn(): void {
    for (const need of this.#needs.values()) need.learn(this.#calls.has(need));
  }
}

class Need {
  readonly node: string;
  readonly #batchSize: number;
  #calls: number;
  /** The most calls that any record has made at this node. */
  #maxCalls = 0;
  /** Number of calls that the records now in progress have already paid for. */
  #paid = 0;
  /** Number of calls sent so far. `#shares` counts the records in these calls, and counts a record once for each call. */
  #sent = 0;
  #shares = 0;

  constructor(node: string, calls: number, batchSize: number) {
    this.node = node;
    this.#calls = calls;
    this.#batchSize = batchSize;
  }

  callsFor(records: number): number {
    const perCall = this.#sent === 0 ? this.#batchSize : this.#shares / this.#sent;
    return Math.ceil((records * this.#calls - this.#paid) / perCall);
  }

  /** `calls` includes this call. `isShare` is true if a different record of the same batch pays for it. */
  pay(calls: number, isShare: boolean): void {
    this.#shares++;
    if (!isShare) this.#sent++;
    this.#paid++;
    this.#maxCalls = Math.max(this.#maxCalls, calls);
    this.#calls = Math.max(this.#calls, calls);
  }

  release(calls: number): void {
    this.#paid -= calls;
  }

  /** The table at `Budget` shows how the number is adjusted. */
  learn(hasCalled: boolean): void {
    this.#calls = Math.max(1, this.#maxCalls, hasCalled ? 0 : Math.ceil(this.#calls / 2));
  }
}

/** If each record makes or shares at most one call, none is held back: a single credit is enough to complete it. */
function makeOneCall(steps: readonly Step[]): boolean {
  const calling = allSteps(steps).filter(({ node: { action, inner } }) => action || (inner && !inner.areAlternatives));
  return calling.every(({ node: { action } }) => action?.maxCalls === 1 || action?.batchSize !== undefined) && calling.length < 2;
}

/** Assumed number of rows that one record becomes at a step that can expand records. This is the default maximum of pages and passes. */
const assumedRows = 100;

/** `passes` is the maximum per record. A poll counts as one pass: with its maximum number of passes, no record could ever begin. */
function needsOf(steps: readonly Step[], passes = 1): Need[] {
  let rows = 1;
  return steps.flatMap(({ id, node: { action, inner } }) => {
    const times = Math.max(passes, rows);
    if (action?.expands || inner?.expands) rows = assumedRows;
    if (inner) return needsOf(inner.steps, inner.waits ? times : times * inner.maxPasses);
    if (!action) return [];
    const { batchSize, maxCalls, entryOf } = action;
    // If the action has `entryOf`, only some records can share a call. The estimate assumes that none can.
    return [new Need(id, batchSize === undefined ? times * maxCalls : times, entryOf ? 1 : (batchSize ?? 1))];
  });
}
