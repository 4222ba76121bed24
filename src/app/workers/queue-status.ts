import { isRunId } from '../../io/queue/queue-keys.ts';
import { deadMs } from '../../io/queue/queue-units.ts';
import { type RunProblem, seenWorkers, type WorkerSign } from '../../io/queue/worker-signs.ts';
import type { QueuedRun, QueuedWorker, QueueStatus } from '../metrics/queued-run.ts';
import type { OpenQueue } from './open-queue.ts';

/** Reads the runs and workers of a queue from Redis. */
export async function queueStatus({ name, redis, keys, jobs }: OpenQueue): Promise<QueueStatus> {
  const all = await seenWorkers(redis, keys);
  const living = all.filter(({ ageMs, leaseMs }) => ageMs < leaseMs);
  const workers = living.map(queuedWorker);
  const units = await jobs.counts();
  const ids = await redis.client.smembers(keys.runs);
  const time = await redis.client.time();
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  const runs = await Promise.all(
    ids
      .filter(isRunId)
      .sort()
      .map(async (run) => {
        const facts = await redis.client.hgetall(keys.run(run).run);
        if (facts.seen === undefined) return [];
        const alive = nowUs - Number(facts.seen) < deadMs * 1000;
        const isWaiting = workers.every((worker) => cannotDo(worker, run));
        return [queuedRun(run, facts, { alive, isWaiting, units })];
      }),
  );
  return { queue: name, runs: runs.flat(), workers };
}

/** Returns the short name of a run for printed lines: the beginning of the id if it is a UUID, or the whole id for a run of a server. */
export function shortId(run: string): string {
  return run.startsWith('run_') ? run : run.slice(0, 8);
}

/** Returns a worker's status from the heartbeat that it writes to Redis. */
export function queuedWorker({ id, host, pid, version, units, records, problems }: WorkerSign): QueuedWorker {
  return { id, host, pid, version, units, records, problems: problems.map(shownProblem) };
}

function shownProblem({ run, problem, credentials = [] }: RunProblem): QueuedWorker['problems'][number] {
  const [lacked] = credentials;
  return { run, problem: lacked === undefined ? problem : `no credential "${lacked}"` };
}

function cannotDo({ problems }: QueuedWorker, run: string): boolean {
  return problems.some((problem) => problem.run === run);
}

function queuedRun(
  run: string,
  facts: Record<string, string>,
  { alive, isWaiting, units }: Pick<QueuedRun, 'units'> & { readonly alive: boolean; readonly isWaiting: boolean },
): QueuedRun {
  const { flow = '', started = '', version = '', host = '', pid, closing, counts = '{}' } = facts;
  const { credits = 0, read = 0, written = 0, failed = 0, open = 0 } = JSON.parse(counts) as Record<string, number>;
  const state = !alive ? 'orphaned' : closing !== undefined ? 'stopping' : isWaiting ? 'waiting' : 'running';
  const coordinator = { host, pid: Number(pid), alive };
  return { run, flow, state, started, version, coordinator, records: { read, written, failed, open }, units, credits };
}
