import { deadMs } from '../../io/queue/queue-units.ts';
import { seenWorkers } from '../../io/queue/worker-signs.ts';
import type { OpenQueue } from './open-queue.ts';

/** The state of a run: `waiting` if no worker can do it, `orphaned` if its coordinator has not been seen for 15 s. */
export type QueuedRunState = 'running' | 'waiting' | 'stopping' | 'orphaned';

/** A run in a queue. */
export interface QueuedRun {
  readonly run: string;
  readonly flow: string;
  readonly state: QueuedRunState;
  readonly started: string;
  readonly version: string;
  readonly coordinator: { readonly host: string; readonly pid: number; readonly alive: boolean };
  readonly records: { readonly read: number; readonly written: number; readonly failed: number; readonly open: number };
  /** Units of all runs of the queue. */
  readonly units: { readonly waiting: number; readonly active: number };
  readonly credits: number;
}

/** A worker of a queue that lives. */
export interface QueuedWorker {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly units: number;
  readonly records: number;
  readonly problems: readonly { readonly run: string; readonly problem: string }[];
}

/** The runs and the workers of a queue. */
export interface QueueStatus {
  readonly queue: string;
  readonly runs: readonly QueuedRun[];
  readonly workers: readonly QueuedWorker[];
}

/** Reads the runs and the workers of a queue. */
export async function queueStatus({ name, redis, keys, jobs }: OpenQueue): Promise<QueueStatus> {
  const all = await seenWorkers(redis, keys);
  const living = all.filter(({ ageMs, leaseMs }) => ageMs < leaseMs);
  const workers = living.map(({ id, host, pid, version, units, records, problems }) => ({
    ...{ id, host, pid, version, units, records },
    problems: problems.map(({ run, problem }) => ({ run, problem })),
  }));
  const units = await jobs.counts();
  const ids = await redis.client.smembers(keys.runs);
  const time = await redis.client.time();
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  const runs = await Promise.all(
    ids.sort().map(async (run) => {
      const facts = await redis.client.hgetall(keys.run(run).run);
      if (facts.seen === undefined) return [];
      const alive = nowUs - Number(facts.seen) < deadMs * 1000;
      const isWaiting = workers.every((worker) => cannotDo(worker, run));
      return [{ ...queuedRun(run, facts, alive, isWaiting), units }];
    }),
  );
  return { queue: name, runs: runs.flat(), workers };
}

function cannotDo({ problems }: QueuedWorker, run: string): boolean {
  return problems.some((problem) => problem.run === run);
}

function queuedRun(run: string, facts: Record<string, string>, alive: boolean, isWaiting: boolean): Omit<QueuedRun, 'units'> {
  const { flow = '', started = '', version = '', host = '', pid, closing, counts = '{}' } = facts;
  const { credits = 0, read = 0, written = 0, failed = 0, open = 0 } = JSON.parse(counts) as Record<string, number>;
  const state = !alive ? 'orphaned' : closing !== undefined ? 'stopping' : isWaiting ? 'waiting' : 'running';
  const coordinator = { host, pid: Number(pid), alive };
  return { run, flow, state, started, version, coordinator, records: { read, written, failed, open }, credits };
}
