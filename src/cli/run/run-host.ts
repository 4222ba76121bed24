import type { Event } from '../../core/event.ts';
import { Gates } from '../../engine/gates.ts';
import type { RunPhase } from '../../engine/phase.ts';
import { createClock } from '../../io/clock/clock.ts';
import { endWaitsForPipes } from '../../io/files/pipe.ts';
import type { Routes } from '../../io/http/routes.ts';
import type { OpenRun } from './open-run.ts';
import type { OutputPlan } from './output/output-plan.ts';
import type { RunOptions } from './run-options.ts';
import { showProgress } from './run-progress.ts';
import { type Signals, watchSignals } from './signals.ts';

/** The process that a run takes place in: a command of its own, or a server with several runs. */
export interface RunHost {
  /** The gates of all runs of the process. */
  readonly gates: Gates;
  /** The connections of all runs of the process; absent for the run's own. */
  readonly routes?: Routes;
  /** Takes every event; absent if nothing else watches the run. */
  report?(event: Event): void;
  /** Follows a run that is about to start. */
  follow(run: OpenRun): Promise<Follower>;
}

/** A process that follows one of its runs. */
export interface Follower {
  /** The first records are under way. Advance the phase to end the run early. */
  started(phase: RunPhase): void;
  /** The signal that ended the run; absent if it ended by itself. */
  signal(): NodeJS.Signals | undefined;
  /** Every record has ended, and the output is closed. */
  recordsEnded(): void;
  /** A second call does nothing. */
  stop(): void;
}

/** A command that is one run: it shows the progress and listens to signals. `start`: listens to them until the run does. */
export function commandHost(start: { stop(): void }): RunHost {
  return {
    gates: new Gates(createClock()),
    async follow(run) {
      const { request, files, ports, terminal } = run;
      const progress = await showProgress(run);
      let signals: Signals | undefined;
      return {
        started(phase) {
          signals = watchSignals(phase, ports.clock, terminal, () => endWaits(request.options, files));
          start.stop();
        },
        signal: () => signals?.received(),
        recordsEnded: () => progress?.stop(),
        stop() {
          progress?.stop();
          signals?.stop();
        },
      };
    },
  };
}

/** Ends waits for named pipes. */
export function endWaits(options: Pick<RunOptions, 'in' | 'events' | 'summary'>, { out, errors }: OutputPlan): void {
  endWaitsForPipes(options.in, [out, errors, options.events, options.summary]);
}
