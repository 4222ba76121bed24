import type { OpenRun } from '../../cli/run/open-run.ts';
import type { SummaryFacts } from '../../cli/show/run/summary.ts';
import { inputLabel } from '../input/input.ts';

/** The facts of a run's summary that are known at any time. */
export function factsOf({
  request,
  files,
  claim,
  output,
  ports,
  pauses,
  showsCredits,
  retried,
}: OpenRun): Omit<SummaryFacts, 'exitCode' | 'next' | 'usage' | 'attributions'> {
  const { flow, options } = request;
  const { written = 0, rows = 0 } = retried?.counts ?? {};
  return {
    flow,
    input: inputLabel(options),
    report: options.report,
    output: files.out === '-' ? 'stdout' : files.out,
    errors: files.errors === '-' ? 'stdout' : files.errors,
    // A retry counts in its errors file, whose records have other numbers.
    resumedAfter: retried ? 0 : claim.from.records,
    outputRecords: rows + output.saved().rows,
    errorRecords: output.saved().failed,
    credits: ports.credits(),
    showsCredits,
    before: { written: written + claim.from.written, failed: claim.from.failed },
    paused: { ms: pauses.totalMs(), reasons: pauses.reasons() },
  };
}
