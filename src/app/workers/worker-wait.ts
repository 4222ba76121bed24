import type { RunProblem } from '../../io/queue/worker-signs.ts';

/** The wait for a worker that can do the run. */
export interface WorkerWait {
  /** The URL of the queue. */
  readonly url: string;
  /** Undefined for `default`. */
  readonly queueName: string | undefined;
  /** The workers that are there, each with its problem. */
  readonly problems: readonly (RunProblem & { readonly worker: string })[];
}
