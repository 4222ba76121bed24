import type { Ending } from '../core/event.ts';
import type { Item, Outcome } from '../core/item.ts';
import { allSteps, isBatched, type Plan } from '../core/plan.ts';
import type { Output, Ports } from '../core/ports.ts';
import { type InputState, noBatches, OpenBatches } from './batches.ts';
import { createBudget } from './budget.ts';
import { createCaller, reportOf } from './call.ts';
import { Chain } from './chain.ts';
import { createGates } from './gate.ts';
import { type MaxErrors, tooManyErrors } from './max-errors.ts';
import { createStopping, type Stopping } from './stopping.ts';
import { createWindow } from './window.ts';
import { createWriting } from './writing.ts';

/** How one run differs from another of the same plan. */
export interface RunSettings {
  readonly unordered: boolean;
  /** How many records may fail; absent for any number. */
  readonly maxErrors: MaxErrors | undefined;
}

/** A run under way. */
export interface Run {
  readonly stopping: Stopping;
  /** Resolves with how it ended. Throws what no record can be blamed for. */
  readonly ended: Promise<Ending>;
}

/** Starts a run: every record is read, passes the chain, and is written in its place. */
export function startRun(plan: Plan, input: AsyncIterable<readonly Item[]>, output: Output, ports: Ports, settings: RunSettings): Run {
  const startedMs = ports.clock.now();
  const stopping = createStopping({
    requested(ending, reason) {
      ports.report({ type: 'stopping', ending, reason });
      close();
    },
    narrowed: () => gates.refuse('new'),
    spent: () => gates.refuse('unpaid'),
  });
  const gates = createGates(ports.clock, stopping.isWanted);
  stopping.signal.addEventListener('abort', () => {
    gates.refuse('all');
    close();
    ports.http.abort();
    ports.tools.abort();
  });
  const call = createCaller({ ports, gates, stopping });
  const nodes = allSteps(plan.steps);
  const batches = nodes.some(isBatched) ? new OpenBatches({ nodes, clock: ports.clock, call, input: inputState }) : noBatches;
  const chain = new Chain(plan, { ports, stopping, call, batches, partialRows: () => output.partialRows() });
  const budget = createBudget(plan, ports.ledger);
  const counts = { finished: 0, failed: 0 };
  /** Records that have ended and are not written yet: their places will be free. */
  let unwritten = 0;
  let reading: InputState = 'more';
  const isStopping = () => stopping.ending !== undefined || stopping.signal.aborted;
  const window = createWindow({
    size: windowSize(plan),
    unordered: settings.unordered,
    done,
    broken: stopping.abort,
    isStopping,
  });
  const writing = createWriting(output, ports.clock, { written, broken: stopping.abort });
  return { stopping, ended: run() };

  async function run(): Promise<Ending> {
    try {
      for await (const items of input) {
        if (!(await beginAll(items))) break;
      }
    } finally {
      readOn('ended');
      await window.ended().finally(writing.ended);
      parkEnded();
    }
    const ending = stopping.ending ?? 'complete';
    ports.report({ type: 'run-ended', ending, ms: ports.clock.now() - startedMs });
    return ending;
  }

  /** What failed is tried again. */
  function parkEnded(): void {
    for (const { item, outcome } of window.parkable()) {
      if ('failure' in outcome || !output.park(item, outcome)) continue;
      ports.report({ type: 'record-parked', record: item.number, isNew: item.parked === undefined });
    }
  }

  /** False when no more records are wanted. */
  async function beginAll(items: readonly Item[]): Promise<boolean> {
    for (const item of items) {
      for (let room = roomOf(); room; room = roomOf()) {
        readOn('blocked');
        await room;
        reading = 'more';
        await ports.clock.nextTurn();
      }
      reading = 'more';
      if (isStopping()) return false;
      const share = budget.begin();
      const task = chain.pass(item, share.progress);
      share.until(task);
      window.begin(item, task);
    }
    return true;
  }

  function close(): void {
    window.close();
    budget.close();
  }

  function roomOf(): Promise<void> | undefined {
    return window.room() ?? gates.room() ?? budget.room();
  }

  function readOn(state: InputState): void {
    reading = state;
    batches.recheck();
  }

  function inputState(): InputState {
    return reading === 'blocked' && unwritten > 0 ? 'more' : reading;
  }

  function written(count: number): void {
    unwritten -= count;
    window.free(count);
    batches.recheck();
  }

  function done(item: Item, outcome: Outcome): void {
    const taken = output.put(item, outcome);
    counts.finished++;
    unwritten++;
    if (!('failure' in taken)) ports.report({ type: 'record-done', record: item.number, rows: countOf(taken) });
    else {
      counts.failed++;
      ports.report({ type: 'record-failed', record: item.number, ...reportOf(taken.failure) });
      const reason = tooManyErrors(settings.maxErrors, counts);
      if (reason !== undefined) stopping.request('max-errors', reason);
    }
    writing.put();
  }
}

function countOf(outcome: Exclude<Outcome, { failure: unknown }>): number {
  return 'rows' in outcome ? outcome.rows.length : outcome.spilled.rows;
}

const usualWindow = 1024;

/** Records that gather for the next batches, and those that wait to be written. */
const betweenBatches = 512;

/** So many records may fill the batches that are in flight, and those that come after them. */
const mostBatched = 65_536;

/** Records that wait between their calls hold no slot: many more can be on their way. */
const waitingWindow = 8192;

/**
 * Wider than the concurrency, so that one slow record does not stall the rest.
 * A record makes one call for each node that calls: after a crash so many are repeated at most.
 */
function windowSize(plan: Plan): number {
  const steps = allSteps(plan.steps);
  const actions = steps.flatMap(({ node }) => node.action ?? []);
  const concurrency = Math.max(1, ...actions.map((action) => action.limit.max));
  const size = steps.some(({ node }) => node.inner?.waits) ? waitingWindow : usualWindow;
  const batched = Math.max(
    0,
    ...actions.flatMap(({ batchSize }) => (batchSize === undefined ? [] : batchSize * concurrency + betweenBatches)),
  );
  const shared = Math.ceil(Math.max(size, concurrency * 8) / Math.max(1, actions.length));
  return Math.max(shared, Math.min(mostBatched, batched));
}
