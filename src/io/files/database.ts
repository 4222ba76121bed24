import { closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import { makeFolder } from './folder.ts';
import { refuseLink } from './state-file.ts';

/** What a database holds, and how it is waited for. */
export interface DatabaseOptions {
  /** Makes the tables that are not there yet. */
  readonly schema: string;
  /** The version of these tables. */
  readonly version: number;
  /** So long another process's transaction is waited for. */
  readonly timeoutMs: number;
}

/**
 * Opens a SQLite file for its owner's eyes only, which is made when there is none. Several processes may have it open.
 * Throws an AutomateError (`credential`) for a symbolic link, else what Node.js and libsql throw.
 */
export function openDatabase(path: string, options: DatabaseOptions): Database.Database {
  refuseLink(path);
  makeFolder(dirname(path));
  const umask = process.umask(0o177);
  try {
    const database = connected(path, options.timeoutMs);
    try {
      prepare(database, options);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  } finally {
    process.umask(umask);
  }
}

/** Of a file that cannot be opened libsql tells a number, and the system why. */
function connected(path: string, timeout: number): Database.Database {
  try {
    return new Database(path, { timeout });
  } catch (error) {
    closeSync(openSync(path, 'a+', 0o600));
    throw error;
  }
}

function prepare(database: Database.Database, { schema, version, timeoutMs }: DatabaseOptions): void {
  database.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  walMode(database, performance.now() + timeoutMs);
  database.exec('PRAGMA synchronous = NORMAL');
  const found = versionOf(database);
  if (found > version) throw new Error('it was made by a newer version of automate');
  if (found === version) return;
  inTransaction(database, () => {
    // Another process may have been first.
    if (versionOf(database) === version) return;
    database.exec(schema);
    database.exec(`PRAGMA user_version = ${version}`);
  });
}

/** Does something in a write transaction: all of it or nothing. */
export function inTransaction<Result>(database: Database.Database, act: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = act();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // When the disk is full it is over already, and libsql's own transactions would hide why.
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: Database.Database): number {
  return (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** On a new file two processes may get into each other's way, which no timeout waits for. */
function walMode(database: Database.Database, untilMs: number): void {
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Whether another process was in the way for longer than it was waited for. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(error));
}

/** Whether a database is not, or no longer, what we wrote. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB|FORMAT|ERROR|CONSTRAINT|MISMATCH)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** What is set aside when the file is damaged. */
export function damagedPath(path: string): string {
  return `${path}.damaged`;
}

/** Puts a damaged file where nobody reads it. Its log goes first: it must not be taken for that of the next file. */
export function setAside(path: string): void {
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  renameSync(path, damagedPath(path));
}
