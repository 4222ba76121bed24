import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { entryBytes, entryIn, entryPlace, type FoundMemory, hashBytes, type RememberedRows } from '../truth-file.ts';

/** Minimum bytes per read if parts are requested in their order. */
const windowBytes = 128 * 1024;

/** Minimum bytes per read if they do not follow the part that was read before. */
const jumpBytes = 4 * 1024;

/** Fast if most parts are requested in the order in which they are in the file. */
export class WindowReader {
  window = Buffer.alloc(windowBytes);
  readonly #file: number;
  #at = 0;
  #length = 0;

  constructor(file: number) {
    this.#file = file;
  }

  /** Reads `bytes` bytes of the file from the offset `at` into the window. Returns their offset there; undefined if the file ends earlier. */
  load(at: number, bytes: number): number | undefined {
    if (at < this.#at || at + bytes > this.#at + this.#length) {
      const isNext = at >= this.#at && at <= this.#at + this.#length;
      const wanted = Math.max(bytes, isNext ? windowBytes : jumpBytes);
      const length = Math.max(wanted, windowBytes);
      // After a part that is longer than usual, the window becomes small again.
      if (this.window.length !== length) this.window = Buffer.alloc(length);
      this.#at = at;
      this.#length = readFully(this.#file, this.window, wanted, at);
    }
    return bytes > this.#length - (at - this.#at) ? undefined : at - this.#at;
  }

  /** Reads UTF-8 from the offset `at`; undefined if the file ends earlier. */
  text(at: number, bytes: number): string | undefined {
    const offset = this.load(at, bytes);
    return offset === undefined ? undefined : this.window.toString('utf8', offset, offset + bytes);
  }
}

function readFully(file: number, into: Uint8Array | Uint32Array, bytes: number, at: number): number {
  let done = 0;
  for (let read = -1; read !== 0 && done < bytes; done += read) read = readSync(file, into, done, bytes - done, at + done);
  return done;
}

/** In bytes. Larger tables are in an unlinked file. */
const maxHeld = 6 * 1024 * 1024;

/** 32-bit numbers in memory or in a temporary file. All are zero at first. */
export class Table {
  /** All entries, or only the entry that was loaded last. */
  readonly numbers: Uint32Array;
  readonly #width: number;
  readonly #file: number | undefined;

  /** A temporary file is created in the same folder as the path `besides`. `held` is in bytes. */
  constructor(entries: number, width: number, besides: string, held = maxHeld) {
    this.#width = width;
    const isHeld = entries * width * 4 <= held;
    this.numbers = new Uint32Array(isHeld ? entries * width : width);
    if (isHeld) return;
    const path = `${besides}.${randomUUID()}.part`;
    this.#file = openSync(path, 'wx+', 0o600);
    rmSync(path);
  }

  /** The index in `numbers` at which the entry begins, valid until the next call. */
  load(entry: number): number {
    if (this.#file === undefined) return entry * this.#width;
    this.numbers.fill(0);
    readFully(this.#file, this.numbers, this.numbers.byteLength, entry * this.numbers.byteLength);
    return 0;
  }

  /** `entry` must be the one that was loaded last. */
  save(entry: number): void {
    if (this.#file !== undefined) writeSync(this.#file, this.numbers, 0, this.numbers.byteLength, entry * this.numbers.byteLength);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

/** The head of a list in which all records have been taken. */
const nothingLeft = 0xffff_ffff;

/**
 * An earlier output's records by hash, with open addressing. A large table is in a file, so memory use hardly grows with the records.
 * Records with equal hashes form a list in the order of the output.
 */
class HashTable {
  /** Two numbers of the hash, and the head of the list: the 1-based index of a record, or 0 for an empty slot. */
  readonly #slots: Table;
  /** The 1-based index of the next record in the list; 0 for the last. */
  readonly #next: Table;
  readonly #mask: number;
  readonly #key = Buffer.alloc(hashBytes);

  constructor(entries: WindowReader, count: number, besides: string) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, count * 2)));
    this.#mask = slots - 1;
    this.#slots = new Table(slots, 3, besides);
    this.#next = new Table(count, 1, besides);
    // Entries are added from last to first, each at the front of its list. So the lists have the order of the output.
    const some = 1024;
    for (let end = count; end > 0; end -= some) {
      const first = Math.max(0, end - some);
      const start = entries.load(entryPlace(first), (end - first) * entryBytes) as number;
      for (let index = end - 1; index >= first; index--) this.#add(entries.window, start + (index - first) * entryBytes, index);
    }
  }

  /** Removes the records of a hash from their list, one after the other, until `take` accepts an index. */
  takeFrom(hash: string, take: (index: number) => boolean): void {
    this.#key.write(hash, 'latin1');
    const slot = this.#slotOf(this.#key, 0);
    const at = this.#slots.load(slot) + 2;
    const { numbers } = this.#slots;
    let head = numbers[at] as number;
    for (let isTaken = false; !isTaken && head !== 0 && head !== nothingLeft; ) {
      isTaken = take(head - 1);
      const next = this.#next.load(head - 1);
      head = this.#next.numbers[next] || nothingLeft;
    }
    numbers[at] = head;
    this.#slots.save(slot);
  }

  close(): void {
    this.#slots.close();
    this.#next.close();
  }

  #add(bytes: Buffer, at: number, index: number): void {
    const slot = this.#slotOf(bytes, at);
    const { numbers } = this.#slots;
    const start = this.#slots.load(slot);
    const next = this.#next.load(index);
    this.#next.numbers[next] = numbers[start + 2] as number;
    this.#next.save(index);
    numbers.set([bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4), index + 1], start);
    this.#slots.save(slot);
  }

  /** `at` is the hash's offset. The slot is empty if no record with this hash was added. */
  #slotOf(bytes: Buffer, at: number): number {
    const [first, second] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
    const { numbers } = this.#slots;
    for (let slot = bytes.readUInt32BE(at + 8) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const start = this.#slots.load(slot);
      if (numbers[start + 2] === 0 || (numbers[start] === first && numbers[start + 1] === second)) return slot;
    }
  }
}

/** Each record can be taken only once. */
export class OldRecords {
  readonly #file: number;
  readonly #count: number;
  readonly #besides: string;
  readonly #entries: WindowReader;
  /** A bit for each record. */
  readonly #taken: Uint8Array;
  /** Index of the record after the one that was taken last. */
  #following = 0;
  #table: HashTable | undefined;

  /** Temporary files are created in the same folder as the path `besides`. */
  constructor({ path, count }: Pick<FoundMemory, 'path' | 'count'>, besides: string) {
    this.#file = openSync(path, 'r');
    this.#count = count;
    this.#besides = besides;
    this.#entries = new WindowReader(this.#file);
    this.#taken = new Uint8Array(Math.ceil(count / 8));
  }

  /**
   * Takes the record after the last taken one if `whole` is the hash of all its fields and `isWanted` accepts it. Most records are
   * unchanged and in the same order, and are so found without the hash table.
   */
  takeFollowing(whole: string, isWanted: (entry: RememberedRows) => boolean): RememberedRows | undefined {
    const index = this.#following;
    if (index >= this.#count || this.#isTaken(index)) return undefined;
    const entry = this.#entry(index);
    return entry.whole === whole && isWanted(entry) ? this.#take(entry) : undefined;
  }

  /** Takes the first record with this hash that is not taken and that `isWanted` accepts. Records rejected before that count as taken. */
  take(hash: string, isWanted: (entry: RememberedRows) => boolean): RememberedRows | undefined {
    this.#table ??= new HashTable(this.#entries, this.#count, this.#besides);
    let found: RememberedRows | undefined;
    this.#table.takeFrom(hash, (index) => {
      if (this.#isTaken(index)) return false;
      const entry = this.#entry(index);
      if (entry.hash === hash && isWanted(entry)) found = this.#take(entry);
      return found !== undefined;
    });
    return found;
  }

  /** An earlier part of the run has reused the rows of the record with the 1-based index `taken`. */
  markTaken(taken: number): void {
    this.#mark(taken - 1);
  }

  close(): void {
    closeSync(this.#file);
    this.#table?.close();
  }

  #entry(index: number): RememberedRows {
    const at = this.#entries.load(entryPlace(index), entryBytes) as number;
    return entryIn(this.#entries.window, at, index + 1);
  }

  #take(entry: RememberedRows): RememberedRows {
    this.#mark(entry.taken - 1);
    return entry;
  }

  #mark(index: number): void {
    this.#taken[index >> 3] = (this.#taken[index >> 3] as number) | (1 << (index & 7));
    this.#following = index + 1;
  }

  #isTaken(index: number): boolean {
    return ((this.#taken[index >> 3] as number) & (1 << (index & 7))) !== 0;
  }
}
