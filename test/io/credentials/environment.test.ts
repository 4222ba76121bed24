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
])('the variable of the credential %s is AUTOMATE_CREDENTIAL_%s', (name, variable) => {
  expect(credentialVariable(name)).toBe(`AUTOMATE_CREDENTIAL_${variable}`);
});

describe('credential in the environment', () => {
  test('is the variable unchanged', async () => {
    for (const secret of ['x', ' spaces ', 'pässwörd', 'a=b:c"d\\e'])
      expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe(secret);
  });

  test.each(['canary\n', 'canary\r\n'])('loses the line break at the end of its variable: %j', async (secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe('canary');
  });

  test('is not found when no variable has it, or an empty one', async () => {
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
  ])('is read from a file: %j', async (content, secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(secret);
  });

  test('is taken from the variable rather than from the file', async () => {
    const environment = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'variable', AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file('file') };
    expect(await find(environment)).toBe('variable');
    expect(await find({ ...environment, AUTOMATE_CREDENTIAL_CRM_TOKEN: '' })).toBe('file');
  });
});

describe('refused credential in the environment', () => {
  const refusal = async (environment: Record<string, string>) => {
    const finding = await findingOf(environment);
    return finding && 'problem' in finding ? finding.problem.message : 'found';
  };

  test.each([
    ['can\nary', 'a line break'],
    ['canary\n\n', 'a line break'],
    ['can\rary', 'a line break'],
    ['canary\u0000', 'a control character'],
    ['\tcanary', 'a control character'],
    ['canary\u007f', 'a control character'],
  ])('a variable with %j has %s', async (secret, found) => {
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret });
    expect(message).toBe(`expected a secret on one line, found ${found} in AUTOMATE_CREDENTIAL_CRM_TOKEN`);
  });

  test('a file has several lines', async () => {
    const path = file('canary\nsecond\n');
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'expected a secret on one line, found a line break in the file that AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names',
    );
  });

  test.each(['', '\n', '\r\n', '\ufeff'])('a file is empty: %j', async (content) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(
      'expected a secret on one line, found nothing in the file that AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names',
    );
  });

  test('a file does not exist, and its name is not shown', async () => {
    const path = join(tmpdir(), 'automate-no-such-file');
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path });
    // The name may be the secret itself, put into the wrong variable.
    expect(message).toBe('AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: ENOENT: no such file or directory');
  });

  test('a file is not UTF-8', async () => {
    const path = file(Buffer.from('p\xe4ssw\xf6rd', 'latin1'));
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      `AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: it is not UTF-8`,
    );
  });

  test.each(['/dev/zero', tmpdir()])('a file is no regular file and may never end: %s', async (path) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE names a file that cannot be read: it is no regular file',
    );
  });

  test('a secret is longer than any server accepts', async () => {
    const longest = '§'.repeat(16_384);
    for (const make of [
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN: text }),
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(text) }),
    ]) {
      expect(await find(make(longest))).toBe(longest);
      expect(await refusal(make(`${longest}§`))).toMatch(/^expected a secret of at most 16384 characters, found 16385 in (?!§)/);
    }
  });

  test('a refused secret is not shown in the message', async () => {
    for (const environment of [{ AUTOMATE_CREDENTIAL_CRM_TOKEN: 'canary\nx' }, { AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file('canary\nx') }]) {
      expect(await refusal(environment)).not.toContain('canary');
    }
  });
});
