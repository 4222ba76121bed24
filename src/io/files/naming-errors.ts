import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { statOf } from './stat.ts';

type FileAction = 'read' | 'written' | 'used';

/**
 * Runs `act`, which uses a file. Its error becomes an AutomateError (`output`) that names the file. `act` may return a promise.
 * A closed pipe is `stdout-closed`.
 */
export function namingErrors<Result>(file: string, action: FileAction, act: () => Result): Result {
  const fail = (error: unknown): never => {
    throw fileError(file, action, error);
  };
  try {
    const result = act();
    return result instanceof Promise ? (result.catch(fail) as Result) : result;
  } catch (error) {
    return fail(error);
  }
}

/** Throws an AutomateError (`output`) if a file cannot be written, judging by its path and permissions. Writes nothing. */
export function refuseUnwritable(file: string): void {
  namingErrors(file, 'written', () => {
    const found = statOf(file);
    if (found?.isDirectory()) throw Object.assign(new Error('EISDIR'), { code: 'EISDIR' });
    accessSync(found ? file : dirname(file), constants.W_OK);
  });
}

/** The AutomateError for an error of a file. An AutomateError stays as it is. */
export function fileError(file: string, action: FileAction, error: unknown): AutomateError {
  if (error instanceof AutomateError) return error;
  const cause = error as NodeJS.ErrnoException;
  if (['EPIPE', 'ERR_STREAM_DESTROYED'].includes(cause.code ?? '')) return new AutomateError('stdout-closed', `${file} was closed`);
  const reason = (action === 'written' ? placeReason(file, cause) : undefined) ?? systemReason(cause);
  return new AutomateError('output', `${file} cannot be ${action}: ${reason}`, { cause });
}

/** The error of a file that is not the output, such as the errors file. A pipe closed by its reader is not a closed stdout there. */
export function besideOutput(file: string, error: unknown): unknown {
  if (!(error instanceof AutomateError) || error.kind !== 'stdout-closed') return error;
  return new AutomateError('output', `${file} cannot be written: its reader has closed it`, { cause: error });
}

/** The system's message without the call and the path: our message names the file that the user knows. */
export function systemReason(error: Error): string {
  return error.message.replace(/, \w+(?: '.*')?$/s, '');
}

/** Plain words for a path at which no file can be written; absent if the place is not the reason. */
function placeReason(path: string, { code }: NodeJS.ErrnoException): string | undefined {
  const folder = dirname(path);
  if (code === 'ENOENT' && !statOf(folder)) return `the folder ${folder} does not exist`;
  if (code === 'ENOTDIR' || (code === 'EEXIST' && !statOf(folder)?.isDirectory())) return `${folder} is not a folder`;
  return code === 'EISDIR' || statOf(path)?.isDirectory() ? 'it is a folder' : undefined;
}
