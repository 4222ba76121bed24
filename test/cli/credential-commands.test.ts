import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const set = ['credentials', 'set', 'crm', '--command'];

describe('automate credentials set --command', () => {
  test('stores the command, does not run it, and stores no secret', async () => {
    const place = await workplace();
    expect(
      await place.automate([
        ...set,
        'touch never',
        '--for',
        '50m',
        '--hosts',
        'api.example.com',
        '--expires',
        '2099-12-31',
        '--env',
        'staging',
      ]),
    ).toEqual({
      code: 0,
      stdout: '',
      stderr:
        '"crm" gets its secret from a command, which runs when a request needs it, and again after 50 min, for --env staging, until 2099-12-31, for api.example.com only\n' +
        'try it: automate credentials check crm --env staging\n',
    });
    const { stdout: list } = await place.automate(['credentials', 'list']);
    expect(list.split('\n')[1]).toMatch(/^crm +staging +command +\d+s +2099-12-31 +never +api\.example\.com$/);
    const json = await place.automate(['credentials', 'show', 'crm', '--env', 'staging', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      backend: 'command',
      command: 'touch never',
      for_ms: 3_000_000,
      hosts: ['api.example.com'],
    });
    expect((await place.automate(['credentials', 'show', 'crm', '--env', 'staging'])).stdout).toContain(
      'command:   touch never\nfor:       50 min',
    );
    expect(await place.files()).toEqual([]);
  });

  test('writes a credential list that older versions of automate can still read', async () => {
    const place = await workplace();
    await place.automate([...set, 'touch never']);
    const { version, credentials } = JSON.parse(await place.read('.automate/credentials.json'));
    expect([version, credentials[0].backend]).toEqual([1, 'keychain']);
  });

  test.each([
    [['--command', ''], '--command: expected a command, found nothing'],
    [['--command', "op read 'op://x"], '--command: expected a command in which every quote is closed'],
    [['--command', 'op', '--for', '50'], "option '--for <duration>' argument '50' is invalid. expected a duration such as 50m"],
    [['--command', 'op', '--for', '0m'], 'expected a duration such as 50m'],
    [['--command', 'op', '--for', 'soon'], 'expected a duration such as 50m'],
    [['--for', '50m'], '--for needs a command'],
    [['--command', 'op', '--backend', 'vault'], '--command stores no secret: leave --backend out'],
  ])('refuses the arguments %j with exit code 2, and stores nothing', async (args, message) => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect((await place.automate(['credentials', 'list', '--json'])).stdout).toBe('[]\n');
  });

  test.each([
    ['curl -d token=sk_live_4eC39HqLyjWDarjtT1zdp7dc x', 'contains what looks like a secret'],
    ['vault read --password=Tr0ub4dor x', 'contains what looks like a secret'],
    ["sh -c 'echo ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'", 'contains what looks like a secret'],
    ["curl -H 'Authorization: Bearer s3cr3tabc' x", 'contains what looks like a secret'],
    ['curl -u ada:s3cr3t x', 'contains what looks like a secret'],
    ['vault read --password s3cr3t x', 'contains what looks like a secret'],
    ['curl https://ada:s3cr3t@vault.example.com/x', 'contains what looks like a secret'],
    ['pass show crm | head -1', 'the command is not run by a shell, so | is passed on as written'],
    ['cat ~/.token', 'the command is not run by a shell, so ~/.token is passed on'],
    ['echo $TOKEN', 'the command is not run by a shell, so $TOKEN is passed on'],
  ])('warns about the command "%s", without repeating a secret in it', async (line, warning) => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm', '--command', line]);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: `)]);
    expect(stderr).toContain(warning);
    expect(stderr).not.toMatch(/sk_live_|Tr0ub|ghp_|s3cr3t/);
  });

  test.each([
    'aws secretsmanager get-secret-value --secret-id crm/token --query SecretString --output text',
    'aws ssm get-parameter --name /crm/password --with-decryption',
    'vault kv get -field=token secret/crm',
    'op read op://abcdefghijklmnopqrstuvwxyz/crm/token',
    'gcloud auth print-access-token',
    'pass show crm',
    "sh -c 'pass show crm | head -1'",
  ])('does not warn about the command "%s"', async (line) => {
    const { stderr } = await (await workplace()).automate(['credentials', 'set', 'crm', '--command', line]);
    expect(stderr).not.toContain('warning');
  });
});
