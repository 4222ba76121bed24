import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { SaveNames } from '../core/transfer.ts';
import type { OutputSpace } from './folder.ts';
import { namingErrors } from './naming-errors.ts';

/** Returns the path of the list of files that an unfinished run has saved. The list is next to the output file. */
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

/** The path of the list of files that a run has saved, and the UUID of that run. */
export interface SavedNamesFile {
  readonly path: string;
  readonly run: string;
}

/** The owner number in the list for a file that could not be moved to its path. The number does not belong to any record. */
const nobody = 0;

/**
 * Keeps track of the files that a run's records save, and of the record that owns each file. When the run is resumed, a record that is
 * processed again may replace its own file, but not a file of another record. Only hashes of the paths are stored, which take about 100
 * bytes per file.
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

  /**
   * Reserves a path for a record. Returns `free` if the path was not reserved, `own` if this record had reserved it, or `taken` if another
   * record had reserved it.
   */
  async claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'> {
    if (this.#file) await this.#opened(this.#file);
    const [name, number] = [nameHash(path), ownerNumber(owner)];
    const before = this.#owners.get(name);
    if (before !== undefined) return before === number ? 'own' : 'taken';
    this.#owners.set(name, number);
    return 'free';
  }

  /** Ends the reservation of a path. */
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

  /**
   * Undoes `note`: notes in the on-disk list that no file was saved at the path after all. Throws an AutomateError (`output`) if the list
   * cannot be written.
   */
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

  /** Opens the on-disk list. If the list belongs to this run, reads and continues it. If it belongs to another run, replaces it. */
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

/** Returns a number from 1 to 2^30 for a record. V8 can store numbers in this range without additional memory. */
function ownerNumber(owner: string): number {
  return (createHash('sha256').update(owner).digest().readUInt32BE(0) >>> 2) + 1;
}
