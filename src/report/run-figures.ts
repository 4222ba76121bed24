import { type FinishedShare, shareDone } from './reading.ts';
import type { ReportedRun } from './reported-run.ts';

/** Record counts of a whole run, including the parts before it was resumed. */
export interface RunCounts {
  readonly read: number;
  readonly written: number;
  readonly failed: number;
  readonly filtered?: number;
  /** Records that finished while an earlier record was unfinished. Their rows are written later. */
  readonly waiting: number;
}

/** Figures of a run since it started, or since it was last resumed. */
export interface RunTotals {
  readonly retries: number;
  readonly credits: number;
  readonly failures: readonly FailureCount[];
  readonly mapped: readonly { readonly node: string; readonly path: string; readonly found: number; readonly of: number }[];
}

/** The message is that of the first failure. Secrets are masked. */
interface FailureCount {
  readonly node: string | null;
  readonly class: string;
  readonly status: number | null;
  readonly count: number;
  readonly message: string;
}

export interface DoneCounts extends Pick<RunCounts, 'written' | 'failed'> {
  readonly filtered?: number;
  readonly unchanged?: number;
  /** Failed records that the user has deleted from the errors file, so that a retry does not run them. */
  readonly givenUp?: number;
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

interface RunWork {
  /** The number of records in the whole run; undefined while it is unknown. */
  total(): number | undefined;
  share(): FinishedShare | undefined;
}

/** `waiting` returns the number of finished records whose rows wait for an earlier record. */
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

function remainingLimit({ request, claim }: ReportedRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
