import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { namingErrors } from '../../io/files/naming-errors.ts';
import { realFile, statOf } from '../../io/files/stat.ts';

/** Checks before a run that its report can be written. Throws an AutomateError (`output`). Writes nothing. */
export async function beginReport(path: string): Promise<void> {
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  if (found && !found.isFile()) throw new AutomateError('output', `${path} cannot be written: expected a file, found a pipe or a device`);
  // With the dot, the path is a folder or an error.
  await namingErrors(path, 'written', () => access(`${dirname(realFile(path))}/.`, constants.W_OK));
}
