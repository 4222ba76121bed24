import { fstatSync, readSync } from 'node:fs';
import { AutomateError } from '../core/failure.ts';

/** Number of bytes at the beginning and at the end of what was read that are read again. */
const comparedBytes = 64 * 1024;

/** Bytes of a file as they were read, and their offset in the file. */
interface ReadPart {
  readonly at: number;
  readonly bytes: Buffer;
}

/**
 * Finds out whether a file was overwritten or cut off while it was read, by comparing its beginning and end. It uses the open file, so a
 * new file under the same name and appended bytes do not count.
 */
export class ReadCheck {
  readonly #fd: number;
  /** In bytes, when reading began. */
  readonly #size: number;
  readonly #first: ReadPart[] = [];
  readonly #last: ReadPart[] = [];
  /** Bytes in all parts of `#first`, and in all parts of `#last`. */
  #firstBytes = 0;
  #lastBytes = 0;
  #isCutOff = false;
  readonly #startsAnywhere: boolean;
  /** True if the offsets of what was read are not known. */
  #isUnknown = false;

  /** `startsAnywhere`: reading might not have begun at offset 0, because the shell has read the beginning of stdin. */
  constructor(fd: number, { startsAnywhere = false } = {}) {
    this.#fd = fd;
    this.#size = fstatSync(fd).size;
    this.#startsAnywhere = startsAnywhere;
  }

  /** Keeps the buffer, so it must not be changed later. */
  add(at: number, bytes: Buffer): void {
    const part = { at, bytes };
    if (this.#startsAnywhere && at === 0) this.#isUnknown = !this.#has(part);
    if (this.#firstBytes < comparedBytes) {
      this.#first.push(part);
      this.#firstBytes += bytes.length;
    }
    this.#last.push(part);
    this.#lastBytes += bytes.length;
    for (let oldest = this.#last[0]; oldest && this.#lastBytes - oldest.bytes.length >= comparedBytes; oldest = this.#last[0]) {
      this.#last.shift();
      this.#lastBytes -= oldest.bytes.length;
    }
  }

  ended(at: number): void {
    this.#isCutOff ||= at < this.#size;
  }

  /** For a file that is read as a whole, but not from beginning to end, such as an archive. */
  addWhole(): void {
    this.add(0, this.#read(0, comparedBytes));
    const last = Math.max(0, this.#size - comparedBytes);
    this.add(last, this.#read(last, this.#size - last));
  }

  /** Throws an AutomateError (`input`) if the file has changed. `name` is for messages. */
  refuseChange(name: string): void {
    if (this.#isUnknown || (!this.#isCutOff && [...this.#first, ...this.#last].every((part) => this.#has(part)))) return;
    throw new AutomateError('input', `${name} has changed while it was read`, { code: 'input-changed', details: {} });
  }

  #has({ at, bytes }: ReadPart): boolean {
    return this.#read(at, bytes.length).equals(bytes);
  }

  /** Does not move the position at which stdin is read. */
  #read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#fd, bytes, 0, length, at));
  }
}
