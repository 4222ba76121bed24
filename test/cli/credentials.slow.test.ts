import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { readAllFiles, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';
import { shell } from '../helpers/shell.ts';

const secret = 'canary-7f3a-9x';
const day = 86_400_000;

type Place = Awaited<ReturnType<typeof vaultPlace>>;

const credentials = ({ automate, env }: Place, ...args: string[]) => automate(['credentials', ...args], { env });
const setTo = ({ automate, env }: Place, stdin: string | Buffer, ...args: string[]) =>
  automate(['credentials', 'set', ...args], { env, stdin });

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--force'];
const auth = ', auth: { type: bearer, credential: crm }, retry: { max: 0 }';

/** Creates a workplace with a flow that sends the secret of the credential `crm` to a server. */
const flowPlace = (origin: string, flow = askingFlow(origin, auth)) => vaultPlace({ 'flow.yaml': flow, 'rows.csv': csvOf(2) });

/** Returns the properties of the credential `crm`, as `credentials show` prints them. */
async function shown(place: Place): Promise<Record<string, unknown>> {
  return JSON.parse((await credentials(place, 'show', 'crm', '--json')).stdout);
}

/** Sets the expiry of `crm` directly, because --expires refuses a time in the past. */
async function endAt(place: Place, ms: number): Promise<void> {
  const list = JSON.parse(await place.read('.automate/credentials.json'));
  list.credentials[0].expiresAt = new Date(ms).toISOString();
  await place.write('.automate/credentials.json', JSON.stringify(list));
}

describe('automate credentials set', () => {
  test.each([secret, `${secret}\n`, `${secret}\r\n`, `\ufeff${secret}\n`])(
    'stores the secret that it reads from stdin: %j',
    async (stdin) => {
      const server = await httpServer();
      const place = await flowPlace(server.origin);
      expect(await setTo(place, stdin, 'crm')).toEqual({ code: 0, stdout: '', stderr: '"crm" is stored in the vault\n' });
      await place.automate(run, { env: place.env });
      expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    },
  );

  test.each([
    [
      'on several lines',
      `${secret}\nmore`,
      'expected a secret on one line, found a line break in stdin\n  only a PEM or JSON document can have several lines',
    ],
    ['empty', '', 'expected a secret on one line, found nothing in stdin'],
    ['only a line break', '\n', 'expected a secret on one line, found nothing in stdin'],
    ['not UTF-8', Buffer.from([...Buffer.from(secret), 0xff]), 'expected a secret in UTF-8 on stdin'],
    ['longer than a header may be', '§'.repeat(16_385), 'expected a secret of at most 16384 characters, found 16385 in stdin'],
    ['more than 64 KiB', secret.repeat(5000), 'expected a secret on stdin, found more than 65536 bytes'],
  ])('refuses a secret that is %s, and neither prints nor stores it', async (_, stdin, message) => {
    const place = await vaultPlace();
    expect(await setTo(place, stdin, 'crm')).toEqual({ code: 7, stdout: '', stderr: `automate: ${message}\n` });
    expect((await credentials(place, 'list', '--json')).stdout).toBe('[]\n');
  });

  test.each([
    [['crm', secret], /expected a name and nothing else/],
    [['crm', `--value=${secret}`], /unknown option '--value=\.\.\.'/],
    [['crm', '--value', secret], /unknown option '--value'/],
    [['ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'], /found what looks like the secret itself/],
    [['aB3dE5gH7jK9mN1pQ3sT5vW7'], /found what looks like the secret itself/],
    [['a b'], /expected a name of letters/],
    [[], /missing required argument 'name'/],
    [['crm', '--env', 'a b'], /--env: expected an environment name such as staging/],
    [['crm', '--backend', 'plain'], /--backend: expected keychain or vault, found "plain"/],
    [['crm', '--expires', '2020-01-01'], /--expires: expected a duration such as 90d, or a future day/],
    [['crm', '--expires', '2030-02-31x'], /--expires: /],
    [['crm', '--expires', '2027-02-31'], /--expires: expected a duration such as 90d, or a future day .*found "2027-02-31"/],
    [['crm', '--expires', '90'], /--expires: expected a duration such as 90d, or a future day .*found "90"/],
    [['crm', '--expires', '0d'], /--expires: /],
    [['crm', '--expires', '-5d'], /--expires|option/],
    [['crm', '--hosts', 'https://api.example.com'], /--hosts: expected hosts such as/],
    [['crm', '--hosts', 'api.example.com/v2'], /--hosts: /],
    [['crm', '--hosts', ''], /--hosts: /],
    [['crm', '--hosts', '*.'], /--hosts: /],
    [['crm', '--hosts', `${'a'.repeat(100)}!`], /--hosts: /],
  ])('refuses the arguments %j with exit code 2, without printing them', async (args, message) => {
    const place = await vaultPlace();
    const { code, stdout, stderr } = await setTo(place, secret, ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    for (const hidden of [secret, 'ghp_', 'aB3dE5']) expect(stdout + stderr).not.toContain(hidden);
  });

  test('stores and confirms the expiry date, the allowed hosts and the environment', async () => {
    const place = await vaultPlace();
    const args = ['crm', '--expires', '90d', '--hosts', 'API.example.com,*.example.org', '--hosts', 'b.example:8443', '--env', 'staging'];
    const until = new Date(Date.now() + 90 * day).toISOString().slice(0, 10);
    expect((await setTo(place, secret, ...args)).stderr).toBe(
      `"crm" is stored in the vault, for --env staging, until ${until}, for api.example.com, *.example.org, b.example:8443 only\n`,
    );
    expect((await setTo(place, secret, 'crm', '--expires', '2099-12-31', '--hosts', '*')).stderr).toBe(
      '"crm" is stored in the vault, until 2099-12-31\n',
    );
    const [first, second] = JSON.parse((await credentials(place, 'list', '--json')).stdout);
    expect(first).toMatchObject({ env: 'default', expires_at: '2099-12-31T23:59:59.000Z', hosts: null });
    expect(second).toMatchObject({ env: 'staging', hosts: ['api.example.com', '*.example.org', 'b.example:8443'] });
  });

  test('warns about a secret that includes the word "Bearer"', async () => {
    const place = await vaultPlace();
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm'], { env: place.env, stdin: 'Bearer canary-7f3a' });
    expect(code).toBe(0);
    expect(stderr).toContain(
      'warning: the secret begins with "Bearer ", which "auth: { type: bearer }" adds itself: store only the text after it',
    );
    expect(stderr).not.toContain('canary');
  });

  test('warns about an environment variable that takes precedence, and about a secret too short to be masked', async () => {
    const place = await vaultPlace();
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm'], {
      env: { ...place.env, AUTOMATE_CREDENTIAL_CRM: 'another' },
      stdin: 'abc',
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /warning: AUTOMATE_CREDENTIAL_CRM is set, and takes precedence\nwarning: a secret of fewer than 4 characters cannot be masked/,
    );
  });

  test.each([` ${secret}`, `${secret}  `, `\u00a0${secret}`])(
    'warns about spaces around a secret, and masks the secret without the spaces: %j',
    async (blank) => {
      const server = await httpServer(({ headers }, response) => json(response, { name: `got ${headers.authorization?.trim()}` }));
      const place = await flowPlace(server.origin);
      expect((await setTo(place, blank, 'crm')).stderr).toMatch(/warning: the secret begins or ends with spaces/);
      expect((await place.automate(run, { env: place.env })).code).toBe(0);
      expect(await place.read('out.csv')).toContain('got Bearer ***');
      expect(await place.read('out.csv')).not.toContain(secret);
    },
  );

  test('stores nothing without a keychain or a passphrase, and suggests two alternatives', async () => {
    const place = await vaultPlace();
    const { code, stderr } = await place.automate(['credentials', 'set', 'crm'], { stdin: secret });
    expect(code).toBe(7);
    expect(stderr).toMatch(/no session bus[\s\S]*no passphrase[\s\S]*AUTOMATE_VAULT_PASSPHRASE_FILE[\s\S]*AUTOMATE_CREDENTIAL_CRM/);
    expect(await readAllFiles(place)).not.toContain(secret);
  });
});

describe('automate credentials', () => {
  test('list and show print credentials and variables, but never a secret', async () => {
    const place = await vaultPlace();
    await setTo(place, secret, 'crm', '--expires', '2099-12-31', '--hosts', 'api.example.com');
    await setTo(place, 'another', 'other', '--env', 'staging');
    const env = {
      ...place.env,
      AUTOMATE_CREDENTIAL_FROM_VARIABLE: 'canary',
      AUTOMATE_CREDENTIAL_FROM_FILE_FILE: '/nowhere',
      AUTOMATE_CREDENTIAL_FROM_VARIABLE_FILE: '/nowhere',
    };
    const { stdout } = await place.automate(['credentials', 'list'], { env });
    expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['name', 'env', 'backend', 'age', 'expires', 'last used', 'hosts'],
      ['from-file', '-', 'file', '-', '-', '-', '-'],
      ['from-variable', '-', 'environment', '-', '-', '-', '-'],
      ['crm', 'default', 'vault', expect.stringMatching(/^\d+s$/), '2099-12-31', 'never', 'api.example.com'],
      ['other', 'staging', 'vault', expect.stringMatching(/^\d+s$/), '-', 'never', '-'],
      [''],
    ]);
    expect(stdout).not.toContain('canary');
    expect(await shown(place)).toEqual({
      name: 'crm',
      env: 'default',
      backend: 'vault',
      set_at: expect.stringMatching(/Z$/),
      expires_at: '2099-12-31T23:59:59.000Z',
      last_used_at: null,
      hosts: ['api.example.com'],
      previous_set_at: null,
    });
    expect((await credentials(place, 'show', 'crm')).stdout).toMatch(/name: {6}crm\n[\s\S]*hosts: {5}api\.example\.com\n$/);
  });

  test('list explains how to store the first credential', async () => {
    const { code, stdout, stderr } = await credentials(await vaultPlace(), 'list');
    expect([code, stdout, stderr]).toEqual([0, '', 'there are no credentials here\n  store one: automate credentials set NAME\n']);
  });

  test('says that a credential does not exist, and how to store it', async () => {
    const place = await vaultPlace();
    await setTo(place, secret, 'crm', '--env', 'staging');
    for (const [args, code, message] of [
      [['show', 'crm'], 7, /there is no credential "crm"\n {2}it is stored for --env staging/],
      [['show', 'nobody'], 7, /there is no credential "nobody"\n {2}store it: automate credentials set nobody/],
      [['remove', 'crm'], 7, /no credential "crm" is stored/],
      [['restore', 'crm'], 7, /no credential "crm" is stored/],
      [['restore', 'crm', '--env', 'staging'], 7, /no previous secret of "crm" is stored/],
      [['check', 'crm'], 7, /^problem: there is no credential "crm"; it is stored for the environment staging\n {2}store it/],
      [['show', 'crm', '--env', 'test'], 7, /there is no credential "crm"\n {2}it is stored for --env staging/],
      [['show', 'nobody', '--env', 'test'], 7, /store it: automate credentials set nobody --env test\n/],
      [['check', 'nobody', '--env', 'test'], 7, /store it: automate credentials set nobody --env test\n/],
      [['list', 'nobody'], 0, /^there is no credential "nobody" here\n {2}there are others: automate credentials list\n/],
      [['list', 'nobody', '--env', 'test'], 0, /^there is no credential "nobody" for --env test\n/],
      [['list', '--env', 'test'], 0, /^there are no credentials for --env test\n {2}there are others/],
      [['frob'], 2, /unknown command 'frob'/],
      [['show'], 2, /missing required argument 'name'/],
      [['list', '--env', '../x'], 2, /--env: expected an environment name such as staging, found "..\/x"/],
    ] as const) {
      expect(await credentials(place, ...args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
    }
  });

  test('check shows whether a run would find a credential, and where', async () => {
    const place = await vaultPlace();
    await setTo(place, secret, 'crm', '--hosts', 'api.example.com');
    await setTo(place, 'another', 'other', '--expires', '13d');
    expect(await credentials(place, 'check')).toEqual({
      code: 0,
      stdout: 'crm: found in the vault, for api.example.com only\nother: found in the vault\n',
      stderr: expect.stringMatching(/^warning: the credential "other" expires in 13 days \(\d{4}-\d\d-\d\d\)\n$/),
    });
    const { code, stderr } = await place.automate(['credentials', 'check', 'crm'], { env: { AUTOMATE_VAULT_PASSPHRASE: 'other one' } });
    expect([code, stderr]).toEqual([7, expect.stringMatching(/^problem: the credential "crm" is in the vault: .*the passphrase is wrong/)]);
  });

  test("remove deletes a credential, but requires --force without the vault's passphrase", async () => {
    const place = await vaultPlace();
    await setTo(place, secret, 'crm');
    const denied = await place.automate(['credentials', 'remove', 'crm']);
    expect(denied).toMatchObject({ code: 7, stderr: expect.stringContaining('automate credentials remove crm --force') });
    expect(await credentials(place, 'remove', 'crm')).toEqual({ code: 0, stdout: '', stderr: '"crm" is removed\n' });
    expect((await credentials(place, 'check', 'crm')).code).toBe(7);
    await setTo(place, secret, 'crm');
    const forced = await place.automate(['credentials', 'remove', 'crm', '--force']);
    expect(forced).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/"crm" is removed from the list, but its secret is still in its backend/),
    });
    expect((await credentials(place, 'list', '--json')).stdout).toBe('[]\n');
  });

  test('backend lists the credential backends, and says why a backend cannot be used', async () => {
    const place = await vaultPlace();
    const states = async (env: Record<string, string>) => {
      const { code, stdout } = await place.automate(['credentials', 'backend', '--json'], { env });
      expect(code).toBe(0);
      return JSON.parse(stdout).map(({ backend, state, detail }: Record<string, string>) => [backend, state, detail]);
    };
    const keychain = ['keychain', 'unavailable', 'no session bus (D-Bus) here, as under cron or over ssh'];
    expect(await states({ ...place.env, AUTOMATE_CREDENTIAL_CRM: 'canary' })).toEqual([
      ['environment', 'read first', 'AUTOMATE_CREDENTIAL_CRM'],
      keychain,
      ['vault', 'active', place.path('.automate/vault.json')],
    ]);
    expect(await states({})).toEqual([
      ['environment', 'read first', expect.stringContaining('no AUTOMATE_CREDENTIAL_... variable')],
      keychain,
      ['vault', 'unavailable', expect.stringMatching(/^there is no passphrase\nset AUTOMATE_VAULT_PASSPHRASE, or/)],
    ]);
    expect(await states({ AUTOMATE_VAULT_PASSPHRASE: 'other one' })).toContainEqual([
      'vault',
      'unavailable',
      expect.stringMatching(
        /vault\.json cannot be opened: the passphrase is wrong, or the file was changed\ncheck AUTOMATE_VAULT_PASSPHRASE$/,
      ),
    ]);
    expect((await credentials(place, 'backend')).stdout).toMatch(/^environment +read first .*\nkeychain +unavailable .*\nvault +active /);
  });
});

describe('a run with credentials', () => {
  test('takes the environment from --env, or else from AUTOMATE_ENV', async () => {
    const server = await httpServer();
    const place = await flowPlace(server.origin);
    for (const name of ['default', 'staging', 'test']) await setTo(place, `secret of ${name}`, 'crm', '--env', name);
    const environments: [string[], Record<string, string>][] = [
      [[], {}],
      [[], { AUTOMATE_ENV: 'staging' }],
      [['--env', 'test'], { AUTOMATE_ENV: 'staging' }],
    ];
    for (const [args, env] of environments) await place.automate([...run, '--limit', '1', ...args], { env: { ...place.env, ...env } });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
      ['default', 'staging', 'test'].map((name) => `Bearer secret of ${name}`),
    );
    const nobody = await place.automate([...run, '--env', 'production'], { env: place.env });
    expect([nobody.code, nobody.stderr]).toEqual([
      7,
      expect.stringContaining('there is no credential "crm" for the environment production; it is stored for'),
    ]);
    const wrong = await place.automate(run, { env: { ...place.env, AUTOMATE_ENV: '../x' } });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('in AUTOMATE_ENV')]);
  });

  describe.each([
    [
      'without the credential',
      async () => {},
      /there is no credential "crm"[\s\S]*AUTOMATE_CREDENTIAL_CRM, or AUTOMATE_CREDENTIAL_CRM_FILE/,
    ],
    [
      'without the passphrase of the vault',
      async (place: Place) => void (await setTo(place, secret, 'crm')),
      /set AUTOMATE_VAULT_PASSPHRASE, or/,
    ],
  ])('a run under cron %s exits with 7 and tells the user which variable to set', (_, prepare, message) => {
    test.each(['an open pipe', '/dev/null', 'closed'])('if stdin is %s', async (stdin) => {
      const server = await askedServer();
      const place = await flowPlace(server.origin);
      await prepare(place);
      const { code, stderr } =
        stdin === 'an open pipe'
          ? await place.start(run, { keepStdin: true }).finished
          : await shell(
              place,
              `exec env -i HOME="$HOME" AUTOMATE_HOME="$AUTOMATE_HOME" "$(command -v node)" "$AUTOMATE" ${run.join(' ')} ${stdin === 'closed' ? '<&-' : '</dev/null'}`,
            );
      expect([code, stderr]).toEqual([7, expect.stringMatching(message)]);
      expect(server.calls.size).toBe(0);
    });
  });

  test('sends nothing and exits with 7 if the credential is not allowed for the host', async () => {
    const server = await askedServer();
    const place = await flowPlace(server.origin);
    await setTo(place, secret, 'crm', '--hosts', 'api.example.com');
    for (const args of [run, ['validate', 'flow.yaml'], ['test-request', 'flow.yaml', '--in', 'rows.csv']]) {
      const { code, stderr } = await place.automate(args, { env: place.env });
      expect(code).toBe(7);
      expect(stderr).toContain(`the credential "crm" can be sent only to api.example.com, not to 127.0.0.1:${server.port}`);
    }
    expect(server.calls.size).toBe(0);
    await setTo(place, secret, 'crm', '--hosts', '127.0.0.1');
    expect((await place.automate(run, { env: place.env })).code).toBe(0);
  });

  test('fails a record without sending its request if the credential is not allowed for its host', async () => {
    const home = await httpServer((_, response) => json(response, { name: 'x' }));
    const away = await httpServer((_, response) => json(response, { name: 'x' }));
    // The flow must contain both hosts literally, because it sends a secret only to hosts that it names.
    const named = [home, away].map(({ origin }) => `{ type: http, when: id == 0, url: "${origin}/", map: { x: name } }`);
    const flow = `nodes: [${named}, { id: ask, type: http, url: "{{url}}", map: { name: name }${auth} }]\nallow_hosts: [127.0.0.1]\n`;
    const place = await flowPlace('', flow);
    await place.write('rows.csv', `id,url\n1,${home.origin}/1\n2,${away.origin}/2\n3,${home.origin}/3\n`);
    await setTo(place, secret, 'crm', '--hosts', `127.0.0.1:${home.port}`);
    const { code, stderr } = await place.automate(run, { env: place.env });
    expect([code, stderr]).toEqual([4, expect.stringContaining('3 read, 2 written, 1 failed')]);
    expect(home.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill(`Bearer ${secret}`));
    expect(away.requests).toEqual([]);
    expect(await place.read('out.errors.csv')).toContain(`the credential ""crm"" can be sent only to 127.0.0.1:${home.port}`);
  });

  test('refuses an expired credential before anything is sent, and warns for 14 days before the expiry', async () => {
    const server = await askedServer();
    const place = await flowPlace(server.origin);
    await setTo(place, secret, 'crm', '--expires', '1d');
    await endAt(place, Date.now() - 1);
    const { code, stderr } = await place.automate(run, { env: place.env });
    expect([code, stderr]).toEqual([7, expect.stringMatching(/"crm" expired on [\s\S]*set a new one: automate credentials set crm/)]);
    expect(server.calls.size).toBe(0);
    expect((await credentials(place, 'show', 'crm')).stdout).toMatch(/expires: {3}expired \d{4}-/);
    for (const [ms, warning] of [
      [14 * day, /warning: the credential "crm" expires in 14 days \(\d/],
      [15 * day, /^(?![\s\S]*expires)/],
    ] as const) {
      await endAt(place, Date.now() + ms);
      for (const args of [run, [...run, '--quiet']])
        expect(await place.automate(args, { env: place.env })).toMatchObject({ code: 0, stderr: expect.stringMatching(warning) });
    }
  });

  test("suggests `automate credentials` commands with the run's --env option", async () => {
    const server = await httpServer((_, response) => json(response, {}, 401));
    const place = await flowPlace(server.origin);
    const there = ['--env', 'staging'];
    const told = async () => (await place.automate([...run, ...there], { env: place.env })).stderr;
    expect(await told()).toContain('store it: automate credentials set crm --env staging\n');
    await setTo(place, 'first', 'crm', ...there, '--hosts', 'api.example.com');
    expect(await told()).toContain(
      'to allow that host, set the credential again with different --hosts: automate credentials set crm --env staging\n',
    );
    const { stderr } = await setTo(place, 'second', 'crm', ...there, '--hosts', '*');
    expect(stderr).toContain('automate credentials restore crm --env staging\n');
    expect(await told()).toContain('automate credentials restore crm --env staging\n');
    await setTo(place, 'third', 'crm', ...there, '--expires', '1d');
    await endAt(place, Date.now() - 1);
    expect(await told()).toContain('set a new one: automate credentials set crm --env staging\n');
    const { stderr: denied } = await place.automate(['credentials', 'remove', 'crm', ...there]);
    expect(denied).toContain('automate credentials remove crm --env staging --force\n');
  });

  test('stores when a credential was last used, even if a test request drops its record early', async () => {
    const server = await httpServer((_request, response) => json(response, { list: [] }));
    const dropping = askingFlow(server.origin, `, when_empty: drop${auth}`).replace('map: { name: name }', 'map: { name: "list[].name" }');
    const place = await flowPlace(server.origin, dropping.replace(' }]', ` }, { id: behind, type: http, url: "${server.origin}/" }]`));
    await setTo(place, 'a secret', 'crm');
    const before = await readdir(place.path('.automate'));
    const { code, stderr } = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--node', 'behind'], {
      env: place.env,
    });
    expect([code, stderr]).toEqual([6, expect.stringContaining('a node before this one drops the record')]);
    expect(Date.now() - Date.parse((await shown(place)).last_used_at as string)).toBeLessThan(60_000);
    expect((await readdir(place.path('.automate'))).filter((name) => !/^credits\.db|^runs$/.test(name))).toEqual(before);
  });

  test('can restore the previous secret until a server has accepted the new secret', async () => {
    let accepted = 'Bearer old secret';
    const server = await httpServer(({ headers }, response) =>
      json(response, { name: 'x' }, headers.authorization === accepted ? 200 : 401),
    );
    const place = await flowPlace(server.origin);
    const codeOfRun = async () => (await place.automate(run, { env: place.env })).code;
    await setTo(place, 'old secret', 'crm');
    expect((await shown(place)).last_used_at).toBeNull();
    expect(await codeOfRun()).toBe(0);
    expect(Date.now() - Date.parse((await shown(place)).last_used_at as string)).toBeLessThan(60_000);

    expect((await setTo(place, 'new secret', 'crm')).stderr).toContain('to restore it: automate credentials restore crm\n');
    expect((await place.automate(run, { env: place.env })).stderr).toContain('automate credentials restore crm');
    expect((await shown(place)).previous_set_at).not.toBeNull();
    expect((await credentials(place, 'restore', 'crm')).code).toBe(0);
    expect(await codeOfRun()).toBe(0);

    accepted = 'Bearer new secret';
    await setTo(place, 'new secret', 'crm');
    expect(await codeOfRun()).toBe(0);
    expect((await shown(place)).previous_set_at).toBeNull();
    expect((await credentials(place, 'restore', 'crm')).code).toBe(7);
  });
});

/**
 * A script that each process of a command loads. It notes the arguments of the process and, except for the program itself, which gets
 * the passphrase in a variable, its environment variables.
 */
const observe = `
const isProgram = process.argv[1].endsWith('automate.js');
const seen = [process.argv.join(' '), ...(isProgram ? [] : Object.values(process.env))];
require('node:fs').appendFileSync(process.env.SEEN, seen.join('\\n') + '\\n');
`;

describe("secrets and the vault's passphrase", () => {
  test("never appear in a process argument, in a child process's environment or in a file", async () => {
    const server = await askedServer();
    const place = await flowPlace(server.origin);
    const outside = await workplace({ seen: '', 'observe.cjs': observe });
    const env = { ...place.env, NODE_OPTIONS: `--require ${outside.path('observe.cjs')}`, SEEN: outside.path('seen') };
    const commands: [string[], string][] = [
      [['credentials', 'set', 'crm'], secret],
      [['credentials', 'check'], ''],
      [run, ''],
    ];
    for (const [args, stdin] of commands) expect((await place.start(args, { env, stdin }).finished).code).toBe(0);
    const texts = await outside.read('seen');
    // Makes sure that both the program and the keychain process were observed.
    for (const process of ['credentials set crm', 'run flow.yaml', 'keychain-process.js']) expect(texts).toContain(process);
    const files = await readAllFiles(place);
    for (const hidden of [secret, passphrase]) {
      for (const form of [hidden, Buffer.from(hidden).toString('base64'), Buffer.from(hidden).toString('hex')]) {
        expect(texts).not.toContain(form);
        expect(files).not.toContain(form);
      }
    }
    expect(server.calls.size).toBe(2);
  });
});
