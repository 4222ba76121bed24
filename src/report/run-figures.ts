import { type FinishedShare, shareDone } from './reading.ts';
import type { ReportedRun } from './reported-run.ts';

/** Record counts of a whole run, including the parts before it was resumed. */
export interface RunCounts {
  readonly read: number;
  readonly written: number;
  readonly failed: number;
  /** Number of records that a filter node dropped; undefined if there are none. */
  readonly filtered?: number;
  /** Number of records that finished while an earlier record was unfinished. Their rows are written later. */
  readonly waiting: number;
}

/** Figures of a run since it started, or since it was last resumed. */
export interface RunTotals {
  readonly retries: number;
  readonly credits: number;
  readonly failures: readonly FailureCount[];
  readonly mapped: readonly { readonly node: string; readonly path: string; readonly found: number; readonly of: number }[];
}

/** Number of failures of one kind, and the message of the first one. Secrets are masked. */
interface FailureCount {
  readonly node: string | null;
  readonly class: string;
  readonly status: number | null;
  readonly count: number;
  readonly message: string;
}

/** Counts of the records that are finished. */
export interface DoneCounts extends Pick<RunCounts, 'written' | 'failed'> {
  readonly filtered?: number | undefined;
  /** Number of written records that have not changed since an earlier run; undefined if there are none. */
  readonly unchanged?: number | undefined;
  /** Number of failed records that the user has deleted from the errors file, so that a retry does not run them. */
  readonly givenUp?: number | undefined;
}

/** Returns the total number of finished records. */
export function doneOf(counts: DoneCounts): number {
  const { written, failed, filtered = 0, givenUp = 0 } = counts;
  return written + failed + filtered + givenUp;
}

/** Returns the record counts of a run so far, including the parts before it was resumed. */
export function countsOf({ progress: { tally }, claim }: ReportedRun): RunCounts {
  const { written, failed, filtered = 0 } = claim.from;
  const allFiltered = filtered + tally.filtered;
  return {
    read: doneOf(claim.from) + tally.read,
    written: written + tally.written,
    failed: failed + tally.failed,
    ...(allFiltered > 0 && { filtered: allFiltered }),
    waiting: tally.parked,
  };
}

/** Returns the figures of a run since it was started or last resumed. */
export function totalsOf({ progress: { tally }, session: { ports, redactor } }: ReportedRun): RunTotals {
  return {
    retries: tally.retries,
    credits: ports.credits(),
    failures: [...tally.failures.values()].map(({ node = null, class: kind, status = null, count, message }) => {
      return { node, class: kind, status, count, message: redactor.text(message) };
    }),
    mapped: [...tally.hits.values()].flat().map((hit) => ({ ...hit })),
  };
}

/** Computes how many records a run has, and which share of the run is finished. */
interface RunWork {
  /** Returns the number of records in the whole run; undefined while it is unknown. */
  total(): number | undefined;
  /** Returns the finished share of the run; undefined if it is not known. */
  share(): FinishedShare | undefined;
}

/**
 * Returns functions that compute a run's size and finished share. `waiting` returns the number of finished records whose rows wait for an
 * earlier record.
 */
export function workOf(run: ReportedRun, waiting: () => number = () => 0): RunWork {
  const { source, claim, progress } = run;
  const { tally, reading } = progress;
  const before = doneOf(claim.from);
  const limit = remainingLimit(run);
  const { totalBytes } = source;
  return {
    total: () => (reading.isComplete ? before + reading.records : undefined),
    share: () => {
      const doneRecords = tally.read + waiting();
      return shareDone({ totalBytes, readBytes: source.readBytes(), reading, limit, doneRecords, recordsBefore: before });
    },
  };
}

/** Returns how many more records --limit allows after the run was resumed; undefined without a limit. */
function remainingLimit({ request, claim }: ReportedRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
