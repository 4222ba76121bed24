import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Returns the result of `act`, or undefined if it throws. */
export function attempt<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** The file, folder or device at a path, links followed; absent if there is none or it cannot be accessed. */
export function statOf(path: string): Stats | undefined {
  return attempt(() => statSync(path));
}

/** True if a folder, a pipe or a device is at a path. */
export function isNoFile(path: string): boolean {
  return statOf(path)?.isFile() === false;
}

/** True if a symbolic link is at a path. */
export function isLink(path: string): boolean {
  return attempt(() => lstatSync(path))?.isSymbolicLink() ?? false;
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
