import { AutomateError } from '../../core/failure.ts';
import type { GivenRun } from './run-options.ts';

/** Options for workers, which only some commands have. */
type WorkerOptions = Partial<Pick<GivenRun, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>>;

/** Throws an AutomateError (`usage`) if worker options exclude each other or lack an option that they need. */
export function refuseWorkerConflicts({ workers, queue, queueName, waitForWorkers }: WorkerOptions): void {
  if (workers !== undefined && queue !== undefined)
    throw new AutomateError(
      'usage',
      '--workers starts processes on this machine, --queue uses workers that watch a queue: expected one of the two',
    );
  if (queue !== undefined) return;
  if (queueName !== undefined)
    throw new AutomateError('usage', '--queue-name works only with --queue: add --queue, or leave --queue-name out');
  if (waitForWorkers !== undefined)
    throw new AutomateError('usage', '--wait-for-workers works only with --queue: add --queue, or leave --wait-for-workers out');
}
