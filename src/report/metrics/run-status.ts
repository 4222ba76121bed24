import { hostname } from 'node:os';
import { version } from '../../core/version.ts';
import type { ReportedRun } from '../reported-run.ts';
import type { QueuedRun, QueueStatus } from './queued-run.ts';

/**
 * The status of a run in this process. `units` counts the units (groups of records) that workers take from a queue. Undefined for a run
 * without a queue.
 */
export type RunStatus = Omit<QueuedRun, 'units'> & Partial<Pick<QueuedRun, 'units'>>;

/** The status of the runs and workers, as far as this process knows it. */
export interface ProcessStatus {
  /** The name of the queue in Redis; null if there is none. */
  readonly queue: string | null;
  readonly runs: readonly RunStatus[];
  readonly workers: QueueStatus['workers'];
}

/** Returns the number of records that were read and are not finished yet. */
export function openCount({ progress: { tally, reading } }: ReportedRun): number {
  return Math.max(0, reading.records - tally.read);
}

/** Returns a run's counts of records, and the credits that it has spent. */
export function recordCounts(run: ReportedRun): RunStatus['records'] & { readonly credits: number } {
  const { progress, session } = run;
  const { written, failed } = progress.tally;
  return { read: progress.reading.records, written, failed, open: openCount(run), credits: session.ports.credits() };
}

/** Returns the status of a run in this process. `queued` is the run's state in its queue; undefined without a queue. */
export function runStatus(run: ReportedRun, queued: QueuedRun | undefined): RunStatus {
  const { request, progress } = run;
  const { credits, ...records } = recordCounts(run);
  return {
    run: run.claim.run,
    flow: run.session.redactor.text(request.plan.name),
    state: progress.tally.stop ? 'stopping' : (queued?.state ?? 'running'),
    started: new Date(progress.startedAtMs).toISOString(),
    version,
    coordinator: { host: hostname(), pid: process.pid, alive: true },
    records,
    ...(queued && { units: queued.units }),
    credits,
  };
}
