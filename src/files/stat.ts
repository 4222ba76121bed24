import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { orUndefined } from '../core/value/value.ts';

/**
 * Returns the properties of the file, folder or device at a path, following links. Undefined if there is nothing at the path, or if it
 * cannot be accessed.
 */
export function statOf(path: string): Stats | undefined {
  return orUndefined(() => statSync(path));
}

/** Returns true if a path leads to something other than a regular file, such as a folder, a pipe or a device. */
export function isNoFile(path: string): boolean {
  return statOf(path)?.isFile() === false;
}

/** Returns true if there is a symbolic link at a path. */
export function isLink(path: string): boolean {
  return orUndefined(() => lstatSync(path))?.isSymbolicLink() ?? false;
}

/** Maximum number of symbolic links to follow, because links may form a loop. Linux has the same limit. */
const maxLinks = 40;

/** Returns the path that a symbolic link leads to, even if no file exists there yet. If the links form a loop, returns `path` unchanged. */
export function realFile(path: string): string {
  let file = path;
  for (let links = 0; links < maxLinks; links++) {
    if (!isLink(file)) return file;
    file = resolve(realpathSync(dirname(file)), readlinkSync(file));
  }
  return path;
}

/** Returns the absolute path of a file, following links. The file need not exist. */
export function fullPath(path: string): string {
  const file = realFile(path);
  const folder = dirname(file);
  return join(orUndefined(() => realpathSync(folder)) ?? resolve(folder), basename(file));
}

/** Returns the absolute path of a file or folder, following links in the part of the path that exists. */
export function realPath(path: string): string {
  const full = resolve(path);
  const real = orUndefined(() => realpathSync(full));
  return real ?? (dirname(full) === full ? full : join(realPath(dirname(full)), basename(full)));
}

/**
 * Shortens an absolute path for messages. If the path is inside the current folder, returns it relative to that folder. Otherwise returns
 * it unchanged.
 */
export function shownPath(path: string): string {
  const shown = relative(resolve(''), path);
  return shown.startsWith('..') ? path : shown;
}
