import { constants } from 'node:os';
import type { Ending } from '../core/event.ts';
import { AutomateError, type ErrorKind } from '../core/failure.ts';

/**
 * The exit code for each kind of error, and for each kind of normal ending. Documented in the README and in `automate run --help` and in
 * `run --help`.
 */
export const exitCodes = {
  success: 0,
  bug: 1,
  problemsFound: 1,
  usage: 2,
  cancelled: 130,
  flow: 3,
  someFailed: 4,
  stoppedEarly: 5,
  credits: 5,
  input: 6,
  credential: 7,
  'output-exists': 73,
  output: 74,
  'stdout-closed': 141,
} as const satisfies Record<ErrorKind, number> & Record<string, number>;

/** Returns the exit code for an error that ended the command. */
export function exitCodeOf(error: unknown): number {
  return error instanceof AutomateError ? exitCodes[error.kind] : exitCodes.bug;
}

/** Returns the exit code for a process ended by a signal, as shells do: 129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Returns the exit code for a run that ended without an error, even if it ended early or some records failed. */
export function exitCodeOfRun(ending: Ending, failed: number): number {
  if (ending === 'refused-credential') return exitCodes.credential;
  if (ending === 'disk-full') return exitCodes.output;
  if (ending !== 'complete') return exitCodes.stoppedEarly;
  return failed > 0 ? exitCodes.someFailed : exitCodes.success;
}
