import { join } from 'node:path';
import type Database from 'libsql';
import { AutomateError } from '../../core/failure.ts';
import { inTransaction, isDamaged, openDatabase } from '../files/database.ts';
import { namingErrors } from '../files/naming-errors.ts';

/** The tables of `serve.db`. */
const tables = [
  `keys (
    id text primary key, name text not null, scopes text not null, flows text, rate text not null, credits real,
    created_at integer not null, expires_at integer, revoked_at integer, stops_runs integer not null default 0
  ) without rowid`,
  // A key has one value. After a rotation, older values live on for the overlap.
  `key_values (
    hash text primary key, key text not null, start text not null, created_at integer not null, ends_at integer
  ) without rowid`,
  `usage (
    key text not null, day text not null, requests integer not null, refused integer not null, records integer not null,
    credits real not null, last_used_at integer, primary key (key, day)
  ) without rowid`,
  // The answers that a repeated request gets. The status is null while the first request is under way.
  `idempotency (
    key text not null, name text not null, flow text not null, kind text not null, hash text not null, status integer,
    type text not null, body text not null, at integer not null, primary key (key, name, flow)
  ) without rowid`,
  `webhooks (
    name text primary key, url text not null, flows text, allows_private integer not null, created_at integer not null, is_off integer not null
  ) without rowid`,
  // The time of the next attempt is null once a message is delivered or given up.
  `deliveries (
    webhook text not null, id text not null, body text not null, created_at integer not null, attempts integer not null,
    next_at integer, attempted_at integer, outcome text, primary key (webhook, id)
  ) without rowid`,
  `audit (
    id integer primary key autoincrement, at integer not null, who text not null, what text not null, target text not null,
    address text not null, outcome text not null
  )`,
];

const indexes = ['audit_by_time on audit (at)'];

/** The version of the tables. */
const version = 2;

/** Longest wait for another process's transaction. */
const timeoutMs = 10_000;

/** The path of the server's database in a home folder. */
export function serverDatabasePath(home: string): string {
  return join(home, 'serve.db');
}

/**
 * The database of the server: keys, usage, audit. Commands use it as well, even while a server runs.
 * Every method throws an AutomateError (`output`) if the file cannot be used.
 */
export class ServerDatabase {
  readonly path: string;
  readonly #database: Database.Database;
  /** Transactions of this process. */
  #written = 0;

  /** Opens the database of a home folder; creates it if there is none. */
  constructor(home: string) {
    this.path = serverDatabasePath(home);
    const schema = [
      ...tables.map((table) => `create table if not exists ${table};`),
      ...indexes.map((index) => `create index if not exists ${index};`),
    ];
    this.#database = this.#naming(() => openDatabase(this.path, { schema: schema.join('\n'), version, timeoutMs }));
    // Without the table of the audit, for example, a server would accept keys and record nothing.
    const names = tables.map((table) => table.split(' ')[0]);
    this.read((database) => database.prepare(`select 1 from ${names.join(', ')} limit 0`).all());
  }

  /** Reads from the database. Errors name the file. */
  read<Result>(act: (database: Database.Database) => Result): Result {
    return this.#naming(() => act(this.#database));
  }

  /** Writes in a transaction: all of it or nothing. */
  write<Result>(act: (database: Database.Database) => Result): Result {
    this.#written++;
    return this.#naming(() => inTransaction(this.#database, () => act(this.#database)));
  }

  /** Writes in a transaction that a power failure cannot undo. */
  writeDurably<Result>(act: (database: Database.Database) => Result): Result {
    this.read((database) => database.exec('PRAGMA synchronous = FULL'));
    try {
      return this.write(act);
    } finally {
      this.read((database) => database.exec('PRAGMA synchronous = NORMAL'));
    }
  }

  /** A text that differs after every transaction, by this process or another. */
  state(): string {
    const row = this.read((database) => database.prepare('PRAGMA data_version').get()) as { data_version: number };
    return `${row.data_version} ${this.#written}`;
  }

  close(): void {
    this.#database.close();
  }

  #naming<Result>(act: () => Result): Result {
    try {
      return namingErrors(`the server's database ${this.path}`, 'used', act);
    } catch (error) {
      const { message, cause } = error as AutomateError;
      if (!isDamaged(cause) && !(cause instanceof SyntaxError)) throw error;
      const advice = 'stop the server, then put a backup of the file in its place, or move it away with its -wal and -shm files';
      throw new AutomateError('output', `${message}\n${advice}\nwithout it there is no API key: make new ones with automate keys create`, {
        cause,
      });
    }
  }
}
