import { lstatSync, type Stats, statSync } from 'node:fs';

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
