import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { entryBytes, entryIn, entryPlace, type FoundMemory, type RememberedRows } from './memory-file.ts';

/** Bytes that are read at once: neighbours are asked for one after another. */
const windowBytes = 128 * 1024;

/** Reads parts of a file, most of them in their order. */
export class WindowReader {
  readonly #file: number;
  readonly #window = Buffer.alloc(windowBytes);
  #at = 0;
  #length = 0;

  constructor(file: number) {
    this.#file = file;
  }

  /** The bytes at a place; fewer if the file ends. */
  read(at: number, bytes: number): Buffer {
    if (bytes > windowBytes) {
      const large = Buffer.alloc(bytes);
      return large.subarray(0, readFully(this.#file, large, at));
    }
    if (at < this.#at || at + bytes > this.#at + this.#length) {
      this.#at = at;
      this.#length = readFully(this.#file, this.#window, at);
    }
    return Buffer.from(this.#window.subarray(at - this.#at, Math.min(this.#length, at - this.#at + bytes)));
  }
}

function readFully(file: number, into: Buffer, at: number): number {
  let done = 0;
  for (let read = -1; read !== 0 && done < into.length; done += read) read = readSync(file, into, done, into.length - done, at + done);
  return done;
}

/** Bytes that an index may hold in memory. A larger one is a file without a name. */
const maxHeld = 6 * 1024 * 1024;

/** Bytes by their place, all zero at first. */
class Table {
  readonly #held: Buffer | undefined;
  readonly #file: number | undefined;

  constructor(bytes: number, folder: string) {
    if (bytes <= maxHeld) {
      this.#held = Buffer.alloc(bytes);
      return;
    }
    const path = `${folder}.${randomUUID()}.part`;
    this.#file = openSync(path, 'wx+', 0o600);
    rmSync(path);
  }

  read(at: number, bytes: number): Buffer {
    if (this.#held) return this.#held.subarray(at, at + bytes);
    const buffer = Buffer.alloc(bytes);
    readFully(this.#file as number, buffer, at);
    return buffer;
  }

  write(at: number, bytes: Buffer): void {
    if (this.#held) bytes.copy(this.#held, at);
    else writeSync(this.#file as number, bytes, 0, bytes.length, at);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

const keyBytes = 8;
const slotBytes = keyBytes + 4;
/** Marks a slot whose records are all taken. */
const nothingLeft = 0xffff_ffff;

/**
 * The records of a memory by their hashes: a hash table with open places, whose memory does not grow with the records. Records with one
 * hash form a list, in the order of the output, and each is taken once.
 */
export class OldRecords {
  readonly #file: number;
  readonly #entries: WindowReader;
  readonly #slots: Table;
  readonly #next: Table;
  readonly #mask: number;

  /** `besides`: the beginning of the path of temporary files. */
  constructor({ path, count }: Pick<FoundMemory, 'path' | 'count'>, besides: string) {
    this.#file = openSync(path, 'r');
    this.#entries = new WindowReader(this.#file);
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, count * 2)));
    this.#mask = slots - 1;
    this.#slots = new Table(slots * slotBytes, besides);
    this.#next = new Table(count * 4, besides);
    // From the end: a list begins with its first record.
    const some = 1024;
    for (let end = count; end > 0; end -= some) {
      const first = Math.max(0, end - some);
      const bytes = this.#entries.read(entryPlace(first), (end - first) * entryBytes);
      for (let index = end - 1; index >= first; index--) this.#add(bytes.subarray((index - first) * entryBytes), index);
    }
  }

  /** Takes the first record with this hash that is not taken yet, and that `isWanted`. Those before it are taken, too. */
  take(hash: Buffer, isWanted: (entry: RememberedRows) => boolean): RememberedRows | undefined {
    const slot = this.#slotOf(hash);
    let head = this.#slots.read(slot + keyBytes, 4).readUInt32BE(0);
    let found: RememberedRows | undefined;
    while (!found && head !== 0 && head !== nothingLeft) {
      const entry = { ...entryIn(this.#entries.read(entryPlace(head - 1), entryBytes)), taken: head };
      if (entry.hash.equals(hash) && isWanted(entry)) found = entry;
      head = this.#next.read((head - 1) * 4, 4).readUInt32BE(0);
      this.#slots.write(slot + keyBytes, numberBytes(head === 0 ? nothingLeft : head));
    }
    return found;
  }

  close(): void {
    closeSync(this.#file);
    this.#slots.close();
    this.#next.close();
  }

  #add(entry: Buffer, index: number): void {
    const slot = this.#slotOf(entry);
    const head = this.#slots.read(slot + keyBytes, 4).readUInt32BE(0);
    this.#next.write(index * 4, numberBytes(head));
    this.#slots.write(slot, Buffer.concat([entry.subarray(0, keyBytes), numberBytes(index + 1)]));
  }

  /** The place of the slot of a hash: its own, or an empty one. */
  #slotOf(hash: Buffer): number {
    for (let number = hash.readUInt32BE(8) & this.#mask; ; number = (number + 1) & this.#mask) {
      const slot = this.#slots.read(number * slotBytes, slotBytes);
      if (slot.readUInt32BE(keyBytes) === 0 || slot.subarray(0, keyBytes).equals(hash.subarray(0, keyBytes))) return number * slotBytes;
    }
  }
}

function numberBytes(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}
