import type { CodedMessage } from '../core/error-code.ts';
import type { Redactor } from '../credentials/redact.ts';
import { statesPrice } from '../credits/prices.ts';
import type { ListedRun } from '../output/failed-records.ts';
import type { FileOutput } from '../output/output.ts';
import type { Claim } from '../output/output-claim.ts';
import type { RecordSource } from '../records/source.ts';
import { type FinishedShare, shareDone } from './reading.ts';
import type { RunProgress } from './run-progress.ts';

/** The parts of a run that summary, report, progress and metrics read. */
export interface ReportedRun {
  readonly request: ListedRun['request'] & {
    readonly pilot?: { readonly records: ReadonlySet<number> };
    /** Undefined if the run was not started from a command line. */
    readonly words?: Pick<RunTexts, 'command' | 'message'>;
  };
  readonly claim: Pick<Claim, 'run' | 'from' | 'memory' | 'parked'>;
  readonly source: RecordSource;
  readonly output: FileOutput;
  readonly progress: RunProgress;
  readonly answers?: object;
  readonly session: {
    readonly ports: { credits(): number };
    readonly ledger: { readonly isLimited: boolean };
    readonly redactor: Redactor;
  };
}

/** Texts about a run that only the command-line interface can provide. */
export interface RunTexts {
  readonly command: string;
  /** Adds a remedy to the reason that ended the run early. */
  message(reason: CodedMessage): string;
}

/** A suggested next step, with a command line to copy. */
export interface NextStep {
  readonly why: string;
  readonly command: string;
}

/** True if the user should see credits, because they are limited or the flow states a price. */
export function showsCredits({ session: { ledger }, request: { plan } }: ReportedRun): boolean {
  return ledger.isLimited || statesPrice(plan);
}

export interface DoneCounts {
  readonly written: number;
  readonly failed: number;
  readonly filtered?: number;
  readonly unchanged?: number;
  /** Failed records that the user has deleted from the errors file, so that a retry does not run them. */
  readonly givenUp?: number;
}

export function doneOf({ written, failed, filtered = 0, givenUp = 0 }: DoneCounts): number {
  return written + failed + filtered + givenUp;
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
  const { pilot } = run.request;
  // A pilot reads the whole input to find its records, so the bytes read say nothing.
  if (pilot) {
    const { size } = pilot.records;
    return { total: () => size, share: () => ({ ofPart: tally.read / size, ofWhole: tally.read / size }) };
  }
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
