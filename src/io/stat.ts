import { type Stats, statSync } from 'node:fs';

/** What is at a path; absent when nothing is, or nothing that may be looked at. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
