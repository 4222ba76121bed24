import { mkdtempSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type Database from 'libsql';
import { loadLibrary } from '../files/database.ts';

/** The rows of a joined file, by their keys. Each row is the JSON text of a list with the values of the mapped columns. */
export interface Rows {
  /** In the order of the file, at most `max`. */
  find(key: string, max: number): readonly string[];
  close(): void;
}

/** From either on, the rows go to disk. `maxLength` is the sum of the lengths of keys and rows in characters. */
const maxRows = 500_000;
const maxLength = 64 * 1024 * 1024;

/** Each row costs little more than its text: a `Map` from keys to the texts of all their rows, separated by line breaks, which JSON texts lack. */
export class MemoryRows implements Rows {
  readonly #texts = new Map<string, string>();
  #rows = 0;
  #length = 0;

  get isFull(): boolean {
    return this.#rows >= maxRows || this.#length >= maxLength;
  }

  add(key: string, row: string): void {
    const others = this.#texts.get(key);
    this.#texts.set(key, others === undefined ? row : `${others}\n${row}`);
    this.#rows++;
    this.#length += key.length + row.length;
  }

  find(key: string, max: number): readonly string[] {
    const text = this.#texts.get(key);
    if (text === undefined) return [];
    return max === 1 || text.includes('\n') ? text.split('\n', max) : [text];
  }

  /** Forgets the rows that it yields. */
  *takeAll(): Generator<readonly [key: string, row: string]> {
    for (const [key, text] of this.#texts) {
      this.#texts.delete(key);
      for (const row of text.split('\n')) yield [key, row];
    }
  }

  close(): void {
    this.#texts.clear();
  }
}

const rowsInStep = 500;

/** Writes rows to a temporary SQLite database, which only its owner can read. */
export class DiskRowsWriter {
  readonly #database: Database.Database;
  readonly path: string;
  readonly #insert: Database.Statement;
  #waiting: (readonly [string, string])[] = [];

  /** Throws an Error if libsql cannot be loaded, or if the file cannot be created. */
  constructor() {
    const Library = loadLibrary();
    this.path = join(mkdtempSync(join(tmpdir(), 'automate-join-')), 'rows');
    this.#database = new Library(this.path);
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

  end(): void {
    this.#write();
    this.#database.exec('COMMIT');
    this.#database.exec('CREATE INDEX by_key ON rows (key)');
    this.#database.close();
  }

  remove(): void {
    this.#database.close();
    rmSync(dirname(this.path), { recursive: true, force: true });
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

  private constructor(path: string, remove: () => void) {
    const Library = loadLibrary();
    this.#remove = remove;
    this.#database = new Library(path, { readonly: true });
    this.#select = this.#database.prepare('SELECT row FROM rows WHERE key = ? ORDER BY rowid LIMIT ?').raw();
  }

  /** The database of another process, which removes it. */
  static ofOther(path: string): DiskRows {
    return new DiskRows(path, () => undefined);
  }

  /** `isShared`: other processes will open the database by its path. Otherwise it has no path any more, so that a crash leaves nothing behind. */
  static own(path: string, isShared: boolean): DiskRows {
    const remove = () => rmSync(dirname(path), { recursive: true, force: true });
    const rows = new DiskRows(path, remove);
    if (!isShared && process.platform !== 'win32') {
      unlinkSync(path);
      remove();
    }
    return rows;
  }

  find(key: string, max: number): readonly string[] {
    return (this.#select.all(key, max) as [string][]).map(([row]) => row);
  }

  close(): void {
    this.#database.close();
    this.#remove();
  }
}
