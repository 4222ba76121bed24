import { accessSync, constants, readdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { statOf } from '../files/stat.ts';

/** A folder, and the access that this process and other users have to it. */
export interface Place {
  readonly exists: boolean;
  readonly isFolder: boolean;
  /** True if files can be made in it, or in the nearest folder above it that exists. */
  readonly isWritable: boolean;
  /** Bits of the access of other users: 4 read, 2 write, 1 enter; 0 on platforms without such bits. */
  readonly othersMay: number;
  /** The files in it that other users can read or change. */
  readonly exposed: readonly string[];
  /** The time of the newest file in it, in ms; absent without a file. */
  readonly newestMs: number | undefined;
}

/** Reads the properties of a folder. */
export function placeAt(path: string): Place {
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

/** The free bytes of the file system of a path; absent if the platform does not say. */
export function freeBytes(path: string): number | undefined {
  const found = orUndefined(() => statfsSync(nearestFolder(path)));
  return found && found.bavail * found.bsize;
}

/** The permission bits of other users. Windows has no such bits. */
function othersMay(mode: number): number {
  return process.platform === 'win32' ? 0 : ((mode >> 3) | mode) & 0o7;
}

function isWritable(path: string): boolean {
  return orUndefined(() => accessSync(path, constants.W_OK | constants.X_OK) ?? true) ?? false;
}

function nearestFolder(path: string): string {
  return statOf(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
