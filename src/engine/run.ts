import type { Ending } from '../core/event.ts';
import type { Item, Outcome } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Output, Ports } from '../core/ports.ts';
import { createCaller, reportOf } from './call.ts';
import { createChain } from './chain.ts';
import { createGates, type GateOverrides } from './gate.ts';
import { isTooMany, type MaxErrors } from './max-errors.ts';
import { createStopping, type Stopping } from './stopping.ts';
import { createWindow } from './window.ts';
import { createWriting } from './writing.ts';

/** How one run differs from another of the same plan. */
export interface RunSettings extends GateOverrides {
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
export function startRun(plan: Plan, batches: AsyncIterable<readonly Item[]>, output: Output, ports: Ports, settings: RunSettings): Run {
  const startedMs = ports.clock.now();
  const gates = createGates(ports.clock, settings);
  const stopping = createStopping((ending, reason) => {
    ports.report({ type: 'stopping', ending, reason });
    gates.refuse('refusable');
    window.close();
  });
  stopping.signal.addEventListener('abort', () => {
    gates.refuse('all');
    window.close();
    ports.http.abort();
    ports.tools.abort();
  });
  const pass = createChain(plan, { ports, stopping, call: createCaller({ ports, gates, stopping }) });
  const counts = { ended: 0, failed: 0 };
  const window = createWindow({ size: windowSize(plan, settings), unordered: settings.unordered, done, broken: stopping.abort });
  const writing = createWriting(output, ports.clock, { written: window.free, broken: stopping.abort });
  return { stopping, ended: run() };

  async function run(): Promise<Ending> {
    try {
      for await (const items of batches) {
        if (!(await beginAll(items))) break;
      }
    } finally {
      await window.ended().finally(writing.ended);
    }
    const ending = stopping.ending ?? 'complete';
    ports.report({ type: 'run-ended', ending, ms: ports.clock.now() - startedMs });
    return ending;
  }

  /** False when no more records are wanted. */
  async function beginAll(items: readonly Item[]): Promise<boolean> {
    for (const item of items) {
      for (let room = roomOf(); room; room = roomOf()) {
        await room;
        await ports.clock.nextTurn();
      }
      if (stopping.ending !== undefined || stopping.signal.aborted) return false;
      window.begin(item, pass(item));
    }
    return true;
  }

  function roomOf(): Promise<void> | undefined {
    return window.room() ?? gates.room();
  }

  function done(item: Item, outcome: Outcome): void {
    const written = output.put(item, outcome);
    counts.ended++;
    if ('rows' in written) ports.report({ type: 'record-done', record: item.number, rows: written.rows.length });
    else {
      counts.failed++;
      ports.report({ type: 'record-failed', record: item.number, ...reportOf(written.failure) });
      if (isTooMany(settings.maxErrors, counts))
        stopping.request('max-errors', counts.failed === 1 ? '1 record has failed' : `${counts.failed} records have failed`);
    }
    writing.put();
  }
}

const usualWindow = 1024;

/** Records that wait between their calls hold no slot: many more can be on their way. */
const waitingWindow = 8192;

/**
 * Wider than the concurrency, so that one slow record does not stall the rest.
 * A record makes one call for each node that calls: after a crash so many are repeated at most.
 */
function windowSize(plan: Plan, settings: RunSettings): number {
  const steps = allSteps(plan.steps);
  const actions = steps.flatMap(({ node }) => node.action ?? []);
  const concurrency = settings.concurrency ?? Math.max(1, ...actions.map((action) => action.concurrency));
  const size = steps.some(({ node }) => node.inner?.waits) ? waitingWindow : usualWindow;
  return Math.ceil(Math.max(size, concurrency * 8) / Math.max(1, actions.length));
}
