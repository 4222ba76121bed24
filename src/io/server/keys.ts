import { existsSync } from 'node:fs';
import type Database from 'libsql';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { type ApiKey, type KeyChanges, type KeySettings, keyState, type Scope } from './api-key.ts';
import { type Actor, addAuditEntry, commandActor } from './audit.ts';
import { ServerDatabase, serverDatabasePath } from './database.ts';
import { keyHash, keyStart, newKeyId, newKeyValue, withoutKeys } from './key-value.ts';

/** A new or rotated key, with its value, which is not stored. */
export interface MadeKey {
  readonly key: ApiKey;
  readonly value: string;
}

/** The hash of a value of a key that is not revoked. */
export interface KeyValue {
  readonly hash: string;
  readonly key: ApiKey;
  /** Wall time at which a replaced value ends; undefined for the present value. */
  readonly endsAtMs: number | undefined;
}

interface RevokeOptions {
  /** True if the runs that the key has begun must stop as well. */
  readonly stopRuns: boolean;
  readonly by?: Actor;
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: string;
  readonly flows: string | null;
  readonly rate: string;
  readonly credits: number | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly stops_runs: number;
}

interface ValueRow {
  readonly hash: string;
  readonly key: string;
  readonly start: string;
  readonly ends_at: number | null;
}

/** The keys in the server's database. Every change is one transaction with its entry in the audit. Throws an AutomateError: `usage` for a name, `output` for the file. */
export class KeyStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Makes a key. Throws if a living key has the name. */
  create(settings: KeySettings, by: Actor = commandActor): MadeKey {
    const { name, scopes, flows, rate, quota, expiresAtMs } = settings;
    const [id, value, now] = [newKeyId(), newKeyValue(), this.wallNow()];
    return this.database.writeDurably((database) => {
      const other = readKeys(database).find((key) => key.name === name && keyState(key, now) === 'living');
      if (other) throw nameTaken(other);
      database
        .prepare('insert into keys (id, name, scopes, flows, rate, credits, created_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?)')
        .run(id, name, JSON.stringify(scopes), flows ? JSON.stringify(flows) : null, rate, quota ?? null, now, expiresAtMs ?? null);
      addValue(database, { id, value, now });
      addAuditEntry(database, { ...by, what: 'key.create', target: id, outcome: 'ok' }, now);
      return { key: keyIn(database, id), value };
    });
  }

  /** All keys, the oldest first. */
  list(): ApiKey[] {
    return this.database.read(readKeys);
  }

  /** Returns the key with a name or an id: the living key, else the newest. Throws if there is none. */
  find(nameOrId: string): ApiKey {
    return this.database.read((database) => findKey(database, nameOrId, this.wallNow()));
  }

  /** Gives a living key a new value. Its older values end after `overlapMs`, or earlier if they already had an end. */
  rotate(nameOrId: string, overlapMs: number, by: Actor = commandActor): MadeKey {
    const [value, now] = [newKeyValue(), this.wallNow()];
    return this.database.writeDurably((database) => {
      const { id } = living(findKey(database, nameOrId, now), now);
      const end = database.prepare('update key_values set ends_at = ? where key = ? and (ends_at is null or ends_at > ?)');
      end.run(now + overlapMs, id, now + overlapMs);
      addValue(database, { id, value, now });
      addAuditEntry(database, { ...by, what: 'key.rotate', target: id, outcome: 'ok' }, now);
      return { key: keyIn(database, id), value };
    });
  }

  /** Changes the limits of a key that is not revoked; a new expiry revives an expired key. Throws if a living key has taken its name. */
  change(nameOrId: string, changes: KeyChanges, by: Actor = commandActor): ApiKey {
    const now = this.wallNow();
    return this.database.writeDurably((database) => {
      const found = findKey(database, nameOrId, now);
      const { id, name, flows, rate, quota, expiresAtMs } = living({ ...found, ...changes }, now);
      const other = readKeys(database).find((key) => key.id !== id && key.name === name && keyState(key, now) === 'living');
      if (other) throw nameTaken(other);
      const change = database.prepare('update keys set flows = ?, rate = ?, credits = ?, expires_at = ? where id = ?');
      change.run(flows ? JSON.stringify(flows) : null, rate, quota ?? null, expiresAtMs ?? null, id);
      addAuditEntry(database, { ...by, what: 'key.change', target: id, outcome: 'ok' }, now);
      return keyIn(database, id);
    });
  }

  /** Ends a key for good. `isNew`: false if it was revoked before. */
  revoke(nameOrId: string, { stopRuns, by = commandActor }: RevokeOptions): { readonly key: ApiKey; readonly isNew: boolean } {
    const now = this.wallNow();
    return this.database.writeDurably((database) => {
      const { id, revokedAtMs } = findKey(database, nameOrId, now);
      const end = database.prepare('update keys set revoked_at = coalesce(revoked_at, ?), stops_runs = max(stops_runs, ?) where id = ?');
      end.run(now, stopRuns ? 1 : 0, id);
      addAuditEntry(database, { ...by, what: 'key.revoke', target: id, outcome: 'ok' }, now);
      return { key: keyIn(database, id), isNew: revokedAtMs === undefined };
    });
  }

  /** The values of all keys that are not revoked, even of expired keys. */
  values(): KeyValue[] {
    return this.database.read((database) => {
      const keys = new Map(readKeys(database).map((key) => [key.id, key]));
      return readValues(database).flatMap(({ hash, key: id, ends_at }) => {
        const key = keys.get(id);
        return key && key.revokedAtMs === undefined ? [{ hash, key, endsAtMs: ends_at ?? undefined }] : [];
      });
    });
  }
}

/** The names of a home's keys by their ids. Empty if there is no database, or it cannot be read. */
export function readKeyNames(home: string): Map<string, string> {
  const keys = existsSync(serverDatabasePath(home)) ? orUndefined(() => listIn(home)) : [];
  return new Map((keys ?? []).map(({ id, name }) => [id, name]));
}

function listIn(home: string): ApiKey[] {
  const database = new ServerDatabase(home);
  try {
    return database.read(readKeys);
  } finally {
    database.close();
  }
}

function addValue(database: Database.Database, { id, value, now }: { id: string; value: string; now: number }): void {
  database
    .prepare('insert into key_values (hash, key, start, created_at) values (?, ?, ?, ?)')
    .run(keyHash(value), id, keyStart(value), now);
}

function readKeys(database: Database.Database): ApiKey[] {
  const values = new Map<string, ValueRow[]>();
  for (const value of readValues(database)) values.set(value.key, [...(values.get(value.key) ?? []), value]);
  const rows = database.prepare('select * from keys order by created_at, name').all() as KeyRow[];
  return rows.map((row) => apiKeyOf(row, values.get(row.id) ?? []));
}

/** Reads all values: the present values first, then replaced values, newest first. */
function readValues(database: Database.Database): ValueRow[] {
  return database
    .prepare('select hash, key, start, ends_at from key_values order by ends_at is not null, created_at desc, ends_at desc')
    .all() as ValueRow[];
}

function apiKeyOf(row: KeyRow, values: readonly ValueRow[]): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scopes: JSON.parse(row.scopes) as Scope[],
    flows: row.flows === null ? undefined : (JSON.parse(row.flows) as string[]),
    rate: row.rate,
    quota: row.credits ?? undefined,
    expiresAtMs: row.expires_at ?? undefined,
    start: values[0]?.start ?? '',
    createdAtMs: row.created_at,
    revokedAtMs: row.revoked_at ?? undefined,
    stopsRuns: row.stops_runs === 1,
    replaced: values.flatMap(({ start, ends_at }) => (ends_at === null ? [] : [{ start, endsAtMs: ends_at }])),
  };
}

function keyIn(database: Database.Database, id: string): ApiKey {
  return readKeys(database).find((key) => key.id === id) as ApiKey;
}

function findKey(database: Database.Database, nameOrId: string, now: number): ApiKey {
  const keys = readKeys(database).reverse();
  const named = keys.filter(({ name }) => name === nameOrId);
  const found = named.find((key) => keyState(key, now) === 'living') ?? keys.find(({ id }) => id === nameOrId) ?? named[0];
  if (found) return found;
  throw noKey(nameOrId);
}

/** The error for a key that does not exist. */
export function noKey(nameOrId: string): AutomateError {
  return new AutomateError('usage', `there is no key "${withoutKeys(nameOrId)}"`, { code: 'key-missing', details: {} });
}

function living(key: ApiKey, now: number): ApiKey {
  const state = keyState(key, now);
  if (state === 'living') return key;
  throw new AutomateError('usage', `the key "${key.name}" is ${state}\nmake a new one: automate keys create NAME`);
}

function nameTaken({ name, start }: ApiKey): AutomateError {
  return new AutomateError('usage', `there is a key "${name}" already (${start}…)\nrotate it, revoke it first, or take another name`);
}
