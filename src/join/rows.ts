import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type Database from 'libsql';
import { orUndefined } from '../core/value/value.ts';
import { loadLibrary } from '../files/database.ts';
import { livingOwner, ownerText } from '../files/owner.ts';

/** The rows of a joined file, by their keys. Each row is the JSON text of a list with the values of the mapped columns. */
export interface Rows {
  /** In the order of the file, at most `max`. */
  find(key: string, max: number): readonly string[];
  close(): void;
}

/** From either on, the rows go to disk. `maxLength` is the size of keys and rows in bytes. */
const maxRows = 500_000;
const maxLength = 64 * 1024 * 1024;

const blockBytes = 1024 * 1024;

/**
 * The numbers that are kept of each row: its place in the text, the lengths of key and row in bytes, the key's hash, and the next row in
 * its slot.
 */
const numbersOfRow = 5;

/** A hash table in blocks outside of the heap, so that a row costs little more than its text, and garbage collection has nothing to do. */
export class MemoryRows implements Rows {
  readonly #blocks: Buffer[] = [];
  /** Bytes that are taken in the last block. */
  #taken = blockBytes;
  #rows = 0;
  #length = 0;
  #numbers = new Int32Array(1024 * numbersOfRow);
  /** The first row in each slot, from 1; 0 if there is none. The count is a power of two. */
  #slots = new Int32Array(2048);
  #scratch = Buffer.allocUnsafe(1024);

  get isFull(): boolean {
    return this.#rows >= maxRows || this.#length >= maxLength;
  }

  add(key: string, row: string): void {
    const keyBytes = this.#encode(key);
    const rowBytes = Buffer.byteLength(row);
    const at = this.#place(keyBytes + rowBytes);
    const block = this.#blocks.at(-1) as Buffer;
    this.#scratch.copy(block, this.#taken, 0, keyBytes);
    block.write(row, this.#taken + keyBytes);
    this.#taken += keyBytes + rowBytes;
    this.#length += keyBytes + rowBytes;
    if ((this.#rows + 1) * numbersOfRow > this.#numbers.length) this.#grow();
    this.#numbers.set([at, keyBytes, rowBytes, hashOf(key), 0], this.#rows * numbersOfRow);
    this.#rows++;
    this.#link(this.#rows - 1);
  }

  find(key: string, max: number): readonly string[] {
    const hash = hashOf(key);
    const keyBytes = this.#encode(key);
    const found: string[] = [];
    for (let next = this.#slots[this.#slotOf(hash)] as number; next > 0; next = this.#number(next - 1, 4)) {
      const row = next - 1;
      if (this.#number(row, 3) !== hash || !this.#hasKey(row, keyBytes)) continue;
      found.push(this.#text(row));
    }
    // Each row of a slot links to the row before it, so the last row was found first.
    return found.reverse().slice(0, max);
  }

  /** All rows with their keys, in the order of the file. */
  *all(): Generator<readonly [key: string, row: string]> {
    for (let row = 0; row < this.#rows; row++) {
      const { block, start } = this.#blockOf(row);
      yield [block.toString('utf8', start, start + this.#number(row, 1)), this.#text(row)];
    }
  }

  close(): void {
    this.#blocks.length = 0;
    this.#rows = 0;
    this.#slots.fill(0);
  }

  /** Writes the key to the scratch buffer. Returns its length in bytes. */
  #encode(key: string): number {
    // A UTF-16 unit takes at most three bytes.
    if (key.length * 3 > this.#scratch.length) this.#scratch = Buffer.allocUnsafe(key.length * 3);
    return this.#scratch.write(key);
  }

  /** The place for a text: the number of its block and its offset there. */
  #place(bytes: number): number {
    if (this.#taken + bytes > (this.#blocks.at(-1)?.length ?? 0)) {
      this.#blocks.push(Buffer.allocUnsafeSlow(Math.max(blockBytes, bytes)));
      this.#taken = 0;
    }
    return (this.#blocks.length - 1) * blockBytes + this.#taken;
  }

  #blockOf(row: number): { readonly block: Buffer; readonly start: number } {
    const at = this.#number(row, 0);
    return { block: this.#blocks[Math.floor(at / blockBytes)] as Buffer, start: at % blockBytes };
  }

  #hasKey(row: number, keyBytes: number): boolean {
    if (this.#number(row, 1) !== keyBytes) return false;
    const { block, start } = this.#blockOf(row);
    return block.compare(this.#scratch, 0, keyBytes, start, start + keyBytes) === 0;
  }

  #text(row: number): string {
    const { block, start } = this.#blockOf(row);
    const from = start + this.#number(row, 1);
    return block.toString('utf8', from, from + this.#number(row, 2));
  }

  #number(row: number, index: number): number {
    return this.#numbers[row * numbersOfRow + index] as number;
  }

  #slotOf(hash: number): number {
    return hash & (this.#slots.length - 1);
  }

  #link(row: number): void {
    const slot = this.#slotOf(this.#number(row, 3));
    this.#numbers[row * numbersOfRow + 4] = this.#slots[slot] as number;
    this.#slots[slot] = row + 1;
  }

  #grow(): void {
    const numbers = new Int32Array(this.#numbers.length * 2);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let row = 0; row < this.#rows; row++) this.#link(row);
  }
}

/** FNV-1a (draft-eastlake-fnv) over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

const folderPrefix = 'automate-join-';

/**
 * A folder for one database. It is removed when the process exits, also at a signal. After `kill -9`, the last worker process removes it, or
 * the next process that makes such a folder.
 */
class DatabaseFolder {
  readonly database: string;
  readonly #path: string;
  readonly #exits = () => orUndefined(() => this.remove());

  constructor() {
    for (const name of readdirSync(tmpdir())) if (name.startsWith(folderPrefix)) removeIfAbandoned(join(tmpdir(), name));
    this.#path = mkdtempSync(join(tmpdir(), folderPrefix));
    this.database = join(this.#path, 'rows');
    process.once('exit', this.#exits);
    writeFileSync(join(this.#path, 'owner'), ownerText());
  }

  remove(): void {
    process.off('exit', this.#exits);
    rmSync(this.#path, { recursive: true, force: true });
  }
}

/** The folders of other processes whose databases this process has opened. Most are gone when it exits. */
const foreignFolders = new Set<string>();

const neverWoken = new Int32Array(new SharedArrayBuffer(4));

/** A worker exits when the pipe of its run ends, which a killed process closes shortly before it is dead. */
function removeForeign(): void {
  for (const folder of foreignFolders)
    for (let tries = 0; tries < 100 && !removeIfAbandoned(folder); tries++) Atomics.wait(neverWoken, 0, 0, 20);
}

/** False if the owner may still need it. A folder without an owner's name is just being made, or belongs to another user. */
function removeIfAbandoned(folder: string): boolean {
  const owner = orUndefined(() => readFileSync(join(folder, 'owner'), 'utf8'));
  if (owner !== undefined && livingOwner(owner, () => true)) return false;
  if (owner !== undefined) orUndefined(() => rmSync(folder, { recursive: true, force: true }));
  return true;
}

const rowsInStep = 500;

/** Writes rows to a temporary SQLite database, which only its owner can read. */
export class DiskRowsWriter {
  readonly #database: Database.Database;
  readonly #folder = new DatabaseFolder();
  readonly #insert: Database.Statement;
  #waiting: (readonly [string, string])[] = [];

  /** Throws an Error if libsql cannot be loaded, or if the file cannot be created. */
  constructor() {
    const Library = loadLibrary();
    this.#database = new Library(this.#folder.database);
    // Nobody needs the database after a crash.
    this.#database.exec('PRAGMA journal_mode = OFF');
    this.#database.exec('PRAGMA synchronous = OFF');
    this.#database.exec('CREATE TABLE rows (key TEXT NOT NULL, row TEXT NOT NULL)');
    // One call for many rows takes a tenth of the time of a call for each.
    this.#insert = this.#database.prepare('INSERT INTO rows SELECT value ->> 0, value ->> 1 FROM json_each(?)');
    this.#database.exec('BEGIN');
  }

  add(key: string, row: string): void {
    this.#waiting.push([key, row]);
    if (this.#waiting.length >= rowsInStep) this.#write();
  }

  /**
   * `isShared`: other processes will open the database by its path. Otherwise its folder is removed now, so that a crash leaves nothing
   * behind.
   */
  end(isShared: boolean): { readonly rows: DiskRows; readonly path: string } {
    this.#write();
    this.#database.exec('COMMIT');
    this.#database.exec('CREATE INDEX by_key ON rows (key)');
    this.#database.close();
    const path = this.#folder.database;
    const rows = new DiskRows(path, () => this.#folder.remove());
    // An open file cannot be removed on Windows.
    if (!isShared && process.platform !== 'win32') this.#folder.remove();
    return { rows, path };
  }

  remove(): void {
    this.#database.close();
    this.#folder.remove();
  }

  #write(): void {
    this.#insert.run(JSON.stringify(this.#waiting));
    this.#waiting = [];
  }
}

export class DiskRows implements Rows {
  readonly #database: Database.Database;
  readonly #select: Database.Statement;
  readonly #remove: () => void;

  constructor(path: string, remove: () => void) {
    const Library = loadLibrary();
    this.#remove = remove;
    this.#database = new Library(path, { readonly: true });
    this.#select = this.#database.prepare('SELECT row FROM rows WHERE key = ? ORDER BY rowid LIMIT ?').raw();
  }

  /** The database of another process, which removes it unless it has been killed. */
  static ofOther(path: string): DiskRows {
    if (foreignFolders.size === 0) process.once('exit', removeForeign);
    foreignFolders.add(dirname(path));
    return new DiskRows(path, () => undefined);
  }

  find(key: string, max: number): readonly string[] {
    return (this.#select.all(key, max === Number.POSITIVE_INFINITY ? -1 : max) as [string][]).map(([row]) => row);
  }

  close(): void {
    this.#database.close();
    this.#remove();
  }
}
