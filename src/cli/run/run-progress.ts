import { createProgressLine, type ProgressShow, shareDone, showLines, showSpinner } from '../show/run/progress.ts';
import type { OpenRun } from './open-run.ts';

/** Shows the progress of a run; absent if the run is quiet. */
export async function showProgress(run: OpenRun): Promise<ProgressShow | undefined> {
  const { request, source, files, terminal, tally, pauses, ports, reading } = run;
  if (request.options.quiet) return undefined;
  const limit = remainingLimit(run);
  const share = () => shareDone({ totalBytes: source.totalBytes, readBytes: source.readBytes(), reading, doneRecords: tally.read, limit });
  const line = createProgressLine(tally, { share, pauses, credits: ports.credits, now: ports.clock.now });
  // A spinner and records on the same screen would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

/** The part of `--limit` that a resumed run has left; absent for all records. */
function remainingLimit({ request, claim }: OpenRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
