import type { Messages } from '../credentials/messages.ts';
import type { OpenRun, RunRequest, WorkerFollower, WorkerOpener, Workers } from '../run/run-request.ts';
import type { OpenQueue } from './open-queue.ts';
import type { Children } from './processes/children.ts';
import { asksPublicServer, refuseWorkers } from './worker-needs.ts';

/** A run opens its own queue or child processes for those that are undefined. */
interface SharedWorkers {
  readonly queue?: OpenQueue | undefined;
  readonly children?: Children | undefined;
}

/** Opens the workers of one run, in child processes or over a queue. Loads the code for them only if the run's options ask for workers. */
export class WorkersOfRun implements WorkerOpener {
  readonly #shared: SharedWorkers;
  #queue: OpenQueue | undefined;

  constructor(shared: SharedWorkers = {}) {
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
    const { workers } = run.request.options;
    if (this.#queue) {
      const { openQueueWorkers } = await import('./queue-workers.ts');
      return openQueueWorkers(run, this.#queue, { attempt, warn, waiting });
    }
    if (workers === undefined) return undefined;
    const { openWorkers } = await import('./open-workers.ts');
    const isPublic = asksPublicServer(run.request.plan);
    if (isPublic && workers > 1) warn('the flow uses a public server, which accepts one request at a time, so only one worker runs');
    return openWorkers(run, isPublic ? 1 : workers, { attempt, warn, shared: this.#shared.children });
  }

  async close(): Promise<void> {
    if (this.#queue !== this.#shared.queue) await this.#queue?.close();
  }
}
