import { type Share, shareDone } from '../progress/reading.ts';
import type { OpenRun } from '../run-request.ts';

/** Records of a run, with those of its earlier parts. */
export interface RunCounts {
  readonly read: number;
  readonly written: number;
  readonly failed: number;
  /** Records without a row in a flow with a filter; absent for none. */
  readonly filtered?: number;
  /** Finished before an earlier record: a resumed run writes them. */
  readonly waiting: number;
}

/** Counts of one part of a run: from its start, or from a resumption. */
export interface RunTotals {
  readonly retries: number;
  readonly credits: number;
  readonly failures: readonly FailureCount[];
  readonly mapped: readonly { readonly node: string; readonly path: string; readonly found: number; readonly of: number }[];
}

/** Failures of one kind, with the message of the first one. Secrets are masked. */
export interface FailureCount {
  readonly node: string | null;
  readonly class: string;
  readonly status: number | null;
  readonly count: number;
  readonly message: string;
}

/** Records that are done. */
export interface DoneCounts extends Pick<RunCounts, 'written' | 'failed'> {
  readonly filtered?: number | undefined;
  /** Failed records that someone has removed from the errors file: a retry does not run them. */
  readonly givenUp?: number | undefined;
}

/** The number of records that counts say are done. */
export function doneOf(counts: DoneCounts): number {
  const { written, failed, filtered = 0, givenUp = 0 } = counts;
  return written + failed + filtered + givenUp;
}

/** The counts of a run so far. */
export function countsOf({ progress: { tally }, claim }: OpenRun): RunCounts {
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

/** The totals of this part of a run so far. */
export function totalsOf({ progress: { tally }, session: { ports, redactor } }: OpenRun): RunTotals {
  return {
    retries: tally.retries,
    credits: ports.credits(),
    failures: [...tally.failures.values()].map(({ node = null, class: kind, status = null, count, message }) => {
      return { node, class: kind, status, count, message: redactor.text(message) };
    }),
    mapped: [...tally.hits.values()].flat().map((hit) => ({ ...hit })),
  };
}

/** The amount of a run's work, and the finished share of it. */
export interface RunWork {
  /** Records of the whole run; undefined while they are not known. */
  total(): number | undefined;
  /** Undefined if it is not known. */
  share(): Share | undefined;
}

/** The work of a run. `waiting`: the number of finished records that wait for an earlier one. */
export function workOf(run: OpenRun, waiting: () => number = () => 0): RunWork {
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

/** The part of the limit of records that a resumed run has left; undefined for all records. */
function remainingLimit({ request, claim }: OpenRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
