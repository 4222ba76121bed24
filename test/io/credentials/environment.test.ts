import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { credentialVariable, findInEnvironment } from '../../../src/io/credentials/environment.ts';

function file(content: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'automate-credential-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'secret'), content);
  return join(folder, 'secret');
}

const findingOf = async (environment: Record<string, string>, name = 'crm-token') =>
  (await findInEnvironment([name], environment)).get(name);

async function find(environment: Record<string, string>, name?: string): Promise<string | undefined> {
  const finding = await findingOf(environment, name);
  return finding && 'secret' in finding ? finding.secret.text : undefined;
}

test.each([
  ['crm-token', 'CRM_TOKEN'],
  ['crm', 'CRM'],
  ['a.b c/d', 'A_B_C_D'],
  ['v2_key', 'V2_KEY'],
  ['Zoë', 'ZO_'],
])('the variable of %s', (name, variable) => {
  expect(credentialVariable(name)).toBe(`AUTOMATE_CREDENTIAL_${variable}`);
});

describe('a credential', () => {
  test('comes from its variable, unchanged', async () => {
    for (const secret of ['x', ' spaces ', 'pässwörd', 'a=b:c"d\\e'])
      expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe(secret);
  });

  test.each(['canary\n', 'canary\r\n'])('comes from its variable without the line break at its end: %j', async (secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe('canary');
  });

  test('that nobody has is not found', async () => {
    expect(await find({})).toBeUndefined();
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: '', AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: '' })).toBeUndefined();
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: 'x' }, 'crm')).toBeUndefined();
  });

  test.each([
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    ['\ufeffsecret\n', 'secret'],
    [' pässwörd ', ' pässwörd '],
  ])('comes from a file: %j', async (content, secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(secret);
  });

  test('comes from the variable rather than from the file', async () => {
    const environment = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'variable', AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file('file') };
    expect(await find(environment)).toBe('variable');
    expect(await find({ ...environment, AUTOMATE_CREDENTIAL_CRM_TOKEN: '' })).toBe('file');
  });
});

describe('what is no credential', () => {
  const refusal = async (environment: Record<string, string>) => {
    const finding = await findingOf(environment);
    return finding && 'problem' in finding ? finding.problem : 'found';
  };

  test.each([
    ['can\nary', 'a line break'],
    ['canary\n\n', 'a line break'],
    ['can\rary', 'a line break'],
    ['canary\u0000', 'a control character'],
    ['\tcanary', 'a control character'],
    ['canary\u007f', 'a control character'],
  ])('%j: %s', async (secret, found) => {
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret });
    expect(message).toBe(`expected a secret on one line, found ${found} in AUTOMATE_CREDENTIAL_CRM_TOKEN`);
  });

  test('several lines in a file', async () => {
    const path = file('canary\nsecond\n');
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'expected a secret on one line, found a line break in the file that AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names',
    );
  });

  test.each(['', '\n', '\r\n', '\ufeff'])('an empty file: %j', async (content) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(
      'expected a secret on one line, found nothing in the file that AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names',
    );
  });

  test('a file that is not there', async () => {
    const path = join(tmpdir(), 'automate-no-such-file');
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path });
    // It may be the secret itself that was put there.
    expect(message).toBe('AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: ENOENT: no such file or directory');
  });

  test('a file that is not UTF-8', async () => {
    const path = file(Buffer.from('p\xe4ssw\xf6rd', 'latin1'));
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      `AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: it is not UTF-8`,
    );
  });

  test.each(['/dev/zero', tmpdir()])('what is no regular file, and may never end: %s', async (path) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: it is no regular file',
    );
  });

  test('one longer than any server takes', async () => {
    const longest = '§'.repeat(16_384);
    for (const make of [
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN: text }),
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(text) }),
    ]) {
      expect(await find(make(longest))).toBe(longest);
      expect(await refusal(make(`${longest}§`))).toMatch(/^expected a secret of at most 16384 characters, found 16385 in (?!§)/);
    }
  });

  test('nothing of the secret is shown', async () => {
    for (const environment of [{ AUTOMATE_CREDENTIAL_CRM_TOKEN: 'canary\nx' }, { AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file('canary\nx') }]) {
      expect(await refusal(environment)).not.toContain('canary');
    }
  });
});
