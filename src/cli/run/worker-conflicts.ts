import { AutomateError } from '../../core/failure.ts';
import type { RunOptions } from './run-options.ts';

/** Throws an AutomateError (`usage`) for options of workers that exclude each other, or that need another one. */
export function refuseWorkerConflicts({ workers, queue, queueName, waitForWorkers }: Partial<RunOptions>): void {
  if (workers !== undefined && queue !== undefined)
    throw new AutomateError('usage', '--workers starts processes here, --queue uses those that watch a queue: expected one of them');
  if (queue !== undefined) return;
  if (queueName !== undefined) throw new AutomateError('usage', '--queue-name says which queue of a Redis: expected --queue beside it');
  if (waitForWorkers !== undefined)
    throw new AutomateError('usage', '--wait-for-workers waits for those of a queue: expected --queue beside it');
}
