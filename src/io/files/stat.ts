import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';

/** The file, folder or device at a path, links followed; absent if there is none or it cannot be accessed. */
export function statOf(path: string): Stats | undefined {
  return orUndefined(() => statSync(path));
}

/** True if a folder, a pipe or a device is at a path. */
export function isNoFile(path: string): boolean {
  return statOf(path)?.isFile() === false;
}

/** True if a symbolic link is at a path. */
export function isLink(path: string): boolean {
  return orUndefined(() => lstatSync(path))?.isSymbolicLink() ?? false;
}

/** Maximum of links that lead to each other, as in Linux: a circle of links cannot be opened. */
const maxLinks = 40;

/** The file that a link leads to, even if it does not exist yet: two names of it are one output. */
export function realFile(path: string): string {
  let file = path;
  for (let links = 0; links < maxLinks; links++) {
    if (!isLink(file)) return file;
    file = resolve(realpathSync(dirname(file)), readlinkSync(file));
  }
  return path;
}

/** The absolute path of a file, links followed. The file need not exist. */
export function fullPath(path: string): string {
  const file = realFile(path);
  const folder = dirname(file);
  return join(orUndefined(() => realpathSync(folder)) ?? resolve(folder), basename(file));
}

/** A full path as users write it: relative if it is below the current folder. */
export function shownPath(path: string): string {
  const shown = relative(resolve(''), path);
  return shown.startsWith('..') ? path : shown;
}
