import { constants } from 'node:os';
import type { Ending } from '../core/event.ts';
import { AutomateError, type ErrorKind } from '../core/failure.ts';

/** The exit codes by the kind of error, and those of commands that ended by themselves. Documented in README and `run --help`. */
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

/** The exit code of an error that ended the command. */
export function exitCodeOf(error: unknown): number {
  return error instanceof AutomateError ? exitCodes[error.kind] : exitCodes.bug;
}

/** The exit code of a signal, by the convention of shells: SIGHUP 129, SIGINT 130, SIGTERM 143. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** The exit code of a run that ended by itself. */
export function exitCodeOfRun(ending: Ending, failed: number): number {
  if (ending === 'refused-credential') return exitCodes.credential;
  if (ending !== 'complete') return exitCodes.stoppedEarly;
  return failed > 0 ? exitCodes.someFailed : exitCodes.success;
}
