import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { statOf } from './stat.ts';

type FileAction = 'read' | 'written' | 'used';

/** If `act` fails, throws an AutomateError (`output`) whose message names the file; its kind is `stdout-closed` for a closed pipe. */
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

/** Throws an AutomateError (`output`) if the path or permissions show that the file cannot be written. Does not write to it. */
export function refuseUnwritable(file: string): void {
  namingErrors(file, 'written', () => {
    const found = statOf(file);
    if (found?.isDirectory()) throw Object.assign(new Error('EISDIR'), { code: 'EISDIR' });
    accessSync(found ? file : dirname(file), constants.W_OK);
  });
}

/** Returns an AutomateError unchanged. */
export function fileError(file: string, action: FileAction, error: unknown): AutomateError {
  if (error instanceof AutomateError) return error;
  const cause = error as NodeJS.ErrnoException;
  if (['EPIPE', 'ERR_STREAM_DESTROYED'].includes(cause.code ?? '')) return new AutomateError('stdout-closed', `${file} was closed`);
  const reason = (action === 'written' ? placeReason(file, cause) : undefined) ?? systemReason(cause);
  return new AutomateError('output', `${file} cannot be ${action}: ${reason}`, { cause });
}

/**
 * Converts an error of a file beside the main output, such as the errors file. A closed pipe ends the run quietly only if it is the main
 * output, so `stdout-closed` becomes `output`.
 */
export function besideOutput(file: string, error: unknown): unknown {
  if (!(error instanceof AutomateError) || error.kind !== 'stdout-closed') return error;
  return new AutomateError('output', `${file} cannot be written: its reader has closed it`, { cause: error });
}

/** Leaves out the system call and the path, because automate's own message already contains the path. */
export function systemReason(error: Error): string {
  return error.message.replace(/, \w+(?: '.*')?$/s, '');
}

/** The reason why no file can be created; undefined if the path itself is not the problem. */
function placeReason(path: string, { code }: NodeJS.ErrnoException): string | undefined {
  const folder = dirname(path);
  if (code === 'ENOENT' && !statOf(folder)) return `the folder ${folder} does not exist`;
  if (code === 'ENOTDIR' || (code === 'EEXIST' && !statOf(folder)?.isDirectory())) return `${folder} is not a folder`;
  return code === 'EISDIR' || statOf(path)?.isDirectory() ? 'it is a folder' : undefined;
}
