import { signalExitCode } from '../../app/exit-codes.ts';
import type { RunHandle } from '../../app/run.ts';
import type { Terminal } from '../terminal.ts';

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Time for unfinished records after the first signal. */
const graceMs = 10_000;

/** Ignores a second signal for this long: one Ctrl-C may arrive twice, from the terminal and from a parent process. */
const echoMs = 200;

/** Listens to Ctrl-C (SIGINT), SIGTERM and SIGHUP. */
export interface Signals {
  /** Stops this run at the next signal. */
  follow(run: RunHandle): void;
  /** Listens no longer. */
  stop(): void;
}

/**
 * Before a run has started records, the first signal ends the process. After that, the first signal starts no more records and finishes
 * those under way; the second, or the end of `graceMs`, aborts them.
 */
export function stopOnSignals({ say }: Terminal): Signals {
  let run: RunHandle | undefined;
  let firstAtMs: number | undefined;
  const listener = (signal: NodeJS.Signals) => {
    if (firstAtMs !== undefined) {
      if (performance.now() - firstAtMs >= echoMs) run?.abort();
      return;
    }
    if (!run?.hasStarted) {
      say(`automate: ${signal}: no record was started`);
      run?.release();
      process.exit(signalExitCode(signal));
    }
    firstAtMs = performance.now();
    say(`automate: ${signal}: finishing the records already started, for at most ${graceMs / 1000} s; repeat to stop at once`);
    const exitCode = signalExitCode(signal);
    run.stop({ ending: 'interrupted', message: `received ${signal}`, patienceMs: graceMs, exitCode });
  };
  for (const signal of signals) process.on(signal, listener);
  return {
    follow(started) {
      run = started;
    },
    stop() {
      for (const signal of signals) process.off(signal, listener);
    },
  };
}
