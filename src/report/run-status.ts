/** A run in the status of a process or a queue, as JSON. */
export interface RunStatus {
  readonly run: string;
  readonly flow: string;
  /** `waiting`: no worker can process the run. `orphaned`: its coordinator has sent no heartbeat for 15 s. */
  readonly state: 'running' | 'waiting' | 'stopping' | 'orphaned';
  readonly started: string;
  readonly version: string;
  readonly coordinator: { readonly host: string; readonly pid: number; readonly alive: boolean };
  readonly records: { readonly read: number; readonly written: number; readonly failed: number; readonly open: number };
  /** Units (groups of records) of all runs of the queue that wait for a worker or that a worker has taken. Undefined without a queue. */
  readonly units?: { readonly waiting: number; readonly active: number };
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

export interface QueueStatus {
  readonly queue: string;
  readonly runs: readonly RunStatus[];
  readonly workers: readonly QueuedWorker[];
}
