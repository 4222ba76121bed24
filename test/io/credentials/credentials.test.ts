import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AutomateError } from '../../../src/core/failure.ts';
import type { BackendName, SecretBackend } from '../../../src/io/credentials/backend.ts';
import { openCatalog } from '../../../src/io/credentials/catalog.ts';
import { createCredentials } from '../../../src/io/credentials/credentials.ts';
import { expiryWarning, isAllowedHost } from '../../../src/io/credentials/secret.ts';

const second = 1000;
const minute = 60 * second;
const day = 86_400_000;

/** A keeper in memory that can be put out of order. */
function fakeBackend(name: BackendName) {
  const accounts = new Map<string, string>();
  const fake = { accounts, broken: '', asked: 0, backend: {} as SecretBackend };
  const check = () => {
    fake.asked += 1;
    if (fake.broken) throw new AutomateError('credential', `the ${name} cannot be used: ${fake.broken}`);
  };
  fake.backend = {
    name,
    problem: async () => fake.broken || undefined,
    async read(wanted) {
      check();
      return new Map([...accounts].filter(([account]) => wanted.includes(account)));
    },
    async write(changes) {
      check();
      for (const [account, secret] of changes) {
        if (secret === undefined) accounts.delete(account);
        else accounts.set(account, secret);
      }
    },
  };
  return fake;
}

/** Credentials on a catalog of their own; both keepers work until they are broken. */
function store(environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'automate-credentials-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const catalog = openCatalog(join(folder, 'credentials.json'));
  const keychain = fakeBackend('keychain');
  const vault = fakeBackend('vault');
  const time = { ms: Date.UTC(2030, 0, 1) };
  const credentialsFor = (env: string) =>
    createCredentials({
      env,
      environment,
      catalog: () => catalog,
      backend: (name) => ({ keychain, vault })[name].backend,
      wallNow: () => time.ms,
    });
  const credentials = credentialsFor('default');
  return {
    ...credentials,
    credentialsFor,
    folder,
    keychain,
    vault,
    time,
    inMs: (ms: number) => new Date(time.ms + ms).toISOString(),
    kept: (name = 'crm') => catalog.find(name, 'default'),
    /** Sets a secret, a second after whatever was before; answers when. */
    async put(secret: string, wish: Parameters<typeof credentials.set>[2] = {}) {
      time.ms += second;
      return (await credentials.set('crm', secret, wish)).stored.setAt;
    },
    async secret(name = 'crm') {
      const finding = (await credentials.find([name])).get(name);
      return finding && ('secret' in finding ? finding.secret.text : `problem: ${finding.problem}`);
    },
  };
}

describe('a secret is looked up', () => {
  test('in its variable, then in a file, then where it is kept; the keepers are asked for nothing that is there', async () => {
    const environment: Record<string, string> = {};
    const { put, secret, keychain, folder } = store(environment);
    await put('kept');
    writeFileSync(join(folder, 'secret'), 'from a file\n');
    expect(await secret()).toBe('kept');
    environment.AUTOMATE_CREDENTIAL_CRM_FILE = join(folder, 'secret');
    const before = keychain.asked;
    expect(await secret()).toBe('from a file');
    environment.AUTOMATE_CREDENTIAL_CRM = 'from a variable';
    expect(await secret()).toBe('from a variable');
    expect(keychain.asked).toBe(before);
  });

  test('in the keeper that has it, each asked once for all', async () => {
    const { set, find, keychain, vault } = store();
    for (const [name, backend] of [
      ['a', 'keychain'],
      ['b', 'vault'],
      ['c', 'vault'],
      ['d', 'keychain'],
    ] as const) {
      await set(name, `secret of ${name}`, { backend });
    }
    keychain.asked = vault.asked = 0;
    const found = await find(['a', 'b', 'c', 'd', 'nobody']);
    expect([...found].map(([name, finding]) => [name, 'secret' in finding && [finding.secret.text, finding.secret.from]]).sort()).toEqual([
      ['a', ['secret of a', 'the keychain']],
      ['b', ['secret of b', 'the vault']],
      ['c', ['secret of c', 'the vault']],
      ['d', ['secret of d', 'the keychain']],
    ]);
    expect([keychain.asked, vault.asked]).toEqual([1, 1]);
  });

  test('and is left out when nobody has it', async () => {
    expect([...(await store().find(['nobody']))]).toEqual([]);
  });

  test('in its own environment only', async () => {
    const { credentialsFor, secret, put } = store();
    const staging = credentialsFor('staging');
    await put('of default');
    expect((await staging.find(['crm'])).size).toBe(0);
    await staging.set('crm', 'of staging', {});
    expect(await secret()).toBe('of default');
    expect((await staging.find(['crm'])).get('crm')).toMatchObject({ secret: { text: 'of staging' } });
    await staging.remove('crm', false);
    expect(await secret()).toBe('of default');
    await expect(staging.remove('crm', false)).rejects.toThrow('no credential "crm" is stored for --env staging');
  });

  test('with its hosts and its end', async () => {
    const { put, find, inMs } = store();
    await put('x'.repeat(8), { hosts: ['api.example.com'], expiresAt: inMs(day) });
    expect((await find(['crm'])).get('crm')).toMatchObject({ secret: { hosts: ['api.example.com'], expiresAt: inMs(day - second) } });
  });

  test.each([
    ['cannot be opened', (keychain: ReturnType<typeof fakeBackend>) => (keychain.broken = 'it is locked'), 'it is locked'],
    [
      'has lost it',
      (keychain: ReturnType<typeof fakeBackend>) => keychain.accounts.clear(),
      'the keychain no longer has the credential "crm"',
    ],
  ])('in a keeper that %s: the problem is told, and those of other keepers are found', async (_, happen, message) => {
    const { put, secret, set, keychain } = store();
    await put('kept');
    await set('other', 'in the vault', { backend: 'vault' });
    happen(keychain);
    expect(await secret()).toMatch(/^problem: /);
    expect(await secret()).toContain(message);
    expect(await secret('other')).toBe('in the vault');
  });
});

describe('the end of a secret', () => {
  test('it is found up to its last millisecond, and refused from then on without asking a keeper', async () => {
    const { put, secret, time, keychain } = store();
    const endMs = time.ms + day;
    await put('kept', { expiresAt: new Date(endMs).toISOString() });
    time.ms = endMs - 1;
    expect(await secret()).toBe('kept');
    const before = keychain.asked;
    time.ms = endMs;
    expect(await secret()).toBe('problem: the credential "crm" expired on 2030-01-02\nset a new one: automate credentials set crm');
    expect(keychain.asked).toBe(before);
  });

  test('a new secret does not end with the one before', async () => {
    const { put, kept, inMs } = store();
    await put('old', { expiresAt: inMs(day) });
    await put('new');
    expect(kept()?.expiresAt).toBeUndefined();
  });

  const end = Date.UTC(2030, 0, 31, 12);
  test.each([
    [15 * day, undefined],
    [14 * day, undefined],
    [14 * day - 1, 'in 14 days'],
    [2 * day, 'in 2 days'],
    [1.6 * day, 'in 2 days'],
    [1.4 * day, 'in 1 day'],
    [day - 1, 'within a day'],
    [1, 'within a day'],
    [0, undefined],
  ])('%d ms before it the warning is: %s', (ms, when) => {
    const warning = when && `the credential "crm" expires ${when} (2030-01-31)`;
    expect(expiryWarning('crm', new Date(end).toISOString(), end - ms)).toBe(warning);
  });

  test('without one there is no warning', () => expect(expiryWarning('crm', undefined, end)).toBeUndefined());
});

describe('hosts', () => {
  test('stay over a new secret and a move, until others are named or * lifts them', async () => {
    const { put, kept } = store();
    await put('first');
    expect(kept()?.hosts).toBeUndefined();
    for (const [wish, hosts] of [
      [{ hosts: ['a.example'] }, ['a.example']],
      [{}, ['a.example']],
      [{ backend: 'vault' }, ['a.example']],
      [{ hosts: ['b.example', '*.c.example'] }, ['b.example', '*.c.example']],
      [{ hosts: ['*'] }, undefined],
      [{}, undefined],
    ] as const) {
      await put('another', wish);
      expect(kept()?.hosts).toEqual(hosts);
    }
  });

  test.each([
    ['https://api.example.com', 'api.example.com', true],
    ['https://api.example.com:8443', 'api.example.com', true],
    ['https://api.example.com:8443', 'api.example.com:8443', true],
    ['https://api.example.com:8444', 'api.example.com:8443', false],
    ['https://api.example.com', 'api.example.com:443', true],
    ['http://api.example.com', 'api.example.com:80', true],
    ['http://api.example.com', 'api.example.com:443', false],
    ['https://api.example.com', 'api.example.com:8443', false],
    ['https://api.example.com.evil.test', 'api.example.com', false],
    ['https://notexample.com', '*.example.com', false],
    ['https://example.com', '*.example.com', false],
    ['https://a.b.example.com', '*.example.com', true],
    ['https://a.example.com:8443', '*.example.com', true],
    ['https://a.example.com:8443', '*.example.com:8443', true],
    ['https://a.example.com', '*.example.com:8443', false],
    ['http://[::1]:8080', '[::1]', true],
    ['http://[::1]:8080', '[::2]', false],
  ])('%s for %s: %s', (origin, host, isAllowed) => {
    expect(isAllowedHost(origin, [host])).toBe(isAllowed);
    expect(isAllowedHost(origin, ['else.example', host])).toBe(isAllowed);
    expect(isAllowedHost(origin, [])).toBe(false);
    expect(isAllowedHost(origin, undefined)).toBe(true);
  });
});

describe('a new secret', () => {
  test('the one before it stays until the new one has succeeded', async () => {
    const { put, used, keychain, kept } = store();
    const firstAt = await put('first');
    expect(kept()?.previous).toBeUndefined();
    const secondAt = await put('second');
    expect([...keychain.accounts.values()]).toContain('first');
    expect(kept()).toMatchObject({ setAt: secondAt, previous: { setAt: firstAt } });
    // A run that began before still uses the first.
    await used('crm', firstAt);
    expect([...keychain.accounts.values()]).toContain('first');
    expect(kept()?.previous).toBeDefined();
    await used('crm', secondAt);
    expect([...keychain.accounts.values()]).toEqual(['second']);
    expect(kept()?.previous).toBeUndefined();
  });

  test.each(['third', 'second'])('set twice without a success, the last good one stays: %s', async (last) => {
    const { put, keychain, kept, restore, secret } = store();
    const firstAt = await put('first');
    await put('second');
    await put(last);
    expect([...keychain.accounts.values()]).toContain('first');
    expect(kept()?.previous).toEqual({ setAt: firstAt });
    await restore('crm');
    expect(await secret()).toBe('first');
  });

  test('never overwrites one that was set in the same millisecond', async () => {
    const { set, used, keychain, restore, secret } = store();
    await set('crm', 'first', {});
    const { stored } = await set('crm', 'second', {});
    expect([...keychain.accounts.values()]).toEqual(['first', 'second']);
    await used('crm', stored.previous?.setAt ?? '');
    await restore('crm');
    expect(await secret()).toBe('first');
  });

  test('the same again has none before it', async () => {
    const { put, keychain, kept } = store();
    await put('first');
    await put('first');
    expect(kept()?.previous).toBeUndefined();
    expect([...keychain.accounts.values()]).toEqual(['first']);
  });

  test('back to the last good one by hand: nothing of either is left over', async () => {
    const { put, keychain, kept } = store();
    await put('first');
    await put('second');
    await put('first');
    expect(kept()?.previous).toBeUndefined();
    expect([...keychain.accounts.values()]).toEqual(['first']);
  });

  test('is taken back, with the end and the hosts of the one before it', async () => {
    const { put, restore, secret, kept, keychain, inMs } = store();
    const expiresAt = inMs(day);
    const firstAt = await put('first', { expiresAt, hosts: ['a.example'] });
    await put('second', { expiresAt: inMs(30 * day), hosts: ['b.example'] });
    expect(await restore('crm')).toMatchObject({ setAt: firstAt, expiresAt, hosts: ['a.example'] });
    expect(await secret()).toBe('first');
    expect(kept()).toEqual({ name: 'crm', env: 'default', backend: 'keychain', setAt: firstAt, expiresAt, hosts: ['a.example'] });
    expect([...keychain.accounts.values()]).toEqual(['first']);
    await expect(restore('crm')).rejects.toThrow('no previous secret of "crm" is stored');
  });

  test('is taken back to one that went everywhere, and never ended', async () => {
    const { put, restore, kept, inMs } = store();
    const setAt = await put('first');
    await put('second', { expiresAt: inMs(day), hosts: ['a.example'] });
    await restore('crm');
    expect(kept()).toEqual({ name: 'crm', env: 'default', backend: 'keychain', setAt });
  });

  test('whose one before could not be read has none before it', async () => {
    const { put, keychain, vault, kept, secret } = store();
    await put('first');
    keychain.broken = 'it is locked';
    await put('second', { backend: 'vault' });
    expect(kept()).toMatchObject({ backend: 'vault' });
    expect(kept()?.previous).toBeUndefined();
    expect([...vault.accounts.values()]).toEqual(['second']);
    expect(await secret()).toBe('second');
  });
});

describe('the place of a secret', () => {
  test('is the keychain, or the vault where there is none, and stays what it was', async () => {
    const { set, put, keychain, kept } = store();
    await put('first');
    expect(kept()?.backend).toBe('keychain');
    keychain.broken = 'no session bus';
    await set('other', 'there', {});
    expect(kept('other')?.backend).toBe('vault');
    keychain.broken = '';
    await set('other', 'still there', {});
    expect(kept('other')?.backend).toBe('vault');
  });

  test.each([
    ['keychain', 'vault'],
    ['vault', 'keychain'],
  ] as const)('changes from %s to %s with all it has, and nothing is left behind', async (from, to) => {
    const { put, secret, kept, ...fakes } = store();
    await put('first', { backend: from });
    await put('second', { backend: from });
    await put('third', { backend: to });
    expect([...fakes[from].accounts]).toEqual([]);
    expect([...fakes[to].accounts.values()]).toEqual(['first', 'third']);
    expect(await secret()).toBe('third');
    await fakes.restore('crm');
    expect(await secret()).toBe('first');
  });

  test('where the old one could not be taken away is told', async () => {
    const { set, put, keychain, vault } = store();
    await put('first');
    keychain.broken = 'it is locked';
    expect((await set('crm', 'second', { backend: 'vault' })).left).toEqual(['keychain']);
    keychain.broken = '';
    expect((await set('crm', 'third', { backend: 'keychain' })).left).toEqual([]);
    expect(vault.accounts.size).toBe(0);
  });

  test.each([
    [undefined, /it is locked\n.*no passphrase/, /set AUTOMATE_VAULT_PASSPHRASE /],
    ['keychain', /it is locked\n(?!.*no passphrase)/, /--backend vault, and run this again/],
    ['vault', /stored\n.*no passphrase/, /set AUTOMATE_VAULT_PASSPHRASE /],
  ] as const)('is nowhere when none can be used (wished: %s): both ways out are told, and nothing changes', async (backend, told, way) => {
    const { put, set, keychain, vault, kept, secret } = store();
    await put('first');
    const before = kept();
    keychain.broken = 'it is locked';
    vault.broken = 'no passphrase';
    const refused = await set('other', 'canary', { backend }).catch((error: unknown) => error as AutomateError);
    expect(refused).toMatchObject({ kind: 'credential', message: expect.stringMatching(told) });
    const [, vaultWay, otherWay] = (refused as AutomateError).message.split('two ways out:\n')[1]?.match(/(.*)\n(.*)/) ?? [];
    expect(vaultWay).toMatch(way);
    expect(otherWay).toMatch(/set AUTOMATE_CREDENTIAL_OTHER .*_FILE/);
    expect((refused as AutomateError).message).not.toContain('canary');
    expect(kept()).toEqual(before);
    keychain.broken = '';
    expect(await secret()).toBe('first');
  });
});

test('a credential stays in its keychain while that cannot be reached, and the vault gets nothing of it', async () => {
  const { put, keychain, vault, kept } = store();
  await put('first');
  const before = kept();
  keychain.broken = 'no session bus';
  await expect(put('second')).rejects.toThrow(/^the secret cannot be stored\nthe keychain cannot be used: no session bus\n/);
  expect([kept(), vault.accounts.size]).toEqual([before, 0]);
});

test('a change that is cut off before the list is switched changes nothing: no secret goes by the hosts of another', async () => {
  const { put, keychain, kept, secret } = store();
  await put('first', { hosts: ['a.example'] });
  const before = kept();
  const { write } = keychain.backend;
  keychain.backend.write = async (changes) => {
    await write(changes);
    throw new Error('killed');
  };
  await expect(put('second', { hosts: ['b.example'] })).rejects.toThrow('killed');
  expect([kept(), await secret()]).toEqual([before, 'first']);
  keychain.backend.write = write;
  await put('third', { hosts: ['c.example'] });
  expect(kept()).toMatchObject({ hosts: ['c.example'], previous: { hosts: ['a.example'] } });
});

describe('a secret is removed', () => {
  test('with the one before it', async () => {
    const { put, remove, keychain, kept, secret } = store();
    await put('first');
    await put('second');
    expect(await remove('crm', false)).toBe(true);
    expect([keychain.accounts.size, kept(), await secret()]).toEqual([0, undefined, undefined]);
    await expect(remove('crm', true)).rejects.toThrow('no credential "crm" is stored');
  });

  test('only by force where its keeper cannot be reached', async () => {
    const { put, remove, keychain, kept } = store();
    await put('first');
    keychain.broken = 'it is locked';
    await expect(remove('crm', false)).rejects.toThrow(/it is locked\n.*automate credentials remove crm --force/);
    expect(kept()).toBeDefined();
    expect(await remove('crm', true)).toBe(false);
    expect(kept()).toBeUndefined();
  });
});

describe('the last use', () => {
  test('is noted once a minute', async () => {
    const { put, used, kept, time } = store();
    const setAt = await put('kept');
    const noted: string[] = [];
    for (const ms of [0, 1, minute - 2, 1, minute - 1]) {
      time.ms += ms;
      await used('crm', setAt);
      noted.push(kept()?.lastUsedAt ?? '');
    }
    expect(noted.map((at) => Date.parse(at) - Date.parse(setAt))).toEqual([0, 0, 0, minute, minute]);
  });

  test('stays over a new secret', async () => {
    const { put, used, kept } = store();
    const setAt = await put('first');
    await used('crm', setAt);
    await put('second');
    expect(kept()?.lastUsedAt).toBe(setAt);
  });

  test('of one that was removed meanwhile is not noted', async () => {
    const { put, used, remove, kept } = store();
    const setAt = await put('first');
    await remove('crm', false);
    await used('crm', setAt);
    expect(kept()).toBeUndefined();
  });
});

test.each([
  ['what is no JSON', '{'],
  ['another version', '{"version":2,"credentials":[]}'],
  ['an entry without a time', '{"version":1,"credentials":[{"name":"crm","env":"default","backend":"vault"}]}'],
  ['an entry in a place that there is none of', entry({ backend: 'plain' })],
  ['hosts that are none', entry({ hosts: 'a.example' })],
  ['one before it that is none', entry({ previous: 'yes' })],
  ['a last use that is no time', entry({ lastUsedAt: 'lately' })],
])('a catalog that holds %s is refused, and stays as it was', async (_, text) => {
  const { folder, find, set } = store();
  writeFileSync(join(folder, 'credentials.json'), text);
  await expect(find(['crm'])).rejects.toThrow(/credentials\.json cannot be read: it is not what automate wrote there/);
  await expect(set('crm', 'canary', {})).rejects.toMatchObject({ kind: 'credential' });
  expect(openCatalog(join(folder, 'credentials.json')).all).toThrow();
});

function entry(more: object): string {
  const credential = { name: 'crm', env: 'default', backend: 'vault', setAt: '2030-01-01T00:00:00.000Z', ...more };
  return JSON.stringify({ version: 1, credentials: [credential] });
}
