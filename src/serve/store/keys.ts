import { existsSync } from 'node:fs';
import type Database from 'libsql';
import { AutomateError, usageError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { type ApiKey, type KeyChanges, type KeySettings, keyState, type Scope } from './api-key.ts';
import { type Actor, addAuditEntry, commandActor } from './audit.ts';
import { type ServerDatabase, serverDatabasePath, withServerDatabase } from './database.ts';
import { keyHash, keyStart, newKeyId, newKeyValue, withoutKeys } from './key-value.ts';

/** The secret value is not stored, so it is known only now. */
export interface MadeKey {
  readonly key: ApiKey;
  readonly value: string;
}

/** The hash of a secret value of an API key that is not revoked. A key has several values after a rotation. */
export interface KeyValue {
  readonly hash: string;
  readonly key: ApiKey;
  /** Time at which a replaced value expires, in wall-clock ms. It is undefined for the key's current value. */
  readonly endsAtMs: number | undefined;
}

interface RevokeOptions {
  /** True if the runs that were started with the key are to be stopped, too. */
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

/** Each change and its audit entry share a transaction. Methods throw an AutomateError (`output`) if the database cannot be used. */
export class KeyStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Creates an API key. Throws an AutomateError (`usage`) if an active key already has this name. */
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

  /** Returns all API keys, including expired and revoked ones, with the oldest first. */
  list(): ApiKey[] {
    return this.database.read(readKeys);
  }

  /** If several keys have the name, prefers the active, then the newest one. Throws an AutomateError (`usage`) if there is no such key. */
  find(nameOrId: string): ApiKey {
    return this.database.read((database) => findKey(database, nameOrId, this.wallNow()));
  }

  /** Earlier values expire after `overlapMs`, or sooner. Throws an AutomateError (`usage`) if the key does not exist or is not active. */
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

  /** A later expiry can reactivate a key. Throws an AutomateError (`usage`) if it stays inactive, or an active key has its name. */
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

  /** Permanent. `isNew` is false if the key had already been revoked. Throws an AutomateError (`usage`) if there is no such key. */
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

  /** Returns the hashes of all values of API keys that are not revoked, even if the keys or values have expired. */
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

/** Keyed by id. Empty if the server's database does not exist or cannot be read. */
export function readKeyNames(home: string): Map<string, string> {
  const keys = existsSync(serverDatabasePath(home))
    ? orUndefined(() => withServerDatabase(home, (database) => database.read(readKeys)))
    : [];
  return new Map((keys ?? []).map(({ id, name }) => [id, name]));
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

/** Reads the values of all API keys. The current values come first. The replaced values follow, with the newest first. */
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

export function noKey(nameOrId: string): AutomateError {
  return new AutomateError('usage', `there is no key "${withoutKeys(nameOrId)}"`, { code: 'key-missing', details: {} });
}

function living(key: ApiKey, now: number): ApiKey {
  const state = keyState(key, now);
  if (state === 'living') return key;
  throw usageError(`the key "${key.name}" is ${state}\nmake a new one: automate keys create NAME`);
}

function nameTaken({ name, start }: ApiKey): AutomateError {
  return usageError(`there is a key "${name}" already (${start}…)\nrotate it, revoke it first, or choose another name`);
}
