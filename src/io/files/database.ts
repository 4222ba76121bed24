import { closeSync, openSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type Database from 'libsql';
import { makeFolder } from './folder.ts';
import { refuseLink } from './state-file.ts';

/** The tables of a database, and the wait for other processes. */
export interface DatabaseOptions {
  /** The SQL that creates the tables. */
  readonly schema: string;
  /** The version of these tables. */
  readonly version: number;
  /** Longest wait for another process's transaction. */
  readonly timeoutMs: number;
}

/**
 * Opens a SQLite file that only its owner can read; creates it if there is no file. Several processes may have it open.
 * Throws an AutomateError (`credential`) for a symbolic link, else what Node.js and libsql throw.
 */
export function openDatabase(path: string, options: DatabaseOptions): Database.Database {
  refuseLink(path);
  makeFolder(dirname(path));
  const umask = process.umask(0o177);
  try {
    const database = connect(path, options.timeoutMs);
    try {
      createTables(database, options);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  } finally {
    process.umask(umask);
  }
}

/** The error of an installation whose libsql cannot be loaded. */
class LibraryMissing extends Error {}

/** True for an error, or the cause of one, that libsql cannot be loaded: no database can be opened here, whatever its content. */
export function isLibraryMissing(error: unknown): boolean {
  return error instanceof LibraryMissing || (error instanceof Error && error.cause instanceof LibraryMissing);
}

/** Loads libsql, whose native module may be missing: for another platform, or after an install without optional packages. */
export function loadLibrary(): typeof Database {
  try {
    return createRequire(import.meta.url)('libsql');
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new LibraryMissing(`its library libsql cannot be loaded here: ${reason}`, { cause: error });
  }
}

/** libsql gives only a number for a file that cannot be opened; opening it again gives the system's reason. */
function connect(path: string, timeout: number): Database.Database {
  const Library = loadLibrary();
  try {
    return new Library(path, { timeout });
  } catch (error) {
    closeSync(openSync(path, 'a+', 0o600));
    throw error;
  }
}

function createTables(database: Database.Database, { schema, version, timeoutMs }: DatabaseOptions): void {
  database.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  setWalMode(database, performance.now() + timeoutMs);
  database.exec('PRAGMA synchronous = NORMAL');
  if (hasTables(database, version)) return;
  inTransaction(database, () => {
    // Another process may have been first.
    if (hasTables(database, version)) return;
    database.exec(schema);
    database.exec(`PRAGMA user_version = ${version}`);
  });
}

/** False for a new file. Throws an Error for the tables of another version. */
function hasTables(database: Database.Database, version: number): boolean {
  const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  if (found > version) throw new Error('it was made by a newer version of automate');
  if (found !== 0 && found < version) throw new Error('it was made by an older version of automate, which this version cannot read');
  return found === version;
}

/** Does something in a write transaction: all of it or nothing. */
export function inTransaction<Result>(database: Database.Database, act: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = act();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has ended the transaction already. (libsql's own `transaction` would fail here and hide the reason.)
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Retries: two processes that open a new file may block each other, and busy_timeout does not apply here. */
function setWalMode(database: Database.Database, untilMs: number): void {
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

/** True for the error that another process held the database's lock for the whole timeout. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(databaseErrorCode(error));
}

/** True for the error of a file that is not a database of ours, or is damaged. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB|FORMAT|ERROR|CONSTRAINT|MISMATCH)/.test(databaseErrorCode(error));
}

function databaseErrorCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** Deletes a database with its log. The log goes first, so that it is not taken for the log of the next file. */
export function deleteDatabase(path: string): void {
  for (const end of ['-wal', '-shm', '']) rmSync(path + end, { force: true });
}
