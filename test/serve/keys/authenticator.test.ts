import Database from 'libsql';
import { describe, expect, test } from 'vitest';
import type { KeyRequest } from '../../../src/serve/keys/authenticator.ts';
import { openServerKeys } from '../../../src/serve/keys/server-keys.ts';
import { newKeyValue } from '../../../src/serve/store/key-value.ts';
import { keyStore, noon, settings } from '../../helpers/server-keys.ts';

/** Creates a server's keys, with the key `crm`, and a second process that uses the same database. */
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

describe('the server accepts a request', () => {
  test.each<[string, (value: string) => Partial<KeyRequest>]>([
    ['a bearer token', (value) => ({ authorization: `Bearer ${value}` })],
    ['a bearer token with the scheme in lower case', (value) => ({ authorization: `bearer  ${value} ` })],
    ['X-API-Key', (value) => ({ xApiKey: value })],
    ['X-API-Key next to Basic authorization', (value) => ({ authorization: 'Basic YTpi', xApiKey: value })],
    ['a header next to a query without a key', (value) => ({ xApiKey: value, query: 'key=key_1&limit=5' })],
  ])('with a key in this form: %s', (_, request) => {
    const { ask, value } = server();
    expect(ask(request(value))).toBe('crm');
  });
});

describe('the server refuses a request', () => {
  test.each<[string, (value: string) => Partial<KeyRequest>, string]>([
    ['without a key', () => ({}), 'key-missing'],
    ['with an empty key', () => ({ authorization: 'Bearer ', xApiKey: ' ' }), 'key-missing'],
    ['with only Basic authorization', () => ({ authorization: 'Basic YTpi' }), 'key-missing'],
    ['with both headers', (value) => ({ authorization: `Bearer ${value}`, xApiKey: value }), 'bad-request'],
    ['with a key in the query', (value) => ({ query: `x=${value}` }), 'key-in-query'],
    ['with a key in the query next to a valid header', (value) => ({ query: `a=1&x=${value}`, xApiKey: value }), 'key-in-query'],
    ['with an escaped key in the query', (value) => ({ query: `x=${value.replace('_', '%5f')}` }), 'key-in-query'],
    ['with a bearer token in the query', (value) => ({ query: `authorization=Bearer+${value}` }), 'key-in-query'],
    ['with a key as the name of a parameter', (value) => ({ query: value }), 'key-in-query'],
    ['with an unknown key', () => ({ xApiKey: newKeyValue() }), 'key-invalid'],
    ['with a malformed key', (value) => ({ xApiKey: `${value}x` }), 'key-invalid'],
    ['with two keys in one header', (value) => ({ xApiKey: `${value}, ${value}` }), 'key-invalid'],
  ])('%s', (_, request, problem) => {
    const { ask, value } = server();
    expect(ask(request(value))).toBe(problem);
  });

  test('with an expired key, even if the clock was changed', () => {
    const { bearer, clock } = server({ expiresAtMs: noon + 5000 });
    clock.wallMs = noon + 4999;
    expect(bearer()).toBe('crm');
    clock.wallMs = noon + 5000;
    expect(bearer()).toBe('key-expired');
    clock.wallMs = noon;
    expect(bearer()).toBe('crm');
  });

  test('with the old value of a rotated key after the overlap', () => {
    const { bearer, clock, elsewhere, value } = server();
    const { value: next } = elsewhere.rotate('crm', 10_000);
    clock.pass(9999);
    expect([bearer(value), bearer(next)]).toEqual(['crm', 'crm']);
    clock.pass(1);
    expect([bearer(value), bearer(next)]).toEqual(['key-invalid', 'crm']);
  });

  test("within 1 s after a different process has revoked the request's key", () => {
    const { bearer, clock, elsewhere } = server();
    expect(bearer()).toBe('crm');
    elsewhere.revoke('crm', { stopRuns: false });
    const other = elsewhere.create(settings({ name: 'shop' }));
    clock.pass(999);
    expect([bearer(), bearer(other.value)]).toEqual(['key-invalid', 'shop']);
  });

  test("at once after this process has revoked the request's key", () => {
    const { bearer, keys, clock } = server();
    expect(bearer()).toBe('crm');
    keys.store.revoke('crm', { stopRuns: false });
    clock.pass(250);
    expect(bearer()).toBe('key-invalid');
  });

  test('with a server error if a table is missing in the database', () => {
    const { bearer, clock, database } = server();
    expect(bearer()).toBe('crm');
    const other = new Database(database.path);
    other.exec('drop table keys');
    other.close();
    clock.pass(1000);
    for (let time = 0; time < 2; time++) expect(() => bearer()).toThrow(/cannot be used: no such table/);
  });
});

describe('failed authentications at the server', () => {
  const refusals = ({ keys }: ReturnType<typeof server>, times: number, address = '10.0.0.1') =>
    Array.from({ length: times }, () => {
      const found = keys.authenticator.authenticate({ xApiKey: 'wrong', query: '', address });
      return 'refusal' in found ? found.refusal : undefined;
    });

  test('get a 401 for the first 19 in a minute and then a 429', () => {
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

  test('are counted per address, even if the system clock is set back', () => {
    const here = server();
    refusals(here, 30);
    expect(refusals(here, 1, '10.0.0.2')[0]?.problem).toBe('key-invalid');
    here.clock.wallMs -= 86_400_000;
    expect(refusals(here, 1)[0]?.problem).toBe('rate-limited');
  });

  test('are counted together for one IPv6 network, and for both notations of an IPv4 address', () => {
    const here = server();
    for (let host = 0; host < 19; host++) refusals(here, 1, `2001:db8:1:2:3::${host.toString(16)}`);
    expect(refusals(here, 1, '2001:db8:1:2::9')[0]?.problem).toBe('rate-limited');
    expect(refusals(here, 1, '2001:db8:1:3::9')[0]?.problem).toBe('key-invalid');
    refusals(here, 19, '10.9.9.9');
    expect(refusals(here, 1, '::ffff:10.9.9.9')[0]?.problem).toBe('rate-limited');
  });

  test('include requests with expired keys, but not requests without a key', () => {
    const here = server({ expiresAtMs: noon });
    expect(Array.from({ length: 20 }, () => here.bearer()).slice(18)).toEqual(['key-expired', 'rate-limited']);
    expect(Array.from({ length: 30 }, () => here.ask({ address: '10.0.0.3' })).at(-1)).toBe('key-missing');
  });

  test('are recorded in the audit log in one line per minute and address', () => {
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

  test('are still refused if the audit log cannot be written', () => {
    const here = server();
    here.keys.directory.refresh();
    const other = new Database(here.database.path);
    other.exec('drop table audit');
    other.close();
    expect([refusals(here, 1)[0]?.problem, here.warnings.length]).toEqual(['key-invalid', 1]);
  });

  test('use only a limited amount of memory even if they come from many addresses', () => {
    const here = server();
    const { failures } = here.keys.authenticator.options;
    for (let n = 0; n < 20; n++) failures.add('10.0.0.1');
    for (let n = 0; n < 10_000; n++) failures.add(`address ${n}`);
    // The oldest address has been forgotten, so its count begins anew.
    expect(failures.add('10.0.0.1')).toEqual({ isFirst: true, retryAfterS: undefined });
  });
});

describe("the server's list of API keys", () => {
  test('contains active keys, and revoked keys whose runs have to be stopped', () => {
    const { keys, elsewhere, key, clock } = server();
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving(), keys.directory.stoppedKeys()]).toEqual([true, true, []]);
    elsewhere.revoke('crm', { stopRuns: true });
    clock.pass(999);
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving(), keys.directory.stoppedKeys()]).toEqual([false, false, [key.id]]);
    expect([keys.directory.key(key.id)?.name, keys.directory.isLiving('unknown')]).toEqual(['crm', false]);
  });

  test('drops a key when the key expires', () => {
    const { keys, key, clock } = server({ expiresAtMs: noon + 60_000 });
    expect(keys.directory.isLiving(key.id)).toBe(true);
    clock.pass(60_000);
    expect([keys.directory.isLiving(key.id), keys.directory.hasLiving()]).toEqual([false, false]);
  });

  test('causes a warning if its database is damaged, and is read anew at the next check', () => {
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
