import { inputLabel } from '../input/input.ts';
import { type OpenRun, showsCredits } from '../run-request.ts';
import type { SummaryFacts } from './summary.ts';

/** The facts of a run's summary that are known at any time. */
export function factsOf(run: OpenRun): Omit<SummaryFacts, 'exitCode' | 'next' | 'usage' | 'attributions'> {
  const { request, claim, output, session, progress } = run;
  const { flow, options, files, retried } = request;
  const { written = 0, rows = 0 } = retried?.counts ?? {};
  const { stop } = progress.tally;
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
    credits: session.ports.credits(),
    showsCredits: showsCredits(run),
    before: { written: written + claim.from.written, failed: claim.from.failed },
    reason: stop && (request.words?.message(stop) ?? stop.message),
    paused: { ms: progress.pauses.totalMs(), reasons: progress.pauses.reasons() },
  };
}
