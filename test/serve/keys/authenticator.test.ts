import Database from 'libsql';
import { describe, expect, test } from 'vitest';
import { newKeyValue } from '../../../src/io/server/key-value.ts';
import type { KeyRequest } from '../../../src/serve/keys/authenticator.ts';
import { openServerKeys } from '../../../src/serve/keys/server-keys.ts';
import { keyStore, noon, settings } from '../../helpers/server-keys.ts';

/** The keys of a server with the key `crm`, and a second process on the same database. */
function server(more: Parameters<typeof settings>[0] = {}) {
  const { home, clock, database } = keyStore();
  const { store: elsewhere } = keyStore(home, clock);
  const warnings: unknown[] = [];
  const keys = openServerKeys(database, clock, (error) => warnings.push(error));
  const made = elsewhere.create(settings(more));
  const ask = (request: Partial<KeyRequest>) => {
    const found = keys.authenticator.authenticate({ query: '', address: '127.0.0.1', ...request });
    return 'key' in found ? found.key.name : found.refusal.problem;
  };
  const bearer = (value = made.value) => ask({ authorization: `Bearer ${value}` });
  return { ...made, keys, elsewhere, clock, ask, bearer, warnings, database };
}

describe('a request is let in', () => {
  test.each<[string, (value: string) => Partial<KeyRequest>]>([
    ['a bearer', (value) => ({ authorization: `Bearer ${value}` })],
    ['a bearer in other letters', (value) => ({ authorization: `bearer  ${value} ` })],
    ['X-API-Key', (value) => ({ xApiKey: value })],
    ['X-API-Key beside another scheme', (value) => ({ authorization: 'Basic YTpi', xApiKey: value })],
    ['a query without a key', (value) => ({ xApiKey: value, query: 'key=key_1&limit=5' })],
  ])('with %s', (_, request) => {
    const { ask, value } = server();
    expect(ask(request(value))).toBe('crm');
  });
});

describe('a request is refused', () => {
  test.each<[string, (value: string) => Partial<KeyRequest>, string]>([
    ['without a key', () => ({}), 'key-missing'],
    ['with an empty one', () => ({ authorization: 'Bearer ', xApiKey: ' ' }), 'key-missing'],
    ['with another scheme alone', () => ({ authorization: 'Basic YTpi' }), 'key-missing'],
    ['with both headers', (value) => ({ authorization: `Bearer ${value}`, xApiKey: value }), 'bad-request'],
    ['with a key in the query', (value) => ({ query: `x=${value}` }), 'key-in-query'],
    ['with a key in the query beside a valid header', (value) => ({ query: `a=1&x=${value}`, xApiKey: value }), 'key-in-query'],
    ['with an escaped key in the query', (value) => ({ query: `x=${value.replace('_', '%5f')}` }), 'key-in-query'],
    ['with a bearer in the query', (value) => ({ query: `authorization=Bearer+${value}` }), 'key-in-query'],
    ['with a key as the name of a parameter', (value) => ({ query: value }), 'key-in-query'],
    ['with an unknown key', () => ({ xApiKey: newKeyValue() }), 'key-invalid'],
    ['with a malformed key', (value) => ({ xApiKey: `${value}x` }), 'key-invalid'],
    ['with two keys in one header', (value) => ({ xApiKey: `${value}, ${value}` }), 'key-invalid'],
  ])('%s', (_, request, problem) => {
    const { ask, value } = server();
    expect(ask(request(value))).toBe(problem);
  });

  test('with a key that has expired, also after the clock was set', () => {
    const { bearer, clock } = server({ expiresAtMs: noon + 5000 });
    clock.wallMs = noon + 4999;
    expect(bearer()).toBe('crm');
    clock.wallMs = noon + 5000;
    expect(bearer()).toBe('key-expired');
    clock.wallMs = noon;
    expect(bearer()).toBe('crm');
  });

  test('with a replaced value after its overlap', () => {
    const { bearer, clock, elsewhere, value } = server();
    const { value: next } = elsewhere.rotate('crm', 10_000);
    clock.pass(9999);
    expect([bearer(value), bearer(next)]).toEqual(['crm', 'crm']);
    clock.pass(1);
    expect([bearer(value), bearer(next)]).toEqual(['key-invalid', 'crm']);
  });

  test('within 1 s after another process has revoked the key, and let in with a new one', () => {
    const { bearer, clock, elsewhere } = server();
    expect(bearer()).toBe('crm');
    elsewhere.revoke('crm', { stopRuns: false });
    const other = elsewhere.create(settings({ name: 'shop' }));
    clock.pass(999);
    expect([bearer(), bearer(other.value)]).toEqual(['key-invalid', 'shop']);
  });

  test('after the own process has revoked the key', () => {
    const { bearer, keys, clock } = server();
    expect(bearer()).toBe('crm');
    keys.store.revoke('crm', { stopRuns: false });
    clock.pass(250);
    expect(bearer()).toBe('key-invalid');
  });

  test('with an error if a table is gone: no key is let in', () => {
    const { bearer, clock, database } = server();
    expect(bearer()).toBe('crm');
    const other = new Database(database.path);
    other.exec('drop table keys');
    other.close();
    clock.pass(1000);
    for (let time = 0; time < 2; time++) expect(() => bearer()).toThrow(/cannot be used: no such table/);
  });
});

describe('failed attempts', () => {
  const refusals = ({ keys }: ReturnType<typeof server>, times: number, address = '10.0.0.1') =>
    Array.from({ length: times }, () => {
      const found = keys.authenticator.authenticate({ xApiKey: 'wrong', query: '', address });
      return 'refusal' in found ? found.refusal : undefined;
    });

  test('are answered with 401 for 19 of a minute, then with 429, while a valid key always passes', () => {
    const here = server();
    const found = refusals(here, 21);
    expect(found.slice(0, 19).every((refusal) => refusal?.problem === 'key-invalid')).toBe(true);
    here.clock.pass(15_500);
    expect(refusals(here, 1)).toEqual([{ problem: 'rate-limited', detail: expect.any(String), retryAfterS: 45 }]);
    expect(found.slice(19)).toEqual([1, 2].map(() => ({ problem: 'rate-limited', detail: expect.any(String), retryAfterS: 60 })));
    expect(here.ask({ xApiKey: here.value, address: '10.0.0.1' })).toBe('crm');
    here.clock.pass(44_500);
    expect(refusals(here, 1)[0]?.problem).toBe('key-invalid');
  });

  test('are counted by address, those of a clock set back too', () => {
    const here = server();
    refusals(here, 30);
    expect(refusals(here, 1, '10.0.0.2')[0]?.problem).toBe('key-invalid');
    here.clock.wallMs -= 86_400_000;
    expect(refusals(here, 1)[0]?.problem).toBe('rate-limited');
  });

  test('of an IPv6 network count together, those of an IPv4 address in either form too', () => {
    const here = server();
    for (let host = 0; host < 19; host++) refusals(here, 1, `2001:db8:1:2:3::${host.toString(16)}`);
    expect(refusals(here, 1, '2001:db8:1:2::9')[0]?.problem).toBe('rate-limited');
    expect(refusals(here, 1, '2001:db8:1:3::9')[0]?.problem).toBe('key-invalid');
    refusals(here, 19, '10.9.9.9');
    expect(refusals(here, 1, '::ffff:10.9.9.9')[0]?.problem).toBe('rate-limited');
  });

  test('of expired keys count, but a missing key is no attempt', () => {
    const here = server({ expiresAtMs: noon });
    expect(Array.from({ length: 20 }, () => here.bearer()).slice(18)).toEqual(['key-expired', 'rate-limited']);
    expect(Array.from({ length: 30 }, () => here.ask({ address: '10.0.0.3' })).at(-1)).toBe('key-missing');
  });

  test('are in the audit with one line a minute and address', () => {
    const here = server({ expiresAtMs: noon });
    refusals(here, 50);
    refusals(here, 2, '10.0.0.2');
    here.ask({ xApiKey: here.value, address: '10.0.0.3' });
    here.clock.pass(60_000);
    refusals(here, 2);
    const line = { what: 'key.refused', who: '', target: '', outcome: 'key-invalid' };
    expect(here.keys.audit.read({ limit: 10 }).filter(({ what }) => what === 'key.refused')).toMatchObject([
      { ...line, address: '10.0.0.1', atMs: noon + 60_000 },
      { ...line, address: '10.0.0.3', who: here.key.id, target: here.key.id, outcome: 'key-expired' },
      { ...line, address: '10.0.0.2' },
      { ...line, address: '10.0.0.1', atMs: noon },
    ]);
  });

  test('are refused all the same if the audit cannot be written', () => {
    const here = server();
    here.keys.directory.refresh();
    const other = new Database(here.database.path);
    other.exec('drop table audit');
    other.close();
    expect([refusals(here, 1)[0]?.problem, here.warnings.length]).toEqual(['key-invalid', 1]);
  });

  test('of many addresses need bounded memory', () => {
    const here = server();
    const { failures } = here.keys.authenticator.options;
    for (let n = 0; n < 20; n++) failures.add('10.0.0.1');
    for (let n = 0; n < 10_000; n++) failures.add(`address ${n}`);
    // The oldest one is forgotten.
    expect(failures.add('10.0.0.1')).toEqual({ isFirst: true, retryAfterS: undefined });
  });
});

describe('the directory', () => {
  test('tells living keys, and revoked ones whose runs have to stop', () => {
    const { keys, elsewhere, key, clock } = server();
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving(), keys.directory.stoppedKeys()]).toEqual([true, true, []]);
    elsewhere.revoke('crm', { stopRuns: true });
    clock.pass(999);
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving(), keys.directory.stoppedKeys()]).toEqual([false, false, [key.id]]);
    expect([keys.directory.key(key.id)?.name, keys.directory.isLiving('unknown')]).toEqual(['crm', false]);
  });

  test('ends a key at its expiry', () => {
    const { keys, key, clock } = server({ expiresAtMs: noon + 60_000 });
    expect(keys.directory.isLiving(key.id)).toBe(true);
    clock.pass(60_000);
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving()]).toEqual([false, false]);
  });

  test('a damaged database is a warning for the tick, which tries again', () => {
    const { keys, warnings, clock, database } = server();
    const other = new Database(database.path);
    other.exec('drop table keys');
    other.close();
    clock.pass(1000);
    keys.tick();
    keys.tick();
    expect(warnings.length).toBe(2);
  });
});
