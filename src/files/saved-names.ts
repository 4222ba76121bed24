import { createHash } from 'node:crypto';
import type { SaveNames } from '../core/transfer.ts';
import type { OutputSpace } from './folder.ts';

/** A file that a run has saved: a hash of its path, the number of the record, and its size in bytes. Takes about 100 bytes in the log. */
export type SavedName = readonly [name: string, owner: number, bytes: number];

/** The size in bytes of all files. A later entry replaces an earlier one with the same name. */
export function savedBytes(names: readonly SavedName[]): number {
  return [...new Map(names.map(([name, , bytes]) => [name, bytes])).values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** The list of the files that a run saves, for the case that it is resumed. */
export interface SavedLog {
  /** The files of the run's earlier parts. */
  readonly earlier: readonly SavedName[];
  /** Throws an AutomateError (`output`) if the log cannot be written. */
  add(name: SavedName): Promise<void>;
}

/** The owner number of a file that could not be moved to its path. It belongs to no record. */
const nobody = 0;

/**
 * Knows which record saved each file. When a run is resumed, a record that is processed again may replace its own file, but not another
 * record's. Only hashes of the paths are stored.
 */
export class SavedNames implements SaveNames {
  readonly #log: SavedLog | undefined;
  readonly #space: OutputSpace | undefined;
  readonly #owners = new Map<string, number>();
  /** Sizes in bytes of the files that earlier parts of the run have saved. A file that is replaced must not count twice. */
  readonly #sizes = new Map<string, number>();

  /** `log` is undefined if the run cannot be resumed. `space` counts the saved files. */
  constructor(log: SavedLog | undefined, space?: OutputSpace) {
    this.#log = log;
    this.#space = space;
    for (const [name, owner, bytes] of log?.earlier ?? []) {
      this.#sizes.set(name, bytes);
      if (owner === nobody) this.#owners.delete(name);
      else this.#owners.set(name, owner);
    }
  }

  /** Reserves a path: `free` if it was not reserved, `own` or `taken` if this or another record had reserved it. */
  async claim(path: string, owner: string): Promise<'free' | 'own' | 'taken'> {
    const [name, number] = [nameHash(path), ownerNumber(owner)];
    const before = this.#owners.get(name);
    if (before !== undefined) return before === number ? 'own' : 'taken';
    this.#owners.set(name, number);
    return 'free';
  }

  release(path: string): void {
    this.#owners.delete(nameHash(path));
  }

  /** Notes in the log that the record is about to save a file at the path. Throws an AutomateError (`output`) if that is not possible. */
  async note(path: string, owner: string, bytes: number): Promise<void> {
    const name = nameHash(path);
    const before = this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
    await this.#space?.take(bytes - before, 'saved');
    await this.#log?.add([name, ownerNumber(owner), bytes]);
  }

  /** Undoes `note`. Throws an AutomateError (`output`) if the log cannot be written. */
  async takeBack(path: string): Promise<void> {
    await this.#log?.add([nameHash(path), nobody, 0]);
  }
}

function nameHash(path: string): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 16);
}

/** From 1 to 2^30. V8 can store numbers in this range without additional memory. */
function ownerNumber(owner: string): number {
  return (createHash('sha256').update(owner).digest().readUInt32BE(0) >>> 2) + 1;
}
