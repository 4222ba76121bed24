import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { namingErrors } from '../files/naming-errors.ts';

/** The path of the list of files that an unfinished run has saved, next to its output. */
export function savedNamesPath(out: string): string {
  return `${out}.automate-saved`;
}

/** The file of a list, and the UUID of its run. */
export interface SavedNamesFile {
  readonly path: string;
  readonly run: string;
}

/** Stands in the list for a file that could not be put in its place. */
const nobody = 0;

/**
 * The files that the records of a run save, and which record saves each. A resumed run knows those of its earlier parts: a record that is
 * run again may replace its own file, and no other. Of a name only a hash is held: about 100 bytes for each file.
 */
export class SavedNames {
  readonly #file: SavedNamesFile | undefined;
  readonly #owners = new Map<string, number>();
  #opening: Promise<FileHandle> | undefined;

  /** `file`: undefined for a run that cannot be resumed. */
  constructor(file: SavedNamesFile | undefined) {
    this.#file = file;
  }

  /** Claims a file for a record. Answers `own` if the record has saved it before, and `taken` if another record has claimed it. */
  async claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'> {
    if (this.#file) await this.#opened(this.#file);
    const [name, number] = [nameHash(path), ownerNumber(owner)];
    const before = this.#owners.get(name);
    if (before !== undefined) return before === number ? 'own' : 'taken';
    this.#owners.set(name, number);
    return 'free';
  }

  /** Gives a claim up. */
  release(path: string): void {
    this.#owners.delete(nameHash(path));
  }

  /** Notes that the file is about to appear at its path. Throws an AutomateError (`output`). */
  note(path: string, owner: string): Promise<void> {
    return this.#append(path, ownerNumber(owner));
  }

  /** Takes a note back. Throws an AutomateError (`output`). */
  takeBack(path: string): Promise<void> {
    return this.#append(path, nobody);
  }

  async close(): Promise<void> {
    const handle = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await handle?.close();
  }

  async #append(path: string, owner: number): Promise<void> {
    const file = this.#file;
    if (!file) return;
    const handle = await this.#opened(file);
    await namingErrors(file.path, 'written', () => handle.appendFile(`${nameHash(path)} ${owner}\n`));
  }

  #opened(file: SavedNamesFile): Promise<FileHandle> {
    this.#opening ??= namingErrors(file.path, 'written', () => this.#open(file));
    return this.#opening;
  }

  /** Continues the list of this run. A list of another run begins anew. */
  async #open({ path, run }: SavedNamesFile): Promise<FileHandle> {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const [first, ...lines] = text.split('\n');
    const isOurs = first === run;
    // The last line is empty, or was cut off by a crash.
    for (const line of isOurs ? lines.slice(0, -1) : []) this.#read(line);
    const handle = await open(path, isOurs ? 'a' : 'w', 0o600);
    await handle.appendFile(isOurs ? (text.endsWith('\n') ? '' : '\n') : `${run}\n`);
    return handle;
  }

  #read(line: string): void {
    const [name = '', owner = ''] = line.split(' ');
    if (Number(owner) === nobody) this.#owners.delete(name);
    else this.#owners.set(name, Number(owner));
  }
}

function nameHash(path: string): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 16);
}

/** A number from 1 up to 2^30, which takes no memory of its own. */
function ownerNumber(owner: string): number {
  return (createHash('sha256').update(owner).digest().readUInt32BE(0) >>> 2) + 1;
}
