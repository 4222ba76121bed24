import type { Clock } from '../../core/ports.ts';
import type { RunPhase } from '../../engine/phase.ts';
import { signalExitCode } from '../exit.ts';
import type { Terminal } from '../terminal.ts';

/** Listens to the signals that ask a run to end. */
export interface Signals {
  /** The first signal that came. */
  received(): NodeJS.Signals | undefined;
  stop(): void;
}

const watched: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** How long records that have begun may go on after the first signal. */
const graceMs = 10_000;

/** One Ctrl-C can come twice: from the terminal, and from the program that the tool was started by. */
const echoMs = 200;

/** While there is no run yet, nothing was sent, and a signal ends the command. */
export function endOnSignal({ say }: Terminal, cleanUp: () => void): Pick<Signals, 'stop'> {
  const listener = (signal: NodeJS.Signals) => {
    say(`automate: ${signal}: no record was begun`);
    cleanUp();
    process.exit(signalExitCode(signal));
  };
  for (const signal of watched) process.once(signal, listener);
  return {
    stop() {
      for (const signal of watched) process.off(signal, listener);
    },
  };
}

/** The first signal finishes the records that have begun; the second, or the end of the grace time, stops the run. */
export function watchSignals(phase: RunPhase, clock: Clock, { say }: Terminal): Signals {
  let first: NodeJS.Signals | undefined;
  let sameUntilMs = 0;
  const listener = (signal: NodeJS.Signals) => {
    if (first !== undefined) return clock.now() < sameUntilMs ? undefined : phase.advance('stopped');
    first = signal;
    sameUntilMs = clock.now() + echoMs;
    say(`automate: ${signal}: finishing the records that have begun, for at most ${graceMs / 1000} s; once more to stop at once`);
    phase.advance('finishing', { ending: 'interrupted', message: `received ${signal}`, patienceMs: graceMs });
    void clock.sleepUntil(clock.now() + graceMs, phase.stopped).then(() => phase.advance('stopped'));
    return undefined;
  };
  for (const signal of watched) process.on(signal, listener);
  return {
    received: () => first,
    stop() {
      for (const signal of watched) process.off(signal, listener);
    },
  };
}
