import { dirname } from 'node:path';
import { statOf } from './stat.ts';

/** What the system says went wrong with a file, without the call and the path: the message names the file that the user knows. */
export function reasonOf(error: Error): string {
  return error.message.replace(/, \w+(?: '.*')?$/s, '');
}

/** Why a file cannot be written: in plain words where the reason is its place. */
export function unwritable(path: string, error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const folder = dirname(path);
  if (code === 'ENOENT' && !statOf(folder)) return `the folder ${folder} does not exist`;
  if (code === 'ENOTDIR' || (code === 'EEXIST' && !statOf(folder)?.isDirectory())) return `${folder} is no folder`;
  if (code === 'EISDIR' || statOf(path)?.isDirectory()) return 'it is a folder';
  return reasonOf(error);
}
