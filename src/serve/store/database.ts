import { join } from 'node:path';
import type Database from 'libsql';
import { AutomateError } from '../../core/failure.ts';
import { inTransaction, isDamaged, openDatabase } from '../../files/database.ts';
import { namingErrors } from '../../files/naming-errors.ts';

const tables = [
  `keys (
    id text primary key, name text not null, scopes text not null, flows text, rate text not null, credits real,
    created_at integer not null, expires_at integer, revoked_at integer, stops_runs integer not null default 0
  ) without rowid`,
  // Each API key has one current value. Values that were replaced by a rotation stay valid for a while.
  `key_values (
    hash text primary key, key text not null, start text not null, created_at integer not null, ends_at integer
  ) without rowid`,
  `usage (
    key text not null, day text not null, requests integer not null, refused integer not null, records integer not null,
    credits real not null, last_used_at integer, primary key (key, day)
  ) without rowid`,
  // Responses to requests with an idempotency key. If the request is repeated, the stored response is sent again. The status is null while
  // the first request is being processed.
  `idempotency (
    key text not null, name text not null, flow text not null, kind text not null, hash text not null, status integer,
    type text not null, body text not null, at integer not null, primary key (key, name, flow)
  ) without rowid`,
  `webhooks (
    name text primary key, url text not null, flows text, allows_private integer not null, created_at integer not null, is_off integer not null
  ) without rowid`,
  // `next_at` is null after a message was delivered or after the last attempt has failed.
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

/** Increases when the tables change. */
const version = 2;

/** Maximum wait in ms for another process's transaction to end. */
const timeoutMs = 10_000;

export function serverDatabasePath(home: string): string {
  return join(home, 'serve.db');
}

/** Creates the database of a home folder if there is none. */
export function withServerDatabase<Result>(home: string, act: (database: ServerDatabase) => Result): Result {
  const database = new ServerDatabase(home);
  try {
    return act(database);
  } finally {
    database.close();
  }
}

/**
 * The server's database, which contains API keys, usage, webhooks and the audit log. Commands also use it, even while a server is running.
 * Every method throws an AutomateError (`output`) if the database cannot be used.
 */
export class ServerDatabase {
  readonly path: string;
  readonly #database: Database.Database;
  #written = 0;

  constructor(home: string) {
    this.path = serverDatabasePath(home);
    const schema = [
      ...tables.map((table) => `create table if not exists ${table};`),
      ...indexes.map((index) => `create index if not exists ${index};`),
    ];
    this.#database = this.#naming(() => openDatabase(this.path, { schema: schema.join('\n'), version, timeoutMs }));
    // This query fails if a table is missing. Without it, a server without the audit table, for example, would accept keys but log nothing.
    const names = tables.map((table) => table.split(' ')[0]);
    this.read((database) => database.prepare(`select 1 from ${names.join(', ')} limit 0`).all());
  }

  /** Error messages contain the name of the database file. */
  read<Result>(act: (database: Database.Database) => Result): Result {
    return this.#naming(() => act(this.#database));
  }

  /** Calls `act` in a transaction. If `act` throws, all its changes are undone. */
  write<Result>(act: (database: Database.Database) => Result): Result {
    this.#written++;
    return this.#naming(() => inTransaction(this.#database, () => act(this.#database)));
  }

  /** The changes are kept even if the power fails right afterwards. */
  writeDurably<Result>(act: (database: Database.Database) => Result): Result {
    this.read((database) => database.exec('PRAGMA synchronous = FULL'));
    try {
      return this.write(act);
    } finally {
      this.read((database) => database.exec('PRAGMA synchronous = NORMAL'));
    }
  }

  /** Changes with every write transaction of any process. Cached data is then out of date. */
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
      throw new AutomateError(
        'output',
        `${message}\n${advice}\nwithout the database, no API key is valid: make new ones with automate keys create`,
        {
          cause,
        },
      );
    }
  }
}
