import { closeSync, openSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type Database from 'libsql';
import { makeFolder } from './folder.ts';
import { refuseLink } from './state-file.ts';

interface DatabaseOptions {
  readonly schema: string;
  /** The version of the tables, which is stored in the database. A file with a different version cannot be opened. */
  readonly version: number;
  /** Maximum wait in ms for another process's transaction to end. */
  readonly timeoutMs: number;
  /** Neither creates the database nor writes to it. */
  readonly isReadOnly?: boolean;
}

/**
 * Opens a SQLite database, or creates it so that only its owner can read it; several processes may share it. Throws an AutomateError
 * (`credential`) if the path is a symbolic link, and errors of Node.js and libsql.
 */
export function openDatabase(path: string, options: DatabaseOptions): Database.Database {
  refuseLink(path);
  if (options.isReadOnly) return openReadOnly(path, options);
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

function openReadOnly(path: string, { version, timeoutMs }: DatabaseOptions): Database.Database {
  const database = new (loadLibrary())(path, { timeout: timeoutMs, readonly: true });
  try {
    if (!hasTables(database, version)) throw new Error('it is not complete');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** True if the file, or its folder, may not be written. */
export function isUnwritable(error: unknown): boolean {
  return /^(?:SQLITE_(?:READONLY|CANTOPEN)|EACCES|EPERM|EROFS)/.test(databaseErrorCode(error));
}

/** libsql (the SQLite library) is not installed or cannot be loaded. */
class LibraryMissing extends Error {}

/** The database file itself is then not damaged. */
export function isLibraryMissing(error: unknown): boolean {
  return error instanceof LibraryMissing || (error instanceof Error && error.cause instanceof LibraryMissing);
}

/** libsql's native module is missing if the package was installed for a different platform or without optional packages. */
export function loadLibrary(): typeof Database {
  try {
    return createRequire(import.meta.url)('libsql');
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new LibraryMissing(`its library libsql cannot be loaded here: ${reason}`, { cause: error });
  }
}

/** If libsql fails, its error contains only a number. The file is then opened once more without libsql, to get the system's message. */
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
    // Another process may have created the tables since the check above.
    if (hasTables(database, version)) return;
    database.exec(schema);
    database.exec(`PRAGMA user_version = ${version}`);
  });
}

/** False for a new file. Throws an Error if the tables have a different version. */
function hasTables(database: Database.Database, version: number): boolean {
  const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  if (found > version) throw new Error('it was made by a newer version of automate');
  if (found !== 0 && found < version) throw new Error('it was made by an older version of automate, which this version cannot read');
  return found === version;
}

/** If `act` throws, the write transaction is rolled back. */
export function inTransaction<Result>(database: Database.Database, act: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = act();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // If the disk is full, SQLite has already ended the transaction. libsql's own function `transaction` is not used, because it would then
    // fail and hide the original error.
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Retries until `untilMs`: two processes that open a new file may block each other, and SQLite's own timeout does not apply here. */
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

/** True if another process had locked the database for too long. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(databaseErrorCode(error));
}

/** True if the file is damaged or is not a database of automate. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB|FORMAT|ERROR|CONSTRAINT|MISMATCH)/.test(databaseErrorCode(error));
}

function databaseErrorCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** Deletes the write-ahead log first. If it were left over, SQLite could mistake it for the log of a new database at the path. */
export function deleteDatabase(path: string): void {
  for (const end of ['-wal', '-shm', '']) rmSync(path + end, { force: true });
}
