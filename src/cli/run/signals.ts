import { signalExitCode } from '../../run/exit-codes.ts';
import type { RunHandle } from '../../run/run.ts';
import type { Terminal } from '../terminal.ts';

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Time in ms that records in progress have to finish after the first signal. */
const graceMs = 10_000;

/** Time in ms during which a second signal is ignored. One Ctrl-C can arrive twice, from the terminal and from a parent process. */
const echoMs = 200;

/** Handles Ctrl-C (SIGINT), SIGTERM and SIGHUP. */
interface Signals {
  /** Makes the next signal stop this run instead of ending the process. */
  follow(run: RunHandle): void;
  /** Stops handling signals. */
  stop(): void;
}

/**
 * Starts handling signals. Before a run has started records, the first signal ends the process. After that, the first signal lets the
 * records in progress finish, but no more are started. A second signal, or the end of `graceMs`, aborts the records in progress.
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
