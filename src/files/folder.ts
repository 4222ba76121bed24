import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { didYouMean, nearest } from '../core/text/suggest.ts';
import { statOf } from './stat.ts';

/**
 * Creates missing parents, too, with access only for the owner, whatever the umask is. Node's own `recursive` option loops forever if the
 * system refuses new folders, as under /proc. Throws errors of Node.js.
 */
export function makeFolder(folder: string): void {
  if (statOf(folder)?.isDirectory()) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have created the folder since the check above.
    if (code === 'EEXIST' && statOf(folder)?.isDirectory()) return;
    if (code !== 'ENOENT' || statOf(dirname(folder))) throw error;
    makeFolder(dirname(folder));
    makeFolder(folder);
  }
}

/** Makes the creation or deletion of a file survive a crash. Errors of file systems that cannot sync folders are ignored. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  await folder
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
    })
    .finally(() => folder.close());
}

/**
 * The purpose of disk space. `temporary` and `unfinished` are in temporary files, which have no name, so only this count knows them.
 * `unfinished` are the rows of a record whose requests have not all been answered.
 */
export type SpaceUse = 'output' | 'temporary' | 'unfinished' | 'saved';

/** The disk space that a run may use; undefined where it is not limited. */
export interface OutputSpace {
  /** Counts bytes before they are written. Rejects with Unfinished if an unfinished record has to be given up. */
  take(bytes: number, use: SpaceUse): Promise<void>;
  /** Ends the use of bytes in a temporary file. */
  free(bytes: number): void;
}

/**
 * `; did you mean "x"?` with the most similar path in the same folder: a file of the same kind, or the same name with another extension.
 * Empty if none is similar.
 */
export function similarFile(path: string): string {
  const { dir, name, ext } = parse(path);
  const files = namesIn(dir).map((other) => parse(other));
  const near = nearest(
    name,
    files.filter((file) => file.ext === ext).map((file) => file.name),
  );
  const found = near === undefined ? files.find((file) => file.name === name)?.base : `${near}${ext}`;
  return found === undefined ? '' : didYouMean(join(dir, found), [join(dir, found)]);
}

/** Empty if the folder cannot be read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder === '' ? '.' : folder);
  } catch {
    return [];
  }
}
