import { allSteps, dataFilesOf, type Plan, usesFiles } from '../../core/plan.ts';
import type { RunOptions } from '../../core/run-options.ts';
import { isRemote } from '../../core/tools/tools.ts';
import { Gates } from '../../engine/gates.ts';
import { createClock } from '../../io/clock/clock.ts';
import type { Children } from '../../io/workers/children.ts';
import type { Messages } from '../messages.ts';
import type { OpenQueue, QueueOptions } from './open-queue.ts';

/** The settings for the workers that process the runs of a server. */
export interface RunWorkersOptions extends Partial<QueueOptions> {
  /** Number of child processes; undefined if there are none. */
  readonly workers?: number | undefined;
}

/** The workers that process the records of a server's runs. */
export interface RunWorkers {
  /** The gates (the rate limiters of APIs) that the server's calls share with the workers. */
  readonly gates: Gates;
  readonly children?: Children | undefined;
  readonly queue?: OpenQueue | undefined;
  /** True while the queue's Redis server cannot be reached. */
  readonly isAway: boolean;
  /** Returns the options that make a run use the workers. Empty for a flow that must run in this process. */
  optionsFor(plan: Plan): Pick<RunOptions, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>;
  close(): Promise<void>;
}

/**
 * Opens a server's workers. Returns undefined if the options request none. Throws an AutomateError: `usage` if the URL is wrong,
 * `credential` if Redis cannot be reached, rejects the password, or is not secured.
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
    ...{ gates, queue, close: () => queue.close() },
    get isAway() {
      return queue.redis.isAway;
    },
    // A run on a server waits without a time limit for workers.
    optionsFor: (plan) =>
      (processNeed(plan) ?? machineNeed(plan)) ? {} : { queue: queue.url, queueName: queue.name, waitForWorkers: Number.POSITIVE_INFINITY },
  };
}

async function childWorkers(workers: number): Promise<RunWorkers> {
  const clock = createClock();
  const { startChildren } = await import('./open-workers.ts');
  const children = startChildren(workers, clock, (gate, waitMs) => gates.pauseHere(gate, waitMs));
  const gates = new Gates(clock, (gate) => children.permitsOf(gate));
  return {
    ...{ gates, children, isAway: false, close: async () => children.close() },
    optionsFor: (plan) => (processNeed(plan) ? {} : { workers }),
  };
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
