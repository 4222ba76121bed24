import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { AutomateError } from '../../src/core/failure.ts';
import type { BackendName, SecretBackend } from '../../src/credentials/backend.ts';
import { CredentialList } from '../../src/credentials/credential-list.ts';
import { CredentialStore } from '../../src/credentials/credential-store.ts';
import { expiryWarning, type Finding, isAllowedHost } from '../../src/credentials/secret.ts';

const second = 1000;
const minute = 60 * second;
const day = 86_400_000;

/** Creates a backend in memory that can be made to fail. */
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

/** Creates credentials in their own folder. Both backends work until a test makes them fail. */
function store(environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'automate-credentials-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const list = new CredentialList(folder);
  const keychain = fakeBackend('keychain');
  const vault = fakeBackend('vault');
  const time = { ms: Date.UTC(2030, 0, 1) };
  const credentialsFor = (env: string) =>
    new CredentialStore(
      env,
      list,
      { keychain: keychain.backend, vault: { ...vault.backend, path: join(folder, 'vault.json') } },
      { environment, wallNow: () => time.ms },
    );
  const credentials = credentialsFor('default');
  return {
    find: credentials.find.bind(credentials),
    set: credentials.set.bind(credentials),
    setCommand: credentials.setCommand.bind(credentials),
    restore: credentials.restore.bind(credentials),
    remove: credentials.remove.bind(credentials),
    used: credentials.used.bind(credentials),
    credentialsFor,
    folder,
    keychain,
    vault,
    time,
    inMs: (ms: number) => new Date(time.ms + ms).toISOString(),
    stored: (name = 'crm') => list.find(name, 'default'),
    /** Sets a secret one second later. Resolves with the time at which it was set. */
    async put(secret: string, options: Parameters<typeof credentials.set>[2] = {}) {
      time.ms += second;
      return (await credentials.set('crm', secret, options)).stored.setAt;
    },
    async secret(name = 'crm') {
      const finding = (await credentials.find([name])).get(name);
      return finding && textOf(finding);
    },
  };
}

function textOf(finding: Finding): string {
  if ('secret' in finding) return finding.secret.text;
  return 'command' in finding ? `command: ${finding.command.command}` : `problem: ${messageWithAdvice(finding.problem)}`;
}

describe('the lookup of credentials', () => {
  test('reads variables first, then files, and uses the backend only for credentials still missing', async () => {
    const environment: Record<string, string> = {};
    const { put, secret, keychain, folder } = store(environment);
    await put('the secret');
    writeFileSync(join(folder, 'secret'), 'from a file\n');
    expect(await secret()).toBe('the secret');
    environment.AUTOMATE_CREDENTIAL_CRM_FILE = join(folder, 'secret');
    const before = keychain.asked;
    expect(await secret()).toBe('from a file');
    environment.AUTOMATE_CREDENTIAL_CRM = 'from a variable';
    expect(await secret()).toBe('from a variable');
    expect(keychain.asked).toBe(before);
  });

  test('reads each backend once for all credentials in it', async () => {
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

  test('leaves out a name that has no secret', async () => {
    expect([...(await store().find(['nobody']))]).toEqual([]);
  });

  test('finds only secrets of the requested environment', async () => {
    const { credentialsFor, secret, put } = store();
    const staging = credentialsFor('staging');
    await put('of default');
    expect((await staging.find(['crm'])).size).toBe(0);
    await staging.set('crm', 'of staging', {});
    expect(await secret()).toBe('of default');
    expect((await staging.find(['crm'])).get('crm')).toMatchObject({ secret: { text: 'of staging' } });
    await staging.remove('crm', false);
    expect(await secret()).toBe('of default');
    await expect(staging.remove('crm', false)).rejects.toThrow('no credential "crm" is stored for the environment staging');
  });

  test('returns the allowed hosts and the expiry together with the secret', async () => {
    const { put, find, inMs } = store();
    await put('x'.repeat(8), { hosts: ['api.example.com'], expiresAt: inMs(day) });
    expect((await find(['crm'])).get('crm')).toMatchObject({ secret: { hosts: ['api.example.com'], expiresAt: inMs(day - second) } });
  });

  test.each([
    ['cannot be opened', (keychain: ReturnType<typeof fakeBackend>) => (keychain.broken = 'it is locked'), 'it is locked'],
    [
      'has lost the secret',
      (keychain: ReturnType<typeof fakeBackend>) => keychain.accounts.clear(),
      'the keychain no longer has the credential "crm"',
    ],
  ])('reports a backend that %s, and still finds the credentials in the second backend', async (_, happen, message) => {
    const { put, secret, set, keychain } = store();
    await put('the secret');
    await set('other', 'in the vault', { backend: 'vault' });
    happen(keychain);
    expect(await secret()).toMatch(/^problem: /);
    expect(await secret()).toContain(message);
    expect(await secret('other')).toBe('in the vault');
  });
});

describe('the expiry of a credential', () => {
  test('makes the lookup refuse the secret without using a backend', async () => {
    const { put, secret, time, keychain } = store();
    const endMs = time.ms + day;
    await put('the secret', { expiresAt: new Date(endMs).toISOString() });
    time.ms = endMs - 1;
    expect(await secret()).toBe('the secret');
    const before = keychain.asked;
    time.ms = endMs;
    expect(await secret()).toMatch(
      /^problem: the credential "crm" expired on 2030-01-02\nset a new one: automate credentials set crm\nor set AUTOMATE_CREDENTIAL_CRM, or /,
    );
    expect(keychain.asked).toBe(before);
  });

  test('does not apply to a new secret', async () => {
    const { put, stored, inMs } = store();
    await put('old', { expiresAt: inMs(day) });
    await put('new');
    expect(stored()?.expiresAt).toBeUndefined();
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
  ])('is announced %d ms in advance with the words: %s', (ms, when) => {
    const warning = when && `the credential "crm" expires ${when} (2030-01-31)`;
    expect(expiryWarning('crm', new Date(end).toISOString(), end - ms)).toBe(warning);
  });

  test('causes no warning if it is not set', () => expect(expiryWarning('crm', undefined, end)).toBeUndefined());
});

describe('the list of hosts to which a credential is limited', () => {
  test('stays in force for new secrets and a new backend until the list is replaced or removed with *', async () => {
    const { put, stored } = store();
    await put('first');
    expect(stored()?.hosts).toBeUndefined();
    for (const [wish, hosts] of [
      [{ hosts: ['a.example'] }, ['a.example']],
      [{}, ['a.example']],
      [{ backend: 'vault' }, ['a.example']],
      [{ hosts: ['b.example', '*.c.example'] }, ['b.example', '*.c.example']],
      [{ hosts: ['*'] }, undefined],
      [{}, undefined],
    ] as const) {
      await put('another', wish);
      expect(stored()?.hosts).toEqual(hosts);
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
  ])('decides on a request to %s with the list %s (allowed: %s)', (origin, host, isAllowed) => {
    expect(isAllowedHost(origin, [host])).toBe(isAllowed);
    expect(isAllowedHost(origin, ['else.example', host])).toBe(isAllowed);
    expect(isAllowedHost(origin, [])).toBe(false);
    expect(isAllowedHost(origin, undefined)).toBe(true);
  });
});

describe("replacing a credential's secret", () => {
  test('keeps the previous secret until a server has accepted the new one', async () => {
    const { put, used, keychain, stored } = store();
    const firstAt = await put('first');
    expect(stored()?.previous).toBeUndefined();
    const secondAt = await put('second');
    expect([...keychain.accounts.values()]).toContain('first');
    expect(stored()).toMatchObject({ setAt: secondAt, previous: { setAt: firstAt } });
    // A run that began before the second secret was set still uses the first secret.
    await used('crm', firstAt);
    expect([...keychain.accounts.values()]).toContain('first');
    expect(stored()?.previous).toBeDefined();
    await used('crm', secondAt);
    expect([...keychain.accounts.values()]).toEqual(['second']);
    expect(stored()?.previous).toBeUndefined();
  });

  test.each(['third', 'second'])('keeps the last secret that worked until a server accepts a newer secret: %s', async (last) => {
    const { put, keychain, stored, restore, secret } = store();
    const firstAt = await put('first');
    await put('second');
    await put(last);
    expect([...keychain.accounts.values()]).toContain('first');
    expect(stored()?.previous).toEqual({ setAt: firstAt });
    await restore('crm');
    expect(await secret()).toBe('first');
  });

  test('never overwrites a secret that was set in the same millisecond', async () => {
    const { set, used, keychain, restore, secret } = store();
    await set('crm', 'first', {});
    const { stored } = await set('crm', 'second', {});
    expect([...keychain.accounts.values()]).toEqual(['first', 'second']);
    await used('crm', stored.previous?.setAt ?? '');
    await restore('crm');
    expect(await secret()).toBe('first');
  });

  test('keeps no previous secret if the new secret is the same', async () => {
    const { put, keychain, stored } = store();
    await put('first');
    await put('first');
    expect(stored()?.previous).toBeUndefined();
    expect([...keychain.accounts.values()]).toEqual(['first']);
  });

  test('keeps no previous secret if the new secret is the last secret that worked', async () => {
    const { put, keychain, stored } = store();
    await put('first');
    await put('second');
    await put('first');
    expect(stored()?.previous).toBeUndefined();
    expect([...keychain.accounts.values()]).toEqual(['first']);
  });

  test('can be undone with restore, which also restores the previous expiry and hosts', async () => {
    const { put, restore, secret, stored, keychain, inMs } = store();
    const expiresAt = inMs(day);
    const firstAt = await put('first', { expiresAt, hosts: ['a.example'] });
    await put('second', { expiresAt: inMs(30 * day), hosts: ['b.example'] });
    expect(await restore('crm')).toMatchObject({ setAt: firstAt, expiresAt, hosts: ['a.example'] });
    expect(await secret()).toBe('first');
    expect(stored()).toEqual({ name: 'crm', env: 'default', backend: 'keychain', setAt: firstAt, expiresAt, hosts: ['a.example'] });
    expect([...keychain.accounts.values()]).toEqual(['first']);
    await expect(restore('crm')).rejects.toThrow('no previous secret of "crm" is stored');
  });

  test('can be undone with restore even if the secret had no hosts and expiry', async () => {
    const { put, restore, stored, inMs } = store();
    const setAt = await put('first');
    await put('second', { expiresAt: inMs(day), hosts: ['a.example'] });
    await restore('crm');
    expect(stored()).toEqual({ name: 'crm', env: 'default', backend: 'keychain', setAt });
  });

  test('keeps no previous secret if the old secret cannot be read', async () => {
    const { put, keychain, vault, stored, secret } = store();
    await put('first');
    keychain.broken = 'it is locked';
    await put('second', { backend: 'vault' });
    expect(stored()).toMatchObject({ backend: 'vault' });
    expect(stored()?.previous).toBeUndefined();
    expect([...vault.accounts.values()]).toEqual(['second']);
    expect(await secret()).toBe('second');
  });
});

describe('the backend of credentials', () => {
  test('is the keychain, or the vault if there is no keychain, and does not change by itself', async () => {
    const { set, put, keychain, stored } = store();
    await put('first');
    expect(stored()?.backend).toBe('keychain');
    keychain.broken = 'no session bus';
    await set('other', 'there', {});
    expect(stored('other')?.backend).toBe('vault');
    keychain.broken = '';
    await set('other', 'still there', {});
    expect(stored('other')?.backend).toBe('vault');
  });

  test.each([
    ['keychain', 'vault'],
    ['vault', 'keychain'],
  ] as const)('can be changed from %s to %s, and the previous secret moves, too', async (from, to) => {
    const { put, secret, stored, ...fakes } = store();
    await put('first', { backend: from });
    await put('second', { backend: from });
    await put('third', { backend: to });
    expect([...fakes[from].accounts]).toEqual([]);
    expect([...fakes[to].accounts.values()]).toEqual(['first', 'third']);
    expect(await secret()).toBe('third');
    await fakes.restore('crm');
    expect(await secret()).toBe('first');
  });

  test('is reported if the old secret could not be deleted from it', async () => {
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
  ] as const)(
    'must be usable when a secret is set; otherwise the message shows both alternatives (--backend: %s)',
    async (backend, told, way) => {
      const { put, set, keychain, vault, stored, secret } = store();
      await put('first');
      const before = stored();
      keychain.broken = 'it is locked';
      vault.broken = 'no passphrase';
      const refused = await set('other', 'canary', { backend }).catch((error: unknown) => error as AutomateError);
      const message = messageWithAdvice(refused as AutomateError);
      expect([(refused as AutomateError).kind, message]).toEqual(['credential', expect.stringMatching(told)]);
      const [, vaultWay, otherWay] = message.split('do one of these:\n')[1]?.match(/(.*)\n(.*)/) ?? [];
      expect(vaultWay).toMatch(way);
      expect(otherWay).toMatch(/set AUTOMATE_CREDENTIAL_OTHER, or .*_FILE/);
      expect(message).not.toContain('canary');
      expect(stored()).toEqual(before);
      keychain.broken = '';
      expect(await secret()).toBe('first');
    },
  );
});

test('a credential in a locked keychain stays there, and is not copied to the vault', async () => {
  const { put, keychain, vault, stored } = store();
  await put('first');
  const before = stored();
  keychain.broken = 'no session bus';
  await expect(put('second')).rejects.toThrow(/^the secret cannot be stored\nthe keychain cannot be used: no session bus$/);
  expect([stored(), vault.accounts.size]).toEqual([before, 0]);
});

test('a change that is killed before the list of credentials is saved has no effect', async () => {
  const { put, keychain, stored, secret } = store();
  await put('first', { hosts: ['a.example'] });
  const before = stored();
  const { write } = keychain.backend;
  keychain.backend.write = async (changes) => {
    await write(changes);
    throw new Error('killed');
  };
  await expect(put('second', { hosts: ['b.example'] })).rejects.toThrow('killed');
  expect([stored(), await secret()]).toEqual([before, 'first']);
  keychain.backend.write = write;
  await put('third', { hosts: ['c.example'] });
  expect(stored()).toMatchObject({ hosts: ['c.example'], previous: { hosts: ['a.example'] } });
});

describe('removing a credential', () => {
  test('deletes both the current and the previous secret', async () => {
    const { put, remove, keychain, stored, secret } = store();
    await put('first');
    await put('second');
    expect(await remove('crm', false)).toBe(true);
    expect([keychain.accounts.size, stored(), await secret()]).toEqual([0, undefined, undefined]);
    await expect(remove('crm', true)).rejects.toThrow('no credential "crm" is stored');
  });

  test('requires --force if the backend cannot be opened', async () => {
    const { put, remove, keychain, stored } = store();
    await put('first');
    keychain.broken = 'it is locked';
    const refused = await remove('crm', false).catch((error: unknown) => error as AutomateError);
    expect(messageWithAdvice(refused as AutomateError)).toMatch(/it is locked\n.*automate credentials remove crm --force/);
    expect(stored()).toBeDefined();
    expect(await remove('crm', true)).toBe(false);
    expect(stored()).toBeUndefined();
  });
});

describe("the time of a credential's last use", () => {
  test('is recorded at most once a minute', async () => {
    const { put, used, stored, time } = store();
    const setAt = await put('the secret');
    const noted: string[] = [];
    for (const ms of [0, 1, minute - 2, 1, minute - 1]) {
      time.ms += ms;
      await used('crm', setAt);
      noted.push(stored()?.lastUsedAt ?? '');
    }
    expect(noted.map((at) => Date.parse(at) - Date.parse(setAt))).toEqual([0, 0, 0, minute, minute]);
  });

  test('is not reset by a new secret', async () => {
    const { put, used, stored } = store();
    const setAt = await put('first');
    await used('crm', setAt);
    await put('second');
    expect(stored()?.lastUsedAt).toBe(setAt);
  });

  test('is not recorded if the credential was removed in the meantime', async () => {
    const { put, used, remove, stored } = store();
    const setAt = await put('first');
    await remove('crm', false);
    await used('crm', setAt);
    expect(stored()).toBeUndefined();
  });
});

test.each([
  ['text that is not JSON', '{'],
  ['an unknown version', '{"version":2,"credentials":[]}'],
  ['an entry without a timestamp', '{"version":1,"credentials":[{"name":"crm","env":"default","backend":"vault"}]}'],
  ['an entry with an unknown backend', entry({ backend: 'plain' })],
  ['hosts that are not a list', entry({ hosts: 'a.example' })],
  ['a previous secret that is not an object', entry({ previous: 'yes' })],
  ['a last use that is not a time', entry({ lastUsedAt: 'lately' })],
])('a list of credentials that contains %s is refused and left unchanged', async (_, text) => {
  const { folder, find, set } = store();
  writeFileSync(join(folder, 'credentials.json'), text);
  await expect(find(['crm'])).rejects.toThrow(/credentials\.json cannot be read: its content was not written by automate/);
  await expect(set('crm', 'canary', {})).rejects.toMatchObject({ kind: 'credential' });
  expect(() => new CredentialList(folder).all()).toThrow();
});

function entry(more: object): string {
  const credential = { name: 'crm', env: 'default', backend: 'vault', setAt: '2030-01-01T00:00:00.000Z', ...more };
  return JSON.stringify({ version: 1, credentials: [credential] });
}

describe('a credential with a command', () => {
  test('is found without running the command and without using a backend', async () => {
    const { setCommand, find, keychain, vault, stored, time, inMs } = store();
    await setCommand('crm', 'op read x', { forMs: 1000, hosts: ['a.test'], expiresAt: inMs(day) });
    const finding = (await find(['crm'])).get('crm');
    expect(finding).toEqual({ command: stored() });
    expect(stored()).toMatchObject({ command: 'op read x', forMs: 1000, hosts: ['a.test'] });
    expect([keychain.asked, vault.asked]).toEqual([0, 0]);
    time.ms += day;
    expect(textOf((await find(['crm'])).get('crm') as Finding)).toMatch(/^problem: the credential "crm" expired on/);
  });

  test("keeps the last secret that worked until a server has accepted the command's secret", async () => {
    const { put, secret, setCommand, restore, used, stored } = store();
    const goodAt = await put('good secret', { hosts: ['a.test'] });
    await used('crm', goodAt);
    await put('never used');
    await setCommand('crm', 'op read x', {});
    expect([await secret(), stored()?.previous?.setAt, stored()?.hosts]).toEqual(['command: op read x', goodAt, ['a.test']]);
    await restore('crm');
    expect([await secret(), stored()?.command]).toEqual(['good secret', undefined]);
    await setCommand('crm', 'op read y', {});
    await used('crm', stored()?.setAt ?? '');
    expect(stored()?.previous).toBeUndefined();
    await expect(restore('crm')).rejects.toThrow('no previous secret of "crm" is stored');
  });

  test('can be replaced only explicitly, not by a login or automate serve', async () => {
    const { put, secret, set, setCommand } = store();
    await setCommand('crm', 'op read x', {});
    await expect(set('crm', 'another', {})).rejects.toThrow(
      'the credential "crm" gets its secret from a command, which can be replaced only with automate credentials set',
    );
    expect(await secret()).toBe('command: op read x');
    await put('by hand', { replacesCommand: true });
    expect(await secret()).toBe('by hand');
  });

  test('can be removed without access to a backend', async () => {
    const { setCommand, remove, stored, keychain, vault } = store();
    await setCommand('crm', 'op read x', {});
    keychain.broken = vault.broken = 'locked';
    expect(await remove('crm', false)).toBe(true);
    expect(stored()).toBeUndefined();
  });
});
