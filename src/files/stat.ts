import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { orUndefined } from '../core/value/value.ts';

/** Follows links. Undefined if nothing is at the path, or if it cannot be accessed. */
export function statOf(path: string): Stats | undefined {
  return orUndefined(() => statSync(path));
}

/** True for a folder, a pipe, a device and anything else that is not a regular file. */
export function isNoFile(path: string): boolean {
  return statOf(path)?.isFile() === false;
}

export function isLink(path: string): boolean {
  return orUndefined(() => lstatSync(path))?.isSymbolicLink() ?? false;
}

/** Returns a file's permissions, such as `0644`, if other users can access the file. */
export function modeOthersCanRead(file: string): string | undefined {
  const mode = statOf(file)?.mode ?? 0;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined;
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** Links may form a loop. Linux has the same limit. */
const maxLinks = 40;

/** The path that a symbolic link leads to, even if no file exists there yet; `path` itself if the links form a loop. */
export function realFile(path: string): string {
  let file = path;
  for (let links = 0; links < maxLinks; links++) {
    if (!isLink(file)) return file;
    file = resolve(realpathSync(dirname(file)), readlinkSync(file));
  }
  return path;
}

/** Absolute, following links. The file need not exist. */
export function fullPath(path: string): string {
  const file = realFile(path);
  const folder = dirname(file);
  return join(orUndefined(() => realpathSync(folder)) ?? resolve(folder), basename(file));
}

/** Absolute, following links in the part of the path that exists. */
export function realPath(path: string): string {
  const full = resolve(path);
  const real = orUndefined(() => realpathSync(full));
  return real ?? (dirname(full) === full ? full : join(realPath(dirname(full)), basename(full)));
}

/** For messages: relative if the path is inside the current folder. */
export function shownPath(path: string): string {
  const shown = relative(resolve(''), path);
  return shown.startsWith('..') ? path : shown;
}
