import type { Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import type { Ledger } from '../core/ports.ts';
import { type Progress, RecordProgress } from './call.ts';
import { type RunPhase, Wakeup } from './phase.ts';

/**
 * Holds records back, so that the last credits complete records: else all credits could go into first calls, and nothing would be
 * written. A record begins if the ledger affords the calls that this record and the records under way still need. It also begins if no
 * record is under way, or if no credits are left: then it ends the run. The calls that a record is assumed to need at a node:
 *
 * | | calls |
 * |---|---|
 * | at first | all pages and passes that the flow allows there; 100 for each call before it that may make several rows |
 * | after a record that called the node | as many as the record that made the most |
 * | after a record that skipped the node | half as many as before, but no fewer than the record that made the most, and no fewer than one |
 * | if records share calls | a share of a full batch; once a batch was sent, a share of a batch of average size |
 *
 * Failed records do not count. If no record makes more than one call, all records begin: the ledger refuses the calls.
 */
export class Budget {
  readonly #ledger: Pick<Ledger, 'affords' | 'usedUp'>;
  readonly #phase: RunPhase;
  /** By node; empty if all records begin. */
  readonly #needs: ReadonlyMap<string, Need>;
  readonly #room = new Wakeup();
  #running = 0;

  constructor({ steps }: Pick<Plan, 'steps'>, ledger: Pick<Ledger, 'affords' | 'usedUp'>, phase: RunPhase) {
    this.#ledger = ledger;
    this.#phase = phase;
    this.#needs = new Map(makeOneCall(steps) ? [] : needsOf(steps).map((need) => [need.node, need]));
    phase.onPhase(() => this.#room.wake());
  }

  /** Resolves when another record may begin; `undefined` if it may now. */
  room(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#room.wait();
  }

  /** Begins a record. */
  begin(): Progress {
    if (this.#needs.size === 0) return new RecordProgress();
    this.#running++;
    return new BudgetedProgress(this.#needs, this.#onCall);
  }

  /** Ends the record with its task. */
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

/** The progress of a record, and the calls that it has made at each node. */
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

  /** The record is no longer under way. */
  forget(): void {
    for (const [need, calls] of this.#calls) need.release(calls);
  }

  /** The record came out of the flow. */
  learn(): void {
    for (const need of this.#needs.values()) need.learn(this.#calls.has(need));
  }
}

/** The calls that records need at one node. */
class Need {
  readonly node: string;
  readonly #batchSize: number;
  /** Calls that a record is assumed to need. */
  #calls: number;
  /** The most calls that a record has made. */
  #maxCalls = 0;
  /** Calls that the records under way have paid for. */
  #paid = 0;
  /** Calls so far, and the records that had a share in each. */
  #sent = 0;
  #shares = 0;

  constructor(node: string, calls: number, batchSize: number) {
    this.node = node;
    this.#calls = calls;
    this.#batchSize = batchSize;
  }

  /** The calls that this number of records still needs. */
  callsFor(records: number): number {
    const perCall = this.#sent === 0 ? this.#batchSize : this.#shares / this.#sent;
    return Math.ceil((records * this.#calls - this.#paid) / perCall);
  }

  /** A record makes a call, its `calls`th. */
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

  /** A record came out of the flow. A record that skipped the node is only a hint. */
  learn(hasCalled: boolean): void {
    this.#calls = Math.max(1, this.#maxCalls, hasCalled ? 0 : Math.ceil(this.#calls / 2));
  }
}

/** True if a record makes one call at most, or has a share in one call: the credit held for that call is all that the record needs. */
function makeOneCall(steps: readonly Step[]): boolean {
  const calling = steps.filter(({ node: { action, inner } }) => action || inner);
  return calling.every(({ node: { action } }) => action?.maxCalls === 1 || action?.batchSize !== undefined) && calling.length < 2;
}

/** Rows that one record is assumed to become at a step that may make several: the default maximum of pages and passes. */
const assumedRows = 100;

/** `passes`: maximum of passes per record. A poll counts as one pass: its maximum of passes would hold back every record. */
function needsOf(steps: readonly Step[], passes = 1): Need[] {
  let rows = 1;
  return steps.flatMap(({ id, node: { action, inner } }) => {
    const times = Math.max(passes, rows);
    if (action?.expands || inner?.expands) rows = assumedRows;
    if (inner) return needsOf(inner.steps, inner.waits ? times : times * inner.maxPasses);
    if (!action) return [];
    const { batchSize, maxCalls, entryOf } = action;
    // If only some records can share a call, it may be that no records can.
    return [new Need(id, batchSize === undefined ? times * maxCalls : times, entryOf ? 1 : (batchSize ?? 1))];
  });
}
