import { exitCodes } from '../../app/exit-codes.ts';
import { type QueueStatus, queueStatus } from '../../app/workers/queue-status.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import type { JsonObject } from '../../core/value/value.ts';
import type { ValuesOf } from '../options.ts';
import { printJson } from '../show/print-json.ts';
import type { Terminal } from '../terminal.ts';
import { queueOf } from './worker.ts';
import type { statusOptions } from './worker-options.ts';

/** Shows the runs and the workers of a queue. Returns the exit code. */
export async function statusCommand(options: ValuesOf<typeof statusOptions>, terminal: Terminal): Promise<number> {
  const queue = await queueOf(options, terminal);
  try {
    const status = await queueStatus(queue);
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
    `  ${formatCount(records.read)} read, ${formatCount(records.written)} written, ${formatCount(records.failed)} failed, ${counted(credits, 'credit')}`,
    `  coordinator: process ${coordinator.pid} on ${coordinator.host}${coordinator.alive ? '' : ', not seen for 15 s'}`,
  ]);
  const workerLines = workers.flatMap(({ id, version, units, records, problems }) => [
    `worker ${id}: automate ${version}, ${counted(units, 'unit')} now, ${counted(records, 'record')} done`,
    ...problems.map(({ run, problem }) => `  cannot do run ${run.slice(0, 8)}: ${problem}`),
  ]);
  const nothing = [...(runs.length === 0 ? ['no runs'] : []), ...(workers.length === 0 ? ['no workers'] : [])];
  return [`queue ${queue}`, ...runLines, ...workerLines, ...nothing].join('\n');
}
