import * as z from 'zod';
import type { QueuedWorker, QueueStatus, RunStatus } from '../report/run-status.ts';
import type { OpenQueue } from './open-queue.ts';
import { ifForeign } from './queue/connection.ts';
import { isRunId } from './queue/queue-keys.ts';
import { readJsonAs } from './queue/queue-message.ts';
import { deadMs, runIds } from './queue/run-entry.ts';
import { type RunProblem, seenWorkers, type WorkerSign } from './queue/worker-signs.ts';

const count = z.number().nonnegative().catch(0);

const countsShape = z.object({ credits: count, read: count, written: count, failed: count, open: count });

const noCounts = { credits: 0, read: 0, written: 0, failed: 0, open: 0 };

/** Calls `warn` for what cannot be read, and leaves it out. */
export async function queueStatus(queue: OpenQueue, warn: (text: string) => void = () => undefined): Promise<QueueStatus> {
  const { url, name, redis, keys, jobs } = queue;
  const all = await seenWorkers(queue, (id) => warn(`${url} contains a status of the worker "${id}" that cannot be read; it is ignored`));
  const living = all.filter(({ ageMs, leaseMs }) => ageMs < leaseMs);
  const workers = living.map(queuedWorker);
  const units = await jobs.counts();
  const ids = await runIds(redis, keys);
  const time = await redis.client.time();
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  const runs = await Promise.all(
    ids
      .filter(isRunId)
      .sort()
      .map(async (run) => {
        const facts: Record<string, string> = await redis.client.hgetall(keys.run(run).run).catch(ifForeign({}));
        if (facts.seen === undefined) return [];
        const counts = readJsonAs(countsShape, facts.counts ?? '');
        if (!counts) warn(`${url} contains counts of run ${shortId(run)} that cannot be read; they are shown as 0`);
        const alive = nowUs - Number(facts.seen) < deadMs * 1000;
        const isWaiting = workers.every((worker) => cannotDo(worker, run));
        return [queuedRun(run, facts, { alive, isWaiting, units, ...(counts ?? noCounts) })];
      }),
  );
  return { queue: name, runs: runs.flat(), workers };
}

/** The beginning of the id if it is a UUID, or the whole id for a run of a server. */
export function shortId(run: string): string {
  return run.startsWith('run_') ? run : run.slice(0, 8);
}

function cannotDo({ problems }: QueuedWorker, run: string): boolean {
  return problems.some((problem) => problem.run === run);
}

export function queuedWorker({ id, host, pid, version, units, records, problems }: WorkerSign): QueuedWorker {
  return { id, host, pid, version, units, records, problems: problems.map(shownProblem) };
}

function shownProblem({ run, problem, credentials = [] }: RunProblem): QueuedWorker['problems'][number] {
  const [lacked] = credentials;
  return { run, problem: lacked === undefined ? problem : `no credential "${lacked}"` };
}

function queuedRun(
  run: string,
  { flow = '', started = '', version = '', host = '', pid, closing = '' }: Readonly<Record<string, string>>,
  found: z.output<typeof countsShape> & Pick<RunStatus, 'units'> & { readonly alive: boolean; readonly isWaiting: boolean },
): RunStatus {
  const { alive, isWaiting, units, credits, ...records } = found;
  const state = !alive ? 'orphaned' : closing !== '' ? 'stopping' : isWaiting ? 'waiting' : 'running';
  const coordinator = { host, pid: Number(pid) || 0, alive };
  return { run, flow, state, started, version, coordinator, records, units, credits };
}
