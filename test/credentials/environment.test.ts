import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { credentialVariable, findInEnvironment } from '../../src/credentials/environment.ts';

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
])('the environment variable for the credential %s is AUTOMATE_CREDENTIAL_%s', (name, variable) => {
  expect(credentialVariable(name)).toBe(`AUTOMATE_CREDENTIAL_${variable}`);
});

describe('a credential in an environment variable', () => {
  test("is the variable's value, unchanged", async () => {
    for (const secret of ['x', ' spaces ', 'pässwörd', 'a=b:c"d\\e'])
      expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe(secret);
  });

  test.each(['canary\n', 'canary\r\n'])('is used without the line break at its end: %j', async (secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret })).toBe('canary');
  });

  test('is not found if the variable is missing or empty', async () => {
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
  ])('can be in a file whose path is in the variable with the suffix _FILE: %j', async (content, secret) => {
    expect(await find({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(secret);
  });

  test('comes from the variable if both the variable and a file exist', async () => {
    const environment = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'variable', AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file('file') };
    expect(await find(environment)).toBe('variable');
    expect(await find({ ...environment, AUTOMATE_CREDENTIAL_CRM_TOKEN: '' })).toBe('file');
  });
});

describe('a credential in the environment', () => {
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
  ])('is refused if its value is %j, which contains %s', async (secret, found) => {
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN: secret });
    expect(message.split('\n')[0]).toBe(`expected a secret on one line, found ${found} in AUTOMATE_CREDENTIAL_CRM_TOKEN`);
  });

  test('is refused if its file has several lines', async () => {
    const path = file('canary\nsecond\n');
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'expected a secret on one line, found a line break in the file in AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE\nonly a PEM or JSON document can have several lines',
    );
  });

  test.each(['', '\n', '\r\n', '\ufeff'])('is refused if its file is empty: %j', async (content) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(content) })).toBe(
      'expected a secret on one line, found nothing in the file in AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE',
    );
  });

  test('is refused if its file does not exist, and the message does not show the name', async () => {
    const path = join(tmpdir(), 'automate-no-such-file');
    const message = await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path });
    // The message does not contain the file's name, because the user could have put the secret itself into this variable.
    expect(message).toBe('AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE is set to a file that cannot be read: ENOENT: no such file or directory');
  });

  test('is refused if its file is not UTF-8', async () => {
    const path = file(Buffer.from('p\xe4ssw\xf6rd', 'latin1'));
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      `AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE is set to a file that cannot be read: it is not UTF-8`,
    );
  });

  test.each(['/dev/zero', tmpdir()])('is refused if its file is not a regular file, and could be endless: %s', async (path) => {
    expect(await refusal({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: path })).toBe(
      'AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE is set to a file that cannot be read: it is not a regular file',
    );
  });

  test('is refused if it is longer than any server accepts', async () => {
    const longest = '§'.repeat(16_384);
    for (const make of [
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN: text }),
      (text: string) => ({ AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: file(text) }),
    ]) {
      expect(await find(make(longest))).toBe(longest);
      expect(await refusal(make(`${longest}§`))).toMatch(/^expected a secret of at most 16384 characters, found 16385 in (?!§)/);
    }
  });

  test('is refused with a message that does not show the secret', async () => {
    for (const ending of ['', '_FILE']) {
      expect(await refusal({ [`AUTOMATE_CREDENTIAL_CRM_TOKEN${ending}`]: ending === '' ? 'canary\nx' : file('canary\nx') })).not.toContain(
        'canary',
      );
    }
  });
});
