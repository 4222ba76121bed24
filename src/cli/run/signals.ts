import type { Clock } from '../../core/ports.ts';
import type { Stopping } from '../../engine/stopping.ts';
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

/** The first signal begins no more records; the second, or the end of the grace time, gives up what is in flight. */
export function watchSignals(stopping: Stopping, clock: Clock, { say }: Terminal): Signals {
  let first: NodeJS.Signals | undefined;
  let sameUntilMs = 0;
  const listener = (signal: NodeJS.Signals) => {
    if (first !== undefined) return clock.now() < sameUntilMs ? undefined : stopping.abort();
    first = signal;
    sameUntilMs = clock.now() + echoMs;
    say(`automate: ${signal}: finishing the records that have begun, for at most ${graceMs / 1000} s; once more to stop at once`);
    stopping.request('interrupted', `received ${signal}`, graceMs);
    void clock.sleepUntil(clock.now() + graceMs, stopping.signal).then(stopping.abort);
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
