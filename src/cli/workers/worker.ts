import { invalidOption } from '../../core/failure.ts';
import { exitCodes, signalExitCode } from '../../run/exit-codes.ts';
import type { Metrics } from '../../run/metrics.ts';
import { type OpenQueue, openQueue } from '../../workers/open-queue.ts';
import { openMetrics } from '../metrics.ts';
import type { ValuesOf } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { warnOfUnboundCredentials } from './unbound-credentials.ts';
import type { statusOptions, workerOptions } from './worker-options.ts';

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Processes records of queued runs until it is stopped, or until it has had nothing to do for too long. Returns the exit code. */
export async function workerCommand(options: ValuesOf<typeof workerOptions>, terminal: Terminal): Promise<number> {
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

async function passRecords(
  queue: OpenQueue,
  options: ValuesOf<typeof workerOptions>,
  terminal: Terminal,
  metrics: Metrics | undefined,
): Promise<number> {
  const { QueueWorker } = await import('../../workers/queue-worker.ts');
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

/** Opens the queue that the options of a command name. Throws an AutomateError (`usage`) if they name none. */
export async function queueOf(options: Partial<ValuesOf<typeof statusOptions>>, terminal: Terminal): Promise<OpenQueue> {
  const { queue } = options;
  if (queue === undefined) throw invalidOption('queue', 'expected the URL of the queue, such as redis://redis:6379');
  return openQueue({ ...options, queue }, terminal);
}
