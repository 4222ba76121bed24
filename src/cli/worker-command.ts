import { AutomateError, invalidOption } from '../core/failure.ts';
import { defaultEnv, type NetworkAddress } from '../core/run-options.ts';
import { counted, formatCount } from '../core/text/number.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { JsonObject } from '../core/value/value.ts';
import { openCredentials } from '../credentials/credential-store.ts';
import { credentialVariables } from '../credentials/environment.ts';
import type { StoredCredential } from '../credentials/secret.ts';
import type { QueueStatus } from '../report/run-status.ts';
import { exitCodes, signalExitCode } from '../run/exit-codes.ts';
import type { Metrics } from '../run/metrics.ts';
import { type OpenQueue, openQueue } from '../workers/open-queue.ts';
import { queueStatus, shortId } from '../workers/queue-status.ts';
import { openMetrics } from './metrics.ts';
import { printJson, type Terminal } from './terminal.ts';

interface GivenQueue {
  readonly queue?: string;
  readonly queueName?: string;
  readonly cacert?: string;
}

interface GivenWorker extends GivenQueue {
  readonly lease: number;
  readonly grace: number;
  readonly exitWhenIdle?: number;
  readonly metrics?: NetworkAddress;
  readonly quiet?: boolean;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export async function workerCommand(options: GivenWorker, terminal: Terminal): Promise<number> {
  const metrics = await openMetrics(options, terminal);
  try {
    const queue = await queueOf(options, terminal);
    try {
      warnOfUnboundCredentials(terminal);
      return await passRecords(queue, options, terminal, metrics);
    } finally {
      await queue.close();
    }
  } finally {
    await metrics?.close();
  }
}

async function passRecords(queue: OpenQueue, options: GivenWorker, terminal: Terminal, metrics: Metrics | undefined): Promise<number> {
  const { QueueWorker } = await import('../workers/queue-worker.ts');
  const { lease: leaseMs, grace: graceMs, exitWhenIdle: idleMs, quiet = false } = options;
  const say = quiet ? () => undefined : terminal.say;
  const worker = new QueueWorker(queue, { leaseMs, graceMs, idleMs, say, warn: terminal.warn, metrics });
  let first: NodeJS.Signals | undefined;
  const listener = (signal: NodeJS.Signals) => {
    if (first) process.exit(signalExitCode(signal));
    first = signal;
    say(`${signal}: finishing the records already started, for at most ${graceMs / 1000} s; repeat to stop at once`);
    void worker.stop();
  };
  for (const signal of signals) process.on(signal, listener);
  await worker.start();
  say(`${worker.id} is ready: ${queue.url}, queue ${queue.name}`);
  const isClean = await worker.ended;
  return isClean || !first ? exitCodes.success : signalExitCode(first);
}

/** Throws an AutomateError (`usage`) if the options name no queue. */
async function queueOf(options: GivenQueue, terminal: Terminal): Promise<OpenQueue> {
  const { queue } = options;
  if (queue === undefined) throw invalidOption('queue', 'expected the URL of the queue, such as redis://redis:6379');
  return openQueue({ ...options, queue }, terminal);
}

/** A worker would send them to any host. A flow from the queue names the host, so whoever holds the queue key could get these secrets. */
function warnOfUnboundCredentials(terminal: Terminal): void {
  const variables = credentialVariables(process.env);
  const stored = storedWithoutHosts(terminal);
  const names = [...stored.map(({ name, env }) => (env === defaultEnv ? name : `${name} (${env})`)), ...variables];
  if (names.length === 0) return;
  const lines = [`whoever holds the queue key can have these credentials sent to any host: ${names.join(', ')}`];
  const { name = 'NAME', env = defaultEnv } = stored[0] ?? {};
  const envOption = env === defaultEnv ? '' : ` --env ${shellWord(env)}`;
  lines.push(`limit each of them to its hosts: automate credentials set ${name}${envOption} --hosts api.example.com`);
  if (variables.length > 0) lines.push('a secret in a variable has no hosts: store it with this command instead, and remove the variable');
  terminal.warn(lines.join('\n'));
}

/** Credentials without hosts that a worker can use. If they cannot be listed, only warns. */
function storedWithoutHosts(terminal: Terminal): readonly StoredCredential[] {
  const store = openCredentials(undefined, terminal);
  try {
    // With AUTOMATE_ENV, a worker takes only runs of that environment.
    return store.list().filter(({ hosts, env }) => hosts === undefined && (!process.env.AUTOMATE_ENV || env === store.env));
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    terminal.warn(`the stored credentials cannot be listed: ${error.message}`);
    return [];
  }
}

export async function statusCommand(options: GivenQueue & { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const queue = await queueOf(options, terminal);
  try {
    const status = await queue.redis.insist(() => queueStatus(queue, terminal.warn));
    if (options.json) await printJson(status as unknown as JsonObject, terminal);
    else await terminal.print(statusText(status));
  } finally {
    await queue.close();
  }
}

function statusText({ queue, runs, workers }: QueueStatus): string {
  const runLines = runs.flatMap(({ run, flow, state, records, coordinator, credits }) => [
    `run ${run}: ${flow}, ${state}`,
    `  ${formatCount(records.read)} read, ${formatCount(records.written)} written, ${formatCount(records.failed)} failed, ${formatCount(records.open)} open, ${counted(credits, 'credit')}`,
    `  coordinator: process ${coordinator.pid} on ${coordinator.host}${coordinator.alive ? '' : ', not seen for 15 s'}`,
  ]);
  const workerLines = workers.flatMap(({ id, version, units, records, problems }) => [
    `worker ${id}: automate ${version}, ${counted(units, 'unit')} now, ${counted(records, 'record')} done`,
    ...problems.map(({ run, problem }) => `  cannot process run ${shortId(run)}: ${problem}`),
  ]);
  const nothing = [...(runs.length === 0 ? ['no runs'] : []), ...(workers.length === 0 ? ['no workers'] : [])];
  // Each run states the number of units (groups of records) of all runs together, so the first one is enough.
  const [units] = runs.map((run) => run.units);
  const unitText = units ? `: ${counted(units.waiting, 'unit')} waiting, ${formatCount(units.active)} active` : '';
  return [`queue ${queue}${unitText}`, ...runLines, ...workerLines, ...nothing].join('\n');
}
