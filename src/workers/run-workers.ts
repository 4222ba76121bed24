import type { Messages } from '../credentials/messages.ts';
import { Gates } from '../engine/gates.ts';
import { createClock } from '../files/clock.ts';
import type { SharedRunWorkers } from '../run/flow-runtime.ts';
import type { OpenQueue, QueueOptions } from './open-queue.ts';
import { processNeed, queueNeed } from './worker-needs.ts';
import { WorkersOfRun } from './workers-of-run.ts';

export interface RunWorkersOptions extends Partial<QueueOptions> {
  /** Number of child processes; undefined if there are none. */
  readonly workers?: number | undefined;
}

export interface RunWorkers extends SharedRunWorkers {
  /** The gates (the rate limiters of APIs) that the server's calls share with the workers. */
  readonly gates: Gates;
  /** True while the queue's Redis server cannot be reached. */
  readonly isAway: boolean;
  close(): Promise<void>;
}

/**
 * Opens a server's workers. Returns undefined if the options request none. Throws an AutomateError: `usage` if the URL is wrong,
 * `credential` if there is no good queue key, or if Redis cannot be reached, rejects the password, or is not secured.
 */
export async function openRunWorkers({ workers, queue, ...named }: RunWorkersOptions, messages: Messages): Promise<RunWorkers | undefined> {
  if (queue !== undefined) return queueWorkers(await openQueue({ ...named, queue }, messages));
  return workers === undefined ? undefined : childWorkers(workers);
}

async function openQueue(options: QueueOptions, messages: Messages): Promise<OpenQueue> {
  return (await import('./open-queue.ts')).openQueue(options, messages);
}

async function queueWorkers(queue: OpenQueue): Promise<RunWorkers> {
  const gates = new Gates(createClock(), (gate) => queue.gates.permitsOf(gate));
  await queue.gates.onPause((gate, waitMs) => gates.pauseHere(gate, waitMs));
  return {
    ...{ gates, close: () => queue.close(), forRun: () => new WorkersOfRun({ queue }) },
    get isAway() {
      return queue.redis.isAway;
    },
    // A run on a server waits without a time limit for workers.
    optionsFor: (plan) =>
      queueNeed(plan) !== undefined ? {} : { queue: queue.url, queueName: queue.name, waitForWorkers: Number.POSITIVE_INFINITY },
  };
}

async function childWorkers(workers: number): Promise<RunWorkers> {
  const clock = createClock();
  const { startChildren } = await import('./open-workers.ts');
  const children = startChildren(workers, clock, (gate, waitMs) => gates.pauseHere(gate, waitMs));
  const gates = new Gates(clock, (gate) => children.permitsOf(gate));
  return {
    ...{ gates, isAway: false, close: async () => children.close(), forRun: () => new WorkersOfRun({ children }) },
    optionsFor: (plan) => (processNeed(plan) ? {} : { workers }),
  };
}
