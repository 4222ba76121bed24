import { workOf } from '../../app/report/run-figures.ts';
import { type OpenRun, showsCredits } from '../../app/run-request.ts';
import { ProgressLine, type ProgressShow, showLines, showSpinner } from '../show/run/progress.ts';
import type { Terminal } from '../terminal.ts';

/** Shows the progress of a run. `waiting`: the number of finished records that wait for an earlier one. */
export async function showProgress(run: OpenRun, waiting: () => number, terminal: Terminal): Promise<ProgressShow> {
  const { files } = run.request;
  const line = progressLine(run, waiting);
  // A spinner and records on the same screen would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

function progressLine(run: OpenRun, waiting: () => number): ProgressLine {
  const { claim, progress, session } = run;
  const { tally, pauses } = progress;
  const { written, failed } = claim.from;
  return new ProgressLine({
    tally,
    before: { read: written + failed, failed },
    pauses,
    done: () => tally.read + waiting(),
    ...workOf(run, waiting),
    credits: showsCredits(run) ? session.ports.credits : undefined,
    now: session.ports.clock.now,
  });
}
