import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

/**
 * The error for a file path that records may not use. The message leaves out the location of the folder for files, because clients of a
 * server may read the message.
 */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** The folder in which records may read and write files. Paths and symbolic links to other folders are rejected. */
export class FilesFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  /**
   * Returns the real path of an existing file in the folder. Throws a PathRefused if the path leads out of the folder. Throws the system's
   * error if the file does not exist.
   */
  async existing(path: string): Promise<string> {
    const real = await realpath(this.#within(path));
    if (!isInside(real, await realpath(this.#folder))) throw leaves(path);
    return real;
  }

  /**
   * Returns the real path of a file in the folder. The file need not exist yet. If `makes` is true, creates missing folders. Throws a
   * PathRefused if the path leads out of the folder or does not contain a file name.
   */
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

  /** Resolves a path in the folder. Throws a PathRefused if the path is invalid or leads out of the folder. */
  #within(path: string): string {
    if (path === '') throw new PathRefused('expected the name of a file, found an empty string');
    if (path.includes('\0')) throw new PathRefused('the path contains a NUL character');
    const full = resolve(this.#folder, path);
    if (path.split(/[\\/]/).includes('..')) throw new PathRefused(`expected a path without "..", found "${path}"`);
    if (!isInside(full, this.#folder)) throw leaves(path);
    return full;
  }
}

/** Returns the real path of the part of a path that exists, and the names in the rest of the path. */
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
