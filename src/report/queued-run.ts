/** The state of a queued run: `waiting` if no worker can process it, `orphaned` if its coordinator has sent no heartbeat for 15 s. */
type QueuedRunState = 'running' | 'waiting' | 'stopping' | 'orphaned';

/** The status of a queued run. */
export interface QueuedRun {
  readonly run: string;
  readonly flow: string;
  readonly state: QueuedRunState;
  readonly started: string;
  readonly version: string;
  readonly coordinator: { readonly host: string; readonly pid: number; readonly alive: boolean };
  readonly records: { readonly read: number; readonly written: number; readonly failed: number; readonly open: number };
  /** For all runs of the queue: how many units (groups of records) wait for a worker, and how many a worker has taken. */
  readonly units: { readonly waiting: number; readonly active: number };
  readonly credits: number;
}

/** A worker that is alive and takes records from the queue. */
export interface QueuedWorker {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly units: number;
  readonly records: number;
  readonly problems: readonly { readonly run: string; readonly problem: string }[];
}

/** The status of a queue, with all runs and workers. */
export interface QueueStatus {
  readonly queue: string;
  readonly runs: readonly QueuedRun[];
  readonly workers: readonly QueuedWorker[];
}
