import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { SaveNames } from '../core/transfer.ts';
import type { OutputSpace } from './folder.ts';
import { namingErrors } from './naming-errors.ts';

/** The list of files that an unfinished run has saved, next to its output file. */
export function savedNamesPath(out: string): string {
  return `${out}.automate-saved`;
}

/** Returns the size in bytes of all files in the list of an unfinished run; 0 if there is no list. */
export async function savedBytesIn(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const sizes = new Map<string, number>();
  for (const line of text.split('\n').slice(1, -1)) {
    const [name = '', , bytes = '0'] = line.split(' ');
    sizes.set(name, Number(bytes));
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

export interface SavedNamesFile {
  readonly path: string;
  readonly run: string;
}

/** The owner number of a file that could not be moved to its path. It belongs to no record. */
const nobody = 0;

/**
 * Knows which record saved each file. When a run is resumed, a record that is processed again may replace its own file, but not another
 * record's. Only hashes of the paths are stored, which take about 100 bytes per file.
 */
export class SavedNames implements SaveNames {
  readonly #file: SavedNamesFile | undefined;
  readonly #space: OutputSpace | undefined;
  readonly #owners = new Map<string, number>();
  /** Sizes in bytes of the files that earlier parts of the run have saved. A file that is replaced must not count twice. */
  readonly #sizes = new Map<string, number>();
  #opening: Promise<FileHandle> | undefined;

  /** `file` is the on-disk list; undefined if the run cannot be resumed and therefore needs no list. `space` counts the saved files. */
  constructor(file: SavedNamesFile | undefined, space?: OutputSpace) {
    this.#file = file;
    this.#space = space;
  }

  /** Reserves a path: `free` if it was not reserved, `own` or `taken` if this or another record had reserved it. */
  async claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'> {
    if (this.#file) await this.#opened(this.#file);
    const [name, number] = [nameHash(path), ownerNumber(owner)];
    const before = this.#owners.get(name);
    if (before !== undefined) return before === number ? 'own' : 'taken';
    this.#owners.set(name, number);
    return 'free';
  }

  release(path: string): void {
    this.#owners.delete(nameHash(path));
  }

  /**
   * Notes in the on-disk list that the record is about to save a file at the path. Throws an AutomateError (`output`) if the list cannot be
   * written.
   */
  async note(path: string, owner: string, bytes: number): Promise<void> {
    const name = nameHash(path);
    const before = this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
    await this.#space?.take(bytes - before, 'saved');
    await this.#append(path, ownerNumber(owner), bytes);
  }

  /** Undoes `note`. Throws an AutomateError (`output`) if the on-disk list cannot be written. */
  takeBack(path: string): Promise<void> {
    return this.#append(path, nobody, 0);
  }

  async close(): Promise<void> {
    const handle = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await handle?.close();
  }

  async #append(path: string, owner: number, bytes: number): Promise<void> {
    const file = this.#file;
    if (!file) return;
    const handle = await this.#opened(file);
    await namingErrors(file.path, 'written', () => handle.appendFile(`${nameHash(path)} ${owner} ${bytes}\n`));
  }

  #opened(file: SavedNamesFile): Promise<FileHandle> {
    this.#opening ??= namingErrors(file.path, 'written', () => this.#open(file));
    return this.#opening;
  }

  /** Continues the on-disk list of this run, and replaces another run's list. */
  async #open({ path, run }: SavedNamesFile): Promise<FileHandle> {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const [first, ...lines] = text.split('\n');
    const isOurs = first === run;
    // The last line is left out, because it is either empty or was cut off by a crash.
    for (const line of isOurs ? lines.slice(0, -1) : []) this.#read(line);
    const handle = await open(path, isOurs ? 'a' : 'w', 0o600);
    await handle.appendFile(isOurs ? (text.endsWith('\n') ? '' : '\n') : `${run}\n`);
    return handle;
  }

  #read(line: string): void {
    const [name = '', owner = '', bytes = '0'] = line.split(' ');
    this.#sizes.set(name, Number(bytes));
    if (Number(owner) === nobody) this.#owners.delete(name);
    else this.#owners.set(name, Number(owner));
  }
}

function nameHash(path: string): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 16);
}

/** From 1 to 2^30. V8 can store numbers in this range without additional memory. */
function ownerNumber(owner: string): number {
  return (createHash('sha256').update(owner).digest().readUInt32BE(0) >>> 2) + 1;
}
