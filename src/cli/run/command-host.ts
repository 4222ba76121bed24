import type { OutputPlan } from '../../app/output/output-plan.ts';
import { Gates } from '../../engine/gates.ts';
import type { Run } from '../../engine/run.ts';
import { createClock } from '../../io/clock/clock.ts';
import { endWaitsForPipes } from '../../io/files/pipe.ts';
import type { ProgressShow } from '../show/run/progress.ts';
import type { Follower, OpenRun, RunHost } from './open-run.ts';
import type { RunOptions } from './run-options.ts';
import { showProgress } from './run-progress.ts';
import { type Signals, watchSignals } from './signals.ts';

/** A command that is one run: it shows the progress and listens to signals. `start`: listens to them until the run does. */
export function commandHost(start: { stop(): void }): RunHost {
  return {
    gates: new Gates(createClock()),
    async follow(run) {
      const follower = new CommandFollower(run, start);
      await follower.showProgress();
      return follower;
    },
  };
}

class CommandFollower implements Follower {
  readonly #run: OpenRun;
  readonly #start: { stop(): void };
  #progress: ProgressShow | undefined;
  #started: Run | undefined;
  #signals: Signals | undefined;

  constructor(run: OpenRun, start: { stop(): void }) {
    this.#run = run;
    this.#start = start;
  }

  async showProgress(): Promise<void> {
    this.#progress = await showProgress(this.#run, () => this.#started?.waiting() ?? 0);
  }

  started(run: Run): void {
    this.#started = run;
    const { request, files, ports, terminal } = this.#run;
    this.#signals = watchSignals(run.phase, ports.clock, terminal, () => endWaits(request.options, files));
    this.#start.stop();
  }

  signal(): NodeJS.Signals | undefined {
    return this.#signals?.received();
  }

  recordsEnded(): void {
    this.#progress?.stop();
  }

  stop(): void {
    this.#progress?.stop();
    this.#signals?.stop();
  }
}

/** Ends waits for named pipes. */
export function endWaits(options: Pick<RunOptions, 'in' | 'events' | 'summary'>, { out, errors }: OutputPlan): void {
  endWaitsForPipes(options.in, [out, errors, options.events, options.summary]);
}
