import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** A path that may not be used. Its message does not name the folder: a client of a server may read it. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** The folder below which the files of records are read and written. Nothing outside of it is, wherever links lead. */
export class FilesFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  /** The real path of a file that exists. Throws a PathRefused, or the error of the system. */
  async existing(path: string): Promise<string> {
    const real = await realpath(this.#within(path));
    if (!isInside(real, await realpath(this.#folder))) throw leaves(path);
    return real;
  }

  /** The real path for a file that may not exist yet. `makes`: true if missing folders are made. Throws as `existing` does. */
  async place(path: string, makes: boolean): Promise<string> {
    const full = this.#within(path);
    if (/(?:^|[\\/])\.?$/.test(path) || full === this.#folder) throw new PathRefused(`expected the name of a file, found "${path}"`);
    const { real, missing } = await existingPart(dirname(full));
    const root = await realpath(this.#folder);
    if (!isInside(real, root)) throw leaves(path);
    const folder = join(real, ...missing);
    if (makes && missing.length > 0) await mkdir(folder, { recursive: true });
    return join(folder, basename(full));
  }

  /** The path in the folder. Throws a PathRefused for one that leads out of it. */
  #within(path: string): string {
    if (path === '') throw new PathRefused('expected the name of a file, found an empty text');
    if (path.includes('\0')) throw new PathRefused('the path holds a NUL character');
    const full = resolve(this.#folder, path);
    if (path.split(/[\\/]/).includes('..')) throw new PathRefused(`expected a path without "..", found "${path}"`);
    if (!isInside(full, this.#folder)) throw leaves(path);
    return full;
  }
}

/** The part of a path that exists, links followed, and the names after it. */
async function existingPart(path: string): Promise<{ readonly real: string; readonly missing: readonly string[] }> {
  try {
    return { real: await realpath(path), missing: [] };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    const { real, missing } = await existingPart(dirname(path));
    return { real, missing: [...missing, basename(path)] };
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function leaves(path: string): PathRefused {
  return new PathRefused(`the path "${path}" leads out of the folder for files`);
}
