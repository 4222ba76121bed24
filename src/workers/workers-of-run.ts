import { availableParallelism } from 'node:os';
import type { WorkerCount } from '../core/run-options.ts';
import type { Messages } from '../credentials/messages.ts';
import { Gates } from '../engine/gates.ts';
import { createClock } from '../files/clock.ts';
import type { SharedRunWorkers } from '../run/flow-runtime.ts';
import type { OpenRun, RunRequest, WorkerFollower, WorkerOpener, Workers } from '../run/run-request.ts';
import { asksPublicServer, processNeed, queueNeed, refuseWorkers } from './manifest.ts';
import type { OpenQueue, QueueOptions } from './open-queue.ts';
import type { Children } from './processes/children.ts';

/** Opens the workers of one run, in child processes or over a queue. Loads the code for them only if the run's options ask for workers. */
export class WorkersOfRun implements WorkerOpener {
  readonly #shared: { readonly queue?: OpenQueue; readonly children?: Children };
  #queue: OpenQueue | undefined;

  /** If `shared` lacks the queue or the child processes, the run opens its own. */
  constructor(shared: { readonly queue?: OpenQueue; readonly children?: Children } = {}) {
    this.#shared = shared;
  }

  async prepare({ plan, options }: Pick<RunRequest, 'plan' | 'options'>, messages: Messages): Promise<void> {
    refuseWorkers(plan, options);
    const { queue } = options;
    if (queue === undefined) return;
    const { openQueue } = await import('./open-queue.ts');
    this.#queue = this.#shared.queue ?? (await openQueue({ ...options, queue }, messages));
  }

  async open(run: OpenRun, { attempt, warn, waiting }: WorkerFollower): Promise<Workers | undefined> {
    const { workers: count } = run.request.options;
    if (this.#queue) {
      const { openQueueWorkers } = await import('./queue-coordinator.ts');
      return openQueueWorkers(run, this.#queue, { attempt, warn, waiting });
    }
    if (count === undefined) return undefined;
    const workers = processesOf(count);
    const { openChildWorkers } = await import('./open-children.ts');
    const isPublic = asksPublicServer(run.request.plan);
    if (isPublic && workers > 1) warn('the flow uses a public server, which accepts one request at a time, so only one worker runs');
    return openChildWorkers(run, isPublic ? 1 : workers, { attempt, warn }, this.#shared.children);
  }

  async close(): Promise<void> {
    if (this.#queue !== this.#shared.queue) await this.#queue?.close();
  }
}

function processesOf(count: WorkerCount): number {
  return count === 'auto' ? Math.max(1, availableParallelism() - 1) : count;
}

export interface RunWorkersOptions extends Partial<QueueOptions> {
  readonly workers?: WorkerCount;
}

export interface RunWorkers extends SharedRunWorkers {
  /** The gates (the rate limiters of APIs) that the server's calls share with the workers. */
  readonly gates: Gates;
  readonly isAway: boolean;
  close(): Promise<void>;
}

/**
 * Opens a server's workers. Returns undefined if the options request none. Throws an AutomateError: `usage` if the URL is wrong,
 * `credential` if there is no good queue key, or if Redis cannot be reached, rejects the password, or is not secured.
 */
export async function openRunWorkers({ workers, queue, ...named }: RunWorkersOptions, messages: Messages): Promise<RunWorkers | undefined> {
  if (queue !== undefined) return queueWorkers(await openQueue({ ...named, queue }, messages));
  return workers === undefined ? undefined : childWorkers(processesOf(workers));
}

async function openQueue(options: QueueOptions, messages: Messages): Promise<OpenQueue> {
  return (await import('./open-queue.ts')).openQueue(options, messages);
}

async function queueWorkers(queue: OpenQueue): Promise<RunWorkers> {
  const gates = new Gates(createClock(), (gate) => queue.gates.permitsOf(gate));
  await queue.gates.onPause((...pause) => gates.pausedElsewhere(...pause));
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
  const { startChildren } = await import('./open-children.ts');
  const children = startChildren(workers, clock, (...pause) => gates.pausedElsewhere(...pause));
  const gates = new Gates(clock, (gate) => children.permitsOf(gate));
  return {
    ...{ gates, isAway: false, close: async () => children.close(), forRun: () => new WorkersOfRun({ children }) },
    optionsFor: (plan) => (processNeed(plan) ? {} : { workers }),
  };
}
