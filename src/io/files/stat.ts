import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Whether a device, a pipe or a folder is at a path: no file, and no place for one. */
export function isNoFile(path: string): boolean {
  return statOf(path)?.isFile() === false;
}

/** What is at a path; absent when nothing is, or nothing that may be looked at. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Whether a symbolic link is at a path. */
export function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Links may lead on from one to another so often, as systems count: those that lead round and round cannot be opened. */
const mostLinks = 40;

/** The file that a link leads to, there or not yet: whoever writes it under another name writes the same one. */
export function realFile(path: string): string {
  let file = path;
  for (let links = 0; links < mostLinks; links++) {
    if (!isLink(file)) return file;
    file = resolve(realpathSync(dirname(file)), readlinkSync(file));
  }
  return path;
}
