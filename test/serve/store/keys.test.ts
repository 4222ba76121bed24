import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { AutomateError } from '../../../src/core/failure.ts';
import { keyState, rateOf } from '../../../src/serve/store/api-key.ts';
import { keyHash } from '../../../src/serve/store/key-value.ts';
import { KeyStore } from '../../../src/serve/store/keys.ts';
import { keyStore, noon, serverDatabase, serverHome, settings } from '../../helpers/server-keys.ts';

const dayMs = 86_400_000;

test('an API key is stored with its settings, but only with the hash and the first characters of its value', () => {
  const { store, home } = keyStore();
  const set = settings({ scopes: ['run', 'read'], flows: ['a', 'b'], rate: '5/s', quota: 0.5, expiresAtMs: noon + 1 });
  const { key, value } = store.create(set);
  expect(store.find('crm')).toEqual(key);
  expect(key).toEqual({
    ...set,
    id: expect.stringMatching(/^key_/),
    start: value.slice(0, 8),
    createdAtMs: noon,
    revokedAtMs: undefined,
    stopsRuns: false,
    replaced: [],
  });
  const bytes = ['serve.db', 'serve.db-wal'].map((name) => readFileSync(join(home, name), 'latin1')).join('');
  expect([bytes.includes(value.slice(4, 20)), bytes.includes(keyHash(value))]).toEqual([false, true]);
});

test('the files that store API keys are readable only by their owner', () => {
  const { home, store } = keyStore();
  store.create(settings());
  for (const file of ['serve.db', 'serve.db-wal', 'serve.db-shm'])
    expect([file, statSync(join(home, file)).mode & 0o777]).toEqual([file, 0o600]);
});

test('a name belongs to only one active API key, and can be reused once that key is revoked or expired', () => {
  const { store, clock } = keyStore();
  const first = store.create(settings({ expiresAtMs: noon + dayMs })).key;
  expect(() => store.create(settings())).toThrow(/^there is a key "crm" already \(amk_....…\)\nrotate it/);
  clock.pass(dayMs);
  const second = store.create(settings()).key;
  store.revoke('crm', { stopRuns: false });
  const third = store.create(settings()).key;
  expect(store.list().map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, second.id, third.id]));
  expect([store.find('crm').id, store.find(first.id).id]).toEqual([third.id, first.id]);
});

test('if several revoked or expired API keys have the same name, the newest is found', () => {
  const { store, clock } = keyStore();
  store.create(settings());
  store.revoke('crm', { stopRuns: false });
  clock.pass(1);
  const newest = store.create(settings()).key;
  store.revoke('crm', { stopRuns: false });
  expect(store.find('crm').id).toBe(newest.id);
});

test('an unknown API key is a usage error', () => {
  const { store } = keyStore();
  for (const act of [() => store.find('x'), () => store.rotate('x', 0), () => store.revoke('x', { stopRuns: false })]) {
    expect(act).toThrow(expect.objectContaining({ kind: 'usage', message: 'there is no key "x"', code: 'key-missing' }));
  }
});

test('rotating an API key keeps its name and id, and its old value stays valid until the overlap ends', () => {
  const { store, clock } = keyStore();
  const first = store.create(settings());
  const second = store.rotate('crm', dayMs);
  clock.pass(1000);
  const third = store.rotate('crm', 7 * dayMs);
  expect([second.key.id, third.key.id]).toEqual([first.key.id, first.key.id]);
  expect(new Set([first, second, third].map(({ value }) => value)).size).toBe(3);
  const ends = new Map(store.values().map(({ hash, endsAtMs }) => [hash, endsAtMs]));
  expect([first, second, third].map(({ value }) => ends.get(keyHash(value)))).toEqual([noon + dayMs, noon + 1000 + 7 * dayMs, undefined]);
  expect(third.key).toMatchObject({
    start: third.value.slice(0, 8),
    replaced: [
      { start: second.value.slice(0, 8), endsAtMs: noon + 1000 + 7 * dayMs },
      { start: first.value.slice(0, 8), endsAtMs: noon + dayMs },
    ],
  });
});

test('rotating an API key without an overlap ends all older values at once', () => {
  const { store } = keyStore();
  store.create(settings());
  store.rotate('crm', dayMs);
  store.rotate('crm', 0);
  expect(store.values().map(({ endsAtMs }) => endsAtMs)).toEqual([undefined, noon, noon]);
});

test('a revoked or expired API key cannot be rotated', () => {
  const { store, clock } = keyStore();
  store.create(settings({ expiresAtMs: noon + 1 }));
  clock.pass(1);
  expect(() => store.rotate('crm', 0)).toThrow(/^the key "crm" is expired\n/);
  store.revoke('crm', { stopRuns: false });
  expect(() => store.rotate('crm', 0)).toThrow(/^the key "crm" is revoked\n/);
});

test('a revoked API key is no longer accepted, and keeps the time at which it was first revoked', () => {
  const { store, clock } = keyStore();
  store.create(settings());
  expect(store.revoke('crm', { stopRuns: false })).toMatchObject({ isNew: true, key: { revokedAtMs: noon, stopsRuns: false } });
  expect(store.values()).toEqual([]);
  clock.pass(5);
  expect(store.revoke('crm', { stopRuns: true })).toMatchObject({ isNew: false, key: { revokedAtMs: noon, stopsRuns: true } });
  expect(store.revoke('crm', { stopRuns: false }).key.stopsRuns).toBe(true);
});

test('an API key expires when the system clock reaches its expiry time', () => {
  const key = { revokedAtMs: undefined, expiresAtMs: noon };
  expect([keyState(key, noon - 1), keyState(key, noon), keyState({ ...key, revokedAtMs: 1 }, 0)]).toEqual(['living', 'expired', 'revoked']);
});

test.each([
  ['600/min', { requests: 600, windowMs: 60_000 }],
  ['1/s', { requests: 1, windowMs: 1000 }],
  ['5000/h', { requests: 5000, windowMs: 3_600_000 }],
  ['1000000/d', { requests: 1_000_000, windowMs: dayMs }],
  ['0/s', undefined],
  ['0.5/s', undefined],
  ['1000001/s', undefined],
  ['600', undefined],
  ['600/month', undefined],
  ['-1/s', undefined],
])('the rate %s of an API key is parsed as %o', (written, rate) => {
  expect(rateOf(written)).toEqual(rate);
});

test('any change to the database of API keys, by this or a different process, is noticed', () => {
  const { store, database, home, clock } = keyStore();
  const other = new KeyStore(serverDatabase(home), clock.wallNow);
  const states = [database.state()];
  expect(database.state()).toBe(states[0]);
  other.create(settings());
  states.push(database.state());
  store.create(settings({ name: 'shop' }));
  states.push(database.state());
  expect(new Set(states).size).toBe(3);
});

test('if two processes create an API key with the same name, only one succeeds', () => {
  const { store, home, clock } = keyStore();
  const other = new KeyStore(serverDatabase(home), clock.wallNow);
  store.create(settings());
  expect(() => other.create(settings())).toThrow('there is a key "crm" already');
});

test.each([
  ['is no database', (path: string) => writeFileSync(path, 'x'.repeat(5000))],
  ['lacks a table', (path: string) => inDatabase(path, 'drop table key_values')],
  ['has an unreadable value', (path: string) => inDatabase(path, "update keys set scopes = '{'")],
])('if the database of API keys %s, no key is accepted, and the error advises to restore a backup', (name, spoil) => {
  const home = serverHome();
  if (name !== 'is no database') new KeyStore(serverDatabase(home), () => noon).create(settings());
  spoil(join(home, 'serve.db'));
  const error = thrownBy(() => new KeyStore(serverDatabase(home), () => noon).values());
  expect(error).toBeInstanceOf(AutomateError);
  expect((error as AutomateError).kind).toBe('output');
  expect((error as AutomateError).message).toMatch(
    /^the server's database \S+serve\.db cannot be used: .+\nstop the server, then put a backup/,
  );
});

test('a database of API keys from a newer version of automate is not changed', () => {
  const home = serverHome();
  serverDatabase(home);
  inDatabase(join(home, 'serve.db'), 'PRAGMA user_version = 99');
  expect(() => serverDatabase(home)).toThrow(/serve\.db cannot be used: it was made by a newer version of automate$/);
});

function inDatabase(path: string, sql: string): void {
  const database = new Database(path);
  database.exec(sql);
  database.close();
}

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
