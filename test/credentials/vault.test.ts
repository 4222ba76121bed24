import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPassphrase, Vault } from '../../src/credentials/vault.ts';
import { workplace } from '../helpers/cli.ts';
import { lightVault, passphrase, type VaultFile } from '../helpers/light-vault.ts';

const secret = 'canary/7f3a+Zq9=8x';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'automate-vault-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function open(path: string, text = passphrase) {
  return new Vault(path, createPassphrase({ AUTOMATE_VAULT_PASSPHRASE: text }));
}

/** Creates a vault with one secret. */
function filled() {
  const path = join(folder(), 'vault.json');
  const file = lightVault([['default/crm', secret]]);
  writeFileSync(path, JSON.stringify(file));
  return { path, vault: open(path), file };
}

const refused = (reason: RegExp) => ({ kind: 'credential', message: expect.stringMatching(reason) });

describe('the vault of credentials', () => {
  test('returns its secrets only for the right passphrase', async () => {
    const { path, vault } = filled();
    await vault.write(
      new Map<string, string | undefined>([
        ['staging/crm', 'pässwörd "\\'],
        ['default/other', 'other'],
        ['default/nobody', undefined],
      ]),
    );
    await vault.write(new Map([['default/other', undefined]]));
    const secrets = await open(path).read(['default/crm', 'staging/crm', 'default/other', 'default/nobody']);
    expect([...secrets]).toEqual([
      ['default/crm', secret],
      ['staging/crm', 'pässwörd "\\'],
    ]);
    await expect(open(path, 'another').read(['default/crm'])).rejects.toMatchObject(refused(/the passphrase is wrong, or the file was/));
  });

  test('is empty and needs no passphrase if there is no file', async () => {
    const path = join(folder(), 'vault.json');
    expect((await new Vault(path, createPassphrase({})).read(['default/crm'])).size).toBe(0);
  });

  test('accepts a passphrase with composed or decomposed Unicode letters', async () => {
    const path = join(folder(), 'vault.json');
    await open(path, 'Zo\u00eb').write(new Map([['default/crm', secret]]));
    expect((await open(path, 'Zoe\u0308').read(['default/crm'])).get('default/crm')).toBe(secret);
  });

  test('stores no secret, passphrase or name as plain text, and uses a new nonce for each write', async () => {
    const files: VaultFile[] = [];
    for (const path of [join(folder(), 'vault.json'), join(folder(), 'vault.json')]) {
      const vault = open(path);
      for (let time = 0; time < 10; time++) {
        await vault.write(new Map([['default/crm', secret]]));
        const text = readFileSync(path, 'utf8');
        files.push(JSON.parse(text));
        for (const hidden of [secret, passphrase, 'default/crm']) {
          const bytes = Buffer.from(hidden);
          for (const form of [
            hidden,
            encodeURIComponent(hidden),
            ...(['base64', 'base64url', 'hex'] as const).map((encoding) => bytes.toString(encoding)),
          ])
            expect(text.toLowerCase()).not.toContain(form.toLowerCase());
        }
      }
    }
    const different = (part: (file: VaultFile) => string) => new Set(files.map(part)).size;
    expect([different(({ iv }) => iv), different(({ data }) => data), different(({ kdf }) => kdf.salt)]).toEqual([20, 20, 2]);
    expect(files[0]).toMatchObject({ version: 1, kdf: { name: 'scrypt', n: 2 ** 17, r: 8, p: 1 } });
    expect([files[0].iv, files[0].tag].map((text) => Buffer.from(text, 'base64').length)).toEqual([12, 16]);
  });
});

const flipped = (base64: string, at: number) => {
  const bytes = Buffer.from(base64, 'base64');
  bytes[at < 0 ? bytes.length + at : at] = (bytes.at(at) as number) ^ 1;
  return bytes.toString('base64');
};

const changed = /the passphrase is wrong, or the file was changed/;
const noVault = /its content was not written by automate/;

/** The name of a change, the change, the message, and "at once" if the file is refused before the passphrase is asked for. */
const changes: [string, (file: VaultFile) => unknown, RegExp, ('at once' | undefined)?][] = [
  ['iv: first byte', (file) => (file.iv = flipped(file.iv, 0)), changed],
  ['iv: last byte', (file) => (file.iv = flipped(file.iv, -1)), changed],
  ['iv: longer', (file) => (file.iv = `${file.iv}AAAA`), noVault, 'at once'],
  ['iv: empty', (file) => (file.iv = ''), noVault, 'at once'],
  ['tag: first byte', (file) => (file.tag = flipped(file.tag, 0)), changed],
  ['tag: last byte', (file) => (file.tag = flipped(file.tag, -1)), changed],
  ['tag: shorter', (file) => (file.tag = file.tag.slice(0, 8)), noVault, 'at once'],
  ['data: first byte', (file) => (file.data = flipped(file.data, 0)), changed],
  ['data: last byte', (file) => (file.data = flipped(file.data, -1)), changed],
  ['data: longer', (file) => (file.data = `${file.data.replace(/=+$/, '')}AAAA`), changed],
  ['data: empty', (file) => (file.data = ''), changed],
  ['data: absent', (file) => delete file.data, noVault, 'at once'],
  ['salt: first byte', (file) => (file.kdf.salt = flipped(file.kdf.salt, 0)), changed],
  ['salt: last byte', (file) => (file.kdf.salt = flipped(file.kdf.salt, -1)), changed],
  ['salt: not a string', (file) => (file.kdf.salt = 1), noVault, 'at once'],
  ['version', (file) => (file.version = 2), noVault, 'at once'],
  ['kdf: none', (file) => delete file.kdf, noVault, 'at once'],
  ['kdf: unknown', (file) => (file.kdf.name = 'pbkdf2'), noVault, 'at once'],
  ['n: doubled', (file) => (file.kdf.n *= 2), changed],
  ['n: halved', (file) => (file.kdf.n /= 2), noVault, 'at once'],
  ['n: not a power of two', (file) => (file.kdf.n += 1), noVault, 'at once'],
  ['n: next to no work', (file) => (file.kdf.n = 2), noVault, 'at once'],
  ['n: absurd', (file) => (file.kdf.n = 2 ** 40), noVault, 'at once'],
  ['n: not a number', (file) => (file.kdf.n = '16384'), noVault, 'at once'],
  ['r: one more', (file) => (file.kdf.r += 1), changed],
  ['r: absurd', (file) => (file.kdf.r = 2 ** 20), noVault, 'at once'],
  ['r: none', (file) => (file.kdf.r = 0), noVault, 'at once'],
  ['p: one more', (file) => (file.kdf.p += 1), changed],
  ['p: absurd', (file) => (file.kdf.p = 2 ** 20), noVault, 'at once'],
  ['p: negative', (file) => (file.kdf.p = -1), noVault, 'at once'],
];

describe('a vault file that was tampered with', () => {
  test.each(changes)('is refused and left unchanged: %s', async (_, change, reason, isAtOnce) => {
    const { path, file } = filled();
    change(file);
    const text = JSON.stringify(file);
    writeFileSync(path, text);
    const asked: boolean[] = [];
    const vault = new Vault(
      path,
      createPassphrase({}, async (isNew) => {
        asked.push(isNew);
        return passphrase;
      }),
    );
    await expect(vault.read(['default/crm'])).rejects.toMatchObject(refused(reason));
    await expect(vault.write(new Map([['default/crm', 'another']]))).rejects.toMatchObject(refused(reason));
    expect(asked).toEqual(isAtOnce ? [] : [false, false, false]);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test.each(['', '{', 'null', '[]', '{"version":1}'])('is refused and left unchanged if its content is %j', async (text) => {
    const path = join(folder(), 'vault.json');
    writeFileSync(path, text);
    await expect(open(path).read(['default/crm'])).rejects.toMatchObject(refused(noVault));
    await expect(open(path).write(new Map([['default/crm', secret]]))).rejects.toMatchObject(refused(noVault));
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('the passphrase of the vault', () => {
  const environmentOf = (file: string) => ({ AUTOMATE_VAULT_PASSPHRASE_FILE: file });

  test('comes from its variable, otherwise from a file, otherwise from a prompt', async () => {
    const file = join(folder(), 'passphrase');
    writeFileSync(file, 'from a file\r\n');
    const asked: boolean[] = [];
    const ask = async (isNew: boolean) => `answer ${asked.push(isNew)}`;
    expect(await createPassphrase({ ...environmentOf(file), AUTOMATE_VAULT_PASSPHRASE: 'from a variable' }, ask).get(true)).toBe(
      'from a variable',
    );
    expect(await createPassphrase({ ...environmentOf(file), AUTOMATE_VAULT_PASSPHRASE: '' }, ask).get(true)).toBe('from a file');
    expect(asked).toEqual([]);
    const passphrase = createPassphrase({}, ask);
    expect(passphrase.problem()).toBeUndefined();
    expect([await passphrase.get(true), await passphrase.get(false)]).toEqual(['answer 1', 'answer 1']);
    expect(asked).toEqual([true]);
  });

  test.each([
    [0o644, ['0644']],
    [0o640, ['0640']],
    [0o600, []],
    [0o400, []],
  ])('in a file with mode %o causes one warning if others can read the file', async (mode, expected) => {
    const file = join(folder(), 'passphrase');
    writeFileSync(file, 'from a file\n');
    chmodSync(file, mode);
    const warned: string[] = [];
    const passphrase = createPassphrase(environmentOf(file), undefined, (text) => void warned.push(text));
    expect([await passphrase.get(true), await passphrase.get(false)]).toEqual(['from a file', 'from a file']);
    const warning = (shown: string) =>
      `other users can read ${file}, which contains the vault's passphrase (mode ${shown})\nchange that: chmod 600 ${file}`;
    expect(warned).toEqual(expected.map(warning));
  });

  test('is asked for as a new passphrase, only once, if there is no vault yet', async () => {
    const asked: boolean[] = [];
    const path = join(folder(), 'vault.json');
    const vault = new Vault(
      path,
      createPassphrase({}, async (isNew) => {
        asked.push(isNew);
        return passphrase;
      }),
    );
    for (const text of ['a', 'b']) await vault.write(new Map([['default/crm', text]]));
    expect(asked).toEqual([true]);
    expect((await open(path).read(['default/crm'])).get('default/crm')).toBe('b');
  });

  test.each([
    [1, 'opens', ['wrong', passphrase]],
    [2, 'opens', ['wrong', 'wrong', passphrase]],
    [3, 'stays closed', ['wrong', 'wrong', 'wrong', passphrase]],
  ] as const)('is asked for again after %d wrong attempts, and the vault %s', async (times, outcome, answers) => {
    const { path } = filled();
    const asked: [isNew: boolean, isAgain: boolean][] = [];
    const ask = async (...how: [boolean, boolean]) => answers[asked.push(how) - 1] as string;
    const vault = new Vault(path, createPassphrase({}, ask));
    // The second read does not ask once more, even if all attempts of the first read failed.
    for (const _ of [1, 2]) {
      const read = vault.read(['default/crm']).then((secrets) => secrets.get('default/crm'));
      if (outcome === 'opens') expect(await read).toBe(secret);
      else await expect(read).rejects.toMatchObject(refused(changed));
    }
    expect(asked).toEqual([false, true, true].slice(0, Math.min(times + 1, 3)).map((isAgain) => [false, isAgain]));
  });

  test('is reported as wrong, and not asked for again, if it comes from the variable', async () => {
    const { path } = filled();
    const given = { AUTOMATE_VAULT_PASSPHRASE: 'another' };
    const vault = new Vault(
      path,
      createPassphrase(given, () => Promise.reject(new Error('asked'))),
    );
    expect(await vault.problem()).toMatch(changed);
    await expect(vault.read(['default/crm'])).rejects.toMatchObject(refused(changed));
    expect(
      await new Vault(
        path,
        createPassphrase({}, () => Promise.reject(new Error('asked'))),
      ).problem(),
    ).toBeUndefined();
  });

  test('is reported as missing, with the names of the variables that can contain it', async () => {
    const { path } = filled();
    const passphrase = createPassphrase({});
    expect(passphrase.problem()).toMatch(/^there is no passphrase\nset AUTOMATE_VAULT_PASSPHRASE, or AUTOMATE_VAULT_PASSPHRASE_FILE/);
    for (const work of [
      new Vault(path, passphrase).read(['default/crm']),
      new Vault(join(folder(), 'vault.json'), passphrase).write(new Map([['default/crm', secret]])),
    ]) {
      await expect(work).rejects.toMatchObject(
        refused(/the vault cannot be opened: there is no passphrase\nset AUTOMATE_VAULT_PASSPHRASE/),
      );
    }
  });

  test.each([
    ['several lines', 'one\ntwo', /expected a secret on one line/],
    ['nothing at all', '\n', /found nothing/],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x41]), /it is not UTF-8/],
    ['nothing because it does not exist', undefined, /AUTOMATE_VAULT_PASSPHRASE_FILE is set to a file that cannot be read: .*ENOENT/],
  ])('is refused if its file has a problem: %s', async (_, content, reason) => {
    const file = join(folder(), 'passphrase');
    if (content !== undefined) writeFileSync(file, content);
    await expect(createPassphrase(environmentOf(file)).get(false)).rejects.toMatchObject(refused(reason));
  });
});

describe('the vault file and its folder', () => {
  test.each([0, 0o777])('are readable only by their owner, even with umask %i', async (umask) => {
    const place = await workplace();
    const before = process.umask(umask);
    onTestFinished(() => void process.umask(before));
    const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm'], { stdin: 'canary\n', env });
    expect([code, stderr]).toEqual([0, '"crm" is stored in the vault\n']);
    const modes = ['.', 'vault.json', 'credentials.json'].map((name) =>
      (statSync(place.path(`.automate/${name}`)).mode & 0o777).toString(8),
    );
    expect(modes).toEqual(['700', '600', '600']);
  });

  test('become readable only by their owner the next time the vault is written', async () => {
    const { path, vault } = filled();
    chmodSync(path, 0o666);
    await vault.write(new Map([['default/crm', 'another']]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each(['file', 'folder'])('are refused if the %s is a symbolic link, and nothing is written through the link', async (linked) => {
    const { path } = filled();
    const before = readFileSync(path, 'utf8');
    const place = folder();
    mkdirSync(join(place, 'home'));
    if (linked === 'file') symlinkSync(path, join(place, 'home', 'vault.json'));
    else symlinkSync(join(path, '..'), join(place, 'link'));
    const vault = open(join(place, linked === 'file' ? 'home' : 'link', 'vault.json'));
    const reason = refused(/ is a symbolic link, which is not allowed here\n/);
    await expect(vault.read(['default/crm'])).rejects.toMatchObject(reason);
    await expect(vault.write(new Map([['default/crm', 'another']]))).rejects.toMatchObject(reason);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  test('are refused if the file is a dangling symbolic link', async () => {
    const path = join(folder(), 'vault.json');
    symlinkSync('nowhere', path);
    await expect(open(path).write(new Map([['default/crm', secret]]))).rejects.toMatchObject(refused(/ is a symbolic link/));
  });
});
