import { ProgressLine, type ProgressShow, showLines, showSpinner } from '../show/run/progress.ts';
import { shareDone } from '../show/run/reading.ts';
import type { OpenRun } from './open-run.ts';

/** Shows the progress of a run; absent if the run is quiet. */
export async function showProgress(run: OpenRun): Promise<ProgressShow | undefined> {
  const { request, files, terminal } = run;
  if (request.options.quiet) return undefined;
  const line = progressLine(run);
  // A spinner and records on the same screen would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

function progressLine(run: OpenRun): ProgressLine {
  const { source, claim, tally, pauses, ports, reading, showsCredits } = run;
  const { written, failed } = claim.from;
  const before = { read: written + failed, failed };
  const limit = remainingLimit(run);
  const { totalBytes } = source;
  return new ProgressLine({
    ...{ tally, before, pauses },
    total: () => (reading.isComplete ? before.read + reading.records : undefined),
    share: () =>
      shareDone({
        ...{ totalBytes, readBytes: source.readBytes(), reading, limit },
        doneRecords: tally.read,
        recordsBefore: before.read,
      }),
    credits: showsCredits ? ports.credits : undefined,
    now: ports.clock.now,
  });
}

/** The part of `--limit` that a resumed run has left; absent for all records. */
function remainingLimit({ request, claim }: OpenRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
