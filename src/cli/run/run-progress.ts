import { shareDone } from '../../app/progress/reading.ts';
import { type ProgressFacts, ProgressLine, type ProgressShow, showLines, showSpinner } from '../show/run/progress.ts';
import type { OpenRun } from './open-run.ts';

/** Shows the progress of a run; absent if the run is quiet. `waiting`: the number of finished records that wait for an earlier one. */
export async function showProgress(run: OpenRun, waiting: () => number): Promise<ProgressShow | undefined> {
  const { request, files, terminal } = run;
  if (request.options.quiet) return undefined;
  const line = progressLine(run, waiting);
  // A spinner and records on the same screen would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

function progressLine(run: OpenRun, waiting: () => number): ProgressLine {
  const { claim, tally, pauses, ports, showsCredits } = run;
  const { written, failed } = claim.from;
  return new ProgressLine({
    ...{ tally, before: { read: written + failed, failed }, pauses },
    done: () => tally.read + waiting(),
    ...workOf(run, waiting),
    credits: showsCredits ? ports.credits : undefined,
    now: ports.clock.now,
  });
}

/** The amount of a run's work, and the finished share of it. `waiting`: as for `showProgress`. */
export function workOf(run: OpenRun, waiting: () => number = () => 0): Pick<ProgressFacts, 'total' | 'share'> {
  const { source, claim, tally, reading } = run;
  const before = claim.from.written + claim.from.failed;
  const limit = remainingLimit(run);
  const { totalBytes } = source;
  return {
    total: () => (reading.isComplete ? before + reading.records : undefined),
    share: () =>
      shareDone({
        ...{ totalBytes, readBytes: source.readBytes(), reading, limit },
        doneRecords: tally.read + waiting(),
        recordsBefore: before,
      }),
  };
}

/** The part of `--limit` that a resumed run has left; absent for all records. */
function remainingLimit({ request, claim }: OpenRun): number | undefined {
  const { skip = 0, limit } = request.options;
  return limit === undefined ? undefined : limit - Math.max(0, claim.from.records - skip);
}
