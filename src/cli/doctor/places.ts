import { accessSync, constants, readdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { statOf } from '../../files/stat.ts';

/** A folder's properties, including how this process and other users can access it. */
interface FolderAccess {
  readonly exists: boolean;
  readonly isFolder: boolean;
  /**
   * True if this process can create files in the folder. If the folder does not exist, this applies to its nearest existing parent folder.
   */
  readonly isWritable: boolean;
  /**
   * The access of all other users, as the sum of 4 (read), 2 (write) and 1 (enter). It is 0 on Windows, which has no such permission bits.
   */
  readonly othersMay: number;
  /** Names of the files in the folder that other users can read, change or run. */
  readonly exposed: readonly string[];
  /** The time when a file in the folder was last changed, in ms since 1970; undefined if the folder contains no file. */
  readonly newestMs: number | undefined;
}

/** Reads the properties of a folder, which need not exist. */
export function placeAt(path: string): FolderAccess {
  const found = statOf(path);
  const isFolder = found?.isDirectory() ?? false;
  const names = isFolder ? (orUndefined(() => readdirSync(path)) ?? []) : [];
  const files = names.flatMap((name) => {
    const stat = statOf(join(path, name));
    return stat?.isFile() ? [{ name, stat }] : [];
  });
  return {
    exists: found !== undefined,
    isFolder,
    isWritable: isWritable(found ? path : nearestFolder(path)),
    othersMay: found ? othersMay(found.mode) : 0,
    exposed: files.filter(({ stat }) => othersMay(stat.mode) !== 0).map(({ name }) => name),
    newestMs: files.length === 0 ? undefined : Math.max(...files.map(({ stat }) => stat.mtimeMs)),
  };
}

/** Returns the number of free bytes on the disk that contains a path; undefined if the platform does not report it. */
export function freeBytes(path: string): number | undefined {
  const found = orUndefined(() => statfsSync(nearestFolder(path)));
  return found && found.bavail * found.bsize;
}

/** Returns the permission bits that the group or other users have on a file. It is 0 on Windows, which has no such bits. */
function othersMay(mode: number): number {
  return process.platform === 'win32' ? 0 : ((mode >> 3) | mode) & 0o7;
}

function isWritable(path: string): boolean {
  return orUndefined(() => accessSync(path, constants.W_OK | constants.X_OK) ?? true) ?? false;
}

function nearestFolder(path: string): string {
  return statOf(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
