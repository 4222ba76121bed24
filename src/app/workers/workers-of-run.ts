import { invalidOption } from '../../core/failure.ts';
import { allSteps, dataFilesOf, type Plan, usesFiles } from '../../core/plan.ts';
import { isRemote } from '../../core/tools/tools.ts';
import type { Children } from '../../io/workers/children.ts';
import type { Messages } from '../messages.ts';
import type { OpenRun, RunRequest, WorkerFollower, WorkerOpener, Workers } from '../run-request.ts';
import type { OpenQueue } from './open-queue.ts';

/** The workers that all runs of a process share. A run opens its own queue or child processes for those that are undefined. */
export interface SharedWorkers {
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
    const { queue } = options;
    if (queue === undefined) return;
    const need = processNeed(plan) ?? machineNeed(plan);
    if (need !== undefined) throw invalidOption('queue', need);
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

/**
 * Returns the reason why a flow must run in one process: it uses a public server, which accepts only one request at a time. Returns
 * undefined if workers can run the flow.
 */
export function processNeed(plan: Plan): string | undefined {
  return asksPublicServer(plan) ? 'expected a flow that does not use a public server, which accepts only one request at a time' : undefined;
}

/** True if the flow sends requests to a public server. */
export function asksPublicServer(plan: Plan): boolean {
  return allSteps(plan.steps).some(({ node }) => node.action?.lookup?.publicServer !== undefined);
}

/**
 * Returns the reason why a flow must run on this machine; undefined if other machines can run it. Such a flow sends or saves files, starts
 * a program, uses a person's login, or reads data from a file.
 */
export function machineNeed(plan: Plan): string | undefined {
  if (usesFiles(plan)) return 'expected a flow that does not send or save files';
  if (plan.tools.some(({ connection }) => !isRemote(connection.server)))
    return 'expected a flow whose MCP servers are reached over HTTP, found one that is started by a command';
  const login = plan.credentials.find((use) => use.login);
  if (login) return `expected a flow without a browser login, whose tokens only one machine can renew, found ${login.name}`;
  const file = dataFilesOf(plan)[0];
  return file === undefined ? undefined : `expected a flow that does not read files on this machine, found ${file}`;
}
