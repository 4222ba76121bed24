import { signalExitCode } from '../../app/exit-codes.ts';
import type { Clock } from '../../core/ports.ts';
import type { RunPhase } from '../../engine/phase.ts';
import type { Terminal } from '../terminal.ts';

/** Listens to Ctrl-C (SIGINT), SIGTERM and SIGHUP. */
export interface Signals {
  /** The first signal received. */
  received(): NodeJS.Signals | undefined;
  stop(): void;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Time for unfinished records after the first signal. */
const graceMs = 10_000;

/** Ignores a second signal for this long: one Ctrl-C may arrive twice, from the terminal and from a parent process. */
const echoMs = 200;

/** Another pipe may be opened meanwhile, such as that of the summary. */
const endWaitsEveryMs = 1000;

/** Ends the command at the first signal, before the run starts and anything is sent. */
export function endOnSignal({ say }: Terminal, cleanUp: () => void): Pick<Signals, 'stop'> {
  const listener = (signal: NodeJS.Signals) => {
    say(`automate: ${signal}: no record was started`);
    cleanUp();
    process.exit(signalExitCode(signal));
  };
  for (const signal of signals) process.once(signal, listener);
  return {
    stop() {
      for (const signal of signals) process.off(signal, listener);
    },
  };
}

/**
 * At the first signal the run starts no more records and finishes those it has started.
 * The second signal, or the end of `graceMs`, aborts the requests in flight. `endWaits` ends waits for named pipes.
 */
export function watchSignals(phase: RunPhase, clock: Clock, { say }: Terminal, endWaits: () => void): Signals {
  let first: NodeJS.Signals | undefined;
  let echoUntilMs = 0;
  let waits: NodeJS.Timeout | undefined;
  const listener = (signal: NodeJS.Signals) => {
    if (first !== undefined) return clock.now() < echoUntilMs ? undefined : phase.advance('stopped');
    first = signal;
    echoUntilMs = clock.now() + echoMs;
    say(`automate: ${signal}: finishing the records already started, for at most ${graceMs / 1000} s; repeat to stop at once`);
    phase.advance('finishing', { ending: 'interrupted', message: `received ${signal}`, patienceMs: graceMs });
    void clock.sleepUntil(clock.now() + graceMs, phase.stopped).then(() => phase.advance('stopped'));
    endWaits();
    waits = setInterval(endWaits, endWaitsEveryMs);
    return undefined;
  };
  for (const signal of signals) process.on(signal, listener);
  return {
    received: () => first,
    stop() {
      clearInterval(waits);
      for (const signal of signals) process.off(signal, listener);
    },
  };
}
