import { counted, formatCount } from '../core/text/number.ts';
import type { JsonObject } from '../core/value/value.ts';
import type { QueueStatus } from '../report/queued-run.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { queueStatus, shortId } from '../workers/queue-status.ts';
import { command, type ValuesOf } from './options.ts';
import { printJson, type Terminal } from './terminal.ts';
import { queueOf, statusOptions } from './worker.ts';

export const status = command({
  examples: ['automate status --queue redis://redis:6379', 'automate status --queue redis://redis:6379 --json'],
  args: {},
  options: statusOptions,
  run: ({ options, terminal }) => statusCommand(options, terminal),
});

export async function statusCommand(options: ValuesOf<typeof statusOptions>, terminal: Terminal): Promise<number> {
  const queue = await queueOf(options, terminal);
  try {
    const status = await queueStatus(queue, terminal.warn);
    if (options.json) await printJson(status as unknown as JsonObject, terminal);
    else await terminal.print(statusText(status));
    return exitCodes.success;
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
