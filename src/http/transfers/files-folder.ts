import { lstatSync } from 'node:fs';
import { type FileHandle, mkdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { isInside, type ReservedPath, ReservedPaths } from './reserved-paths.ts';

/** The message leaves out the location of the folder, because clients of a server may read it. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** Records may read and write files here. Refuses paths and symbolic links to other folders, and reserved files and folders inside. */
export class FilesFolder {
  readonly #folder: string;
  readonly #reserved: ReservedPaths;

  constructor(folder: string, reserved: readonly ReservedPath[]) {
    this.#folder = resolve(folder);
    this.#reserved = new ReservedPaths(reserved);
  }

  /** The real path. Throws a PathRefused if the path leads out of the folder, or the system's error if the file does not exist. */
  async existing(path: string): Promise<string> {
    const real = await realpath(this.#within(path));
    if (!isInside(real, await realpath(this.#folder))) throw leaves(path);
    return real;
  }

  /**
   * Throws a PathRefused if an open file is not in the folder or is reserved. `at` is the result of `openPath`, and `path` is the path for
   * messages. The check follows the opening of the file, because another process may replace a folder in the path by a link at any time.
   */
  async refuseOpen(handle: FileHandle, at: string, path: string): Promise<void> {
    if (!isInside(at, await realpath(this.#folder))) throw leaves(path);
    const what = this.#reserved.at(at, await handle.stat());
    if (what !== undefined) throw new PathRefused(`"${path}" is ${what}, which records can neither send nor replace`);
  }

  /** The file need not exist. `makes` creates missing folders. Throws PathRefused if the path leads out, is reserved, or names no file. */
  async place(path: string, makes: boolean): Promise<string> {
    const full = this.#within(path);
    if (/(?:^|[\\/])\.?$/.test(path) || full === this.#folder) throw new PathRefused(`expected the name of a file, found "${path}"`);
    const { real, missing } = await existingPart(dirname(full));
    const root = await realpath(this.#folder);
    if (!isInside(real, root)) throw leaves(path);
    const folder = join(real, ...missing);
    const file = join(folder, basename(full));
    const what = this.#reserved.at(
      file,
      orUndefined(() => lstatSync(file)),
    );
    if (what !== undefined) throw new PathRefused(`cannot save to "${path}": it is ${what}, which records can neither send nor replace`);
    if (makes && missing.length > 0) await mkdir(folder, { recursive: true });
    return file;
  }

  /** Throws a PathRefused if the path is invalid or leads out of the folder. */
  #within(path: string): string {
    if (path === '') throw new PathRefused('expected the name of a file, found an empty string');
    if (path.includes('\0')) throw new PathRefused('the path contains a NUL character');
    const full = resolve(this.#folder, path);
    if (path.split(/[\\/]/).includes('..')) throw new PathRefused(`expected a path without "..", found "${path}"`);
    if (!isInside(full, this.#folder)) throw leaves(path);
    return full;
  }
}

/** Returns the real path of an open file. If the system is not Linux, this is the path with which the file was opened. */
export async function openPath({ fd }: FileHandle, path: string): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => path);
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

function leaves(path: string): PathRefused {
  return new PathRefused(`the path "${path}" leads out of the folder for files`);
}
