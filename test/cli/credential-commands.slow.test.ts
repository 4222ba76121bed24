import { chmod, mkdir, rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askingFlow, csvOf } from '../helpers/asking.ts';
import { type Finished, readAllFiles, type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, json, type SeenRequest } from '../helpers/http-server.ts';
import { readProc } from '../helpers/processes.ts';
import { hasTerminal, shell, unlessTerminal } from '../helpers/shell.ts';

/** The secret. No script contains it in one piece, so any file that does was written by the tool. */
const canary = 'canary-7f3a-9x';
const printCanary = "printf 'can%s\\n' ary-7f3a-9x";

const auth = ', auth: { type: bearer, credential: crm }, retry: { max: 0 }';
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

/** Creates a workplace with a flow, its records, and the script `give.sh`, which counts how often it is run. */
async function scene(origin: string, give = printCanary, more = auth): Promise<Workplace & { runs(): Promise<number> }> {
  const place = await workplace({ 'flow.yaml': askingFlow(origin, more), 'rows.csv': csvOf(3) });
  await script(place, give);
  const runs = async () => (await place.read('runs').catch(() => '')).split('\n').length - 1;
  return { ...place, runs };
}

async function script(place: Workplace, give: string, name = 'give.sh'): Promise<void> {
  await place.write(name, `#!/bin/sh\necho run >> runs\n${give}\n`);
  await chmod(place.path(name), 0o755);
}

/** Runs a command in its own process, because a single process would run a credential's command only once. */
const automate = (place: Workplace, args: readonly string[], env: Record<string, string> = {}): Promise<Finished> =>
  place.start(args, { env }).finished;

const setTo = (place: Workplace, line: string, ...more: string[]) =>
  place.automate(['credentials', 'set', 'crm', '--command', line, ...more]);

const answering = (more?: (request: SeenRequest) => number): Promise<HttpServer> =>
  httpServer((request, response) => {
    const status = more?.(request) ?? 200;
    if (status === 200) json(response, { name: `n${request.path}` });
    else response.writeHead(status).end();
  });

const sentTokens = ({ requests }: HttpServer) => requests.map(({ headers }) => headers.authorization);

describe('a run with a credential that comes from a command', () => {
  test('runs the command once, sends the secret, and never writes the secret to a file or stream', async () => {
    const seen: string[] = [];
    const server = await answering(() => {
      seen.push(readProc(started.child.pid ?? 0, 'cmdline'));
      return 200;
    });
    const place = await scene(server.origin, `${printCanary}\n${printCanary} >&2`);
    await setTo(place, './give.sh', '--hosts', '127.0.0.1');
    const started = place.start([...run, '--verbose', '--events', 'events', '--summary', 'summary', '--report', 'report.html']);
    const { code, stdout, stderr } = await started.finished;
    expect([code, sentTokens(server)]).toEqual([0, Array(3).fill(`Bearer ${canary}`)]);
    expect(await place.runs()).toBe(1);
    expect([stdout, stderr, ...seen, await readAllFiles(place)].filter((text) => text.includes(canary))).toEqual([]);
    expect(JSON.parse((await place.automate(['credentials', 'list', '--json'])).stdout)[0].last_used_at).not.toBeNull();
  });

  test('masks the secret if a server echoes it', async () => {
    const server = await httpServer(({ headers }, response) => json(response, { name: headers.authorization }));
    const place = await scene(server.origin);
    await setTo(place, './give.sh');
    expect((await automate(place, run)).code).toBe(0);
    expect(await place.read('out.csv')).toContain('Bearer ***');
  });

  test.each([
    ['a body', ', method: POST, body: { token: { credential: crm } }', ({ body }: SeenRequest) => JSON.parse(body).token, canary],
    [
      'a user and password',
      ', auth: { type: basic, username: ada, credential: crm }',
      ({ headers }: SeenRequest) => Buffer.from(String(headers.authorization).slice(6), 'base64').toString(),
      `ada:${canary}`,
    ],
    ['a header', ', auth: { type: api_key, header: X-Key, credential: crm }', ({ headers }: SeenRequest) => headers['x-key'], canary],
  ])('sends the secret in %s', async (_, more, sent, expected) => {
    const server = await answering();
    const place = await scene(server.origin, printCanary, more);
    await setTo(place, './give.sh');
    expect((await automate(place, run)).code).toBe(0);
    expect(server.requests.map(sent)).toEqual(Array(3).fill(expected));
    expect(await place.runs()).toBe(1);
  });

  test('sends a client secret to the token server', async () => {
    const server = await httpServer(({ path, body }, response) =>
      json(
        response,
        path === '/token' ? { access_token: `t-${new URLSearchParams(body).get('client_secret')}`, expires_in: 60 } : { name: 'x' },
      ),
    );
    const oauth = `, auth: { type: oauth2_client_credentials, token_url: "${server.origin}/token", client_id: me, credential: crm, client_auth: body }`;
    const place = await scene(server.origin, printCanary, oauth);
    await setTo(place, './give.sh');
    expect((await automate(place, run)).code).toBe(0);
    expect(sentTokens(server)).toEqual([undefined, ...Array(3).fill(`Bearer t-${canary}`)]);
    expect(await place.runs()).toBe(1);
  });

  test('does not run the command if no request needs the secret', async () => {
    const server = await answering();
    const place = await scene(server.origin, printCanary, `${auth}, when: 'id == "none"'`);
    await setTo(place, './give.sh');
    expect((await automate(place, run)).code).toBe(0);
    expect([server.requests.length, await place.runs()]).toEqual([0, 0]);
  });

  test('uses the environment variable instead of the command if both exist', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await setTo(place, './give.sh');
    expect((await automate(place, run, { AUTOMATE_CREDENTIAL_CRM: 'of-variable' })).code).toBe(0);
    expect([sentTokens(server)[0], await place.runs()]).toEqual(['Bearer of-variable', 0]);
  });

  test('sends the secret only to allowed hosts, and does not run the command for other hosts', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await setTo(place, './give.sh', '--hosts', 'api.example.com');
    const { code, stderr } = await automate(place, run);
    expect([code, server.requests.length, await place.runs()]).toEqual([7, 0, 0]);
    expect(stderr).toContain('the credential "crm" can be sent only to api.example.com');
  });

  test('runs the command once in each worker process', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await place.write('rows.csv', csvOf(200));
    await setTo(place, './give.sh');
    const { code, stdout, stderr } = await automate(place, [...run, '--workers', '2']);
    expect([code, new Set(sentTokens(server))]).toEqual([0, new Set([`Bearer ${canary}`])]);
    expect([1, 2]).toContain(await place.runs());
    expect([stdout, stderr, await readAllFiles(place)].filter((text) => text.includes(canary))).toEqual([]);
  });
});

describe("a credential's command that fails", () => {
  const failing = `${printCanary}; ${printCanary} >&2; exit 3`;

  test.each([[[]], [['--workers', '2']], [['--replace']]])(
    'ends the run with exit code 7 before anything is sent or written, with the options %j',
    async (more) => {
      const server = await answering();
      const place = await scene(server.origin, failing);
      await setTo(place, './give.sh');
      const { code, stderr } = await automate(place, [...run, ...more, '--summary', 'summary']);
      expect([code, server.requests.length]).toEqual([7, 0]);
      expect(stderr.replace(/^at most 16 requests at once in each worker\n/, '')).toBe(
        'automate: the command of the credential "crm" ended with exit code 3: ***\n  try it: automate credentials check crm\n',
      );
      expect(await place.files()).toEqual(['flow.yaml', 'give.sh', 'rows.csv', 'runs', 'summary']);
      expect(await readAllFiles(place)).not.toContain(canary);
      // Once the credential's own command works, the same `automate` command succeeds.
      await script(place, printCanary);
      expect((await automate(place, [...run, ...more])).code).toBe(0);
      expect(server.requests).toHaveLength(3);
    },
  );

  test('runs only once, even if many records wait for the secret', async () => {
    const place = await scene('http://127.0.0.1:1', 'exit 1');
    await place.write('rows.csv', csvOf(100));
    await setTo(place, './give.sh');
    expect((await automate(place, run)).code).toBe(7);
    expect(await place.runs()).toBe(1);
  });

  test('in the middle of a run stops the run, which can then be resumed', async () => {
    const server = await httpServer(async ({ path }, response) => {
      // The secret is still valid for the first request, but not for the second one.
      if (path === '/1') await new Promise((resolve) => setTimeout(resolve, 5500));
      json(response, { name: `n${path}` });
    });
    const place = await scene(server.origin, `[ $(wc -l < runs) = 1 ] || exit 4; ${printCanary}`);
    await setTo(place, './give.sh', '--for', '5s');
    const { code, stderr } = await automate(place, [...run, '--concurrency', '1']);
    expect([code, server.requests.length]).toEqual([7, 1]);
    expect(stderr).toContain('reason: the command of the credential "crm" ended with exit code 4\n');
    expect(stderr).toContain('resume with:');
    await script(place, printCanary);
    expect((await automate(place, [...run, '--resume'])).code).toBe(0);
    expect(server.requests.map(({ path }) => path)).toEqual(['/1', '/2', '/3']);
  });

  test('is reported if it does not print username:password for basic authentication', async () => {
    const server = await answering();
    const place = await scene(server.origin, printCanary, ', auth: { type: basic, credential: crm }');
    await setTo(place, './give.sh');
    const { code, stderr } = await automate(place, run);
    expect([code, server.requests.length]).toEqual([7, 0]);
    expect(stderr).toContain('the command of the credential "crm" did not print a usable secret: expected username:password, found no ":"');
  });

  test('is killed when the run receives a second signal', async () => {
    const server = await answering();
    const place = await scene(server.origin, 'sleep 300 & echo $! > new; mv new pid; wait');
    await setTo(place, './give.sh');
    const { child, finished } = place.start(run);
    await expect.poll(() => place.files()).toContain('pid');
    const repeated = setInterval(() => child.kill('SIGTERM'), 250);
    const { code, stderr } = await finished.finally(() => clearInterval(repeated));
    expect([code, server.requests.length]).toEqual([143, 0]);
    expect(stderr).toContain('received SIGTERM');
    const pid = (await place.read('pid')).trim();
    await expect.poll(() => readProc(pid, 'cmdline')).toBe('');
  });

  test('does not run if the credential has expired', async () => {
    const place = await scene('http://127.0.0.1:1');
    await setTo(place, './give.sh', '--expires', '1d');
    const list = JSON.parse(await place.read('.automate/credentials.json'));
    list.credentials[0].expiresAt = '2026-01-01T00:00:00.000Z';
    await place.write('.automate/credentials.json', JSON.stringify(list));
    const { code, stderr } = await automate(place, run);
    expect([code, await place.runs()]).toEqual([7, 0]);
    expect(stderr).toContain('the credential "crm" expired on 2026-01-01');
  });
});

describe('a credential that comes from a command', () => {
  test('is not needed by validate and --dry-run, which do not run the command', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await setTo(place, './give.sh');
    for (const args of [
      ['validate', 'flow.yaml'],
      ['validate', 'flow.yaml', '--in', 'rows.csv'],
      [...run, '--dry-run'],
    ])
      expect((await place.automate(args)).code).toBe(0);
    expect([server.requests.length, await place.runs()]).toEqual([0, 0]);
  });

  test('is read by `credentials check`, which reports how long the command took', async () => {
    const place = await scene('http://127.0.0.1:1', `${printCanary}; ${printCanary} >&2`);
    await setTo(place, './give.sh', '--hosts', 'api.example.com');
    for (const name of [['crm'], []]) {
      const { code, stdout, stderr } = await automate(place, ['credentials', 'check', ...name]);
      expect([code, stdout, stderr]).toEqual([
        0,
        expect.stringMatching(/^crm: its command printed a secret in [\d.]+ m?s, for api\.example\.com only\n$/),
        '',
      ]);
    }
    expect(await place.runs()).toBe(2);
  });

  test('makes `credentials check` exit with 7 if the command fails', async () => {
    const place = await scene('http://127.0.0.1:1', `${printCanary}; echo "not signed in: ${canary.slice(0, 3)}" >&2; exit 1`);
    await setTo(place, './give.sh');
    expect(await automate(place, ['credentials', 'check', 'crm'])).toEqual({
      code: 7,
      stdout: '',
      stderr: 'problem: the command of the credential "crm" ended with exit code 1: not signed in: can\n',
    });
  });

  test('is checked by doctor, which runs the command but sends no request', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await setTo(place, './give.sh');
    await mkdir(place.path('.automate'), { recursive: true });
    const { code, stdout } = await automate(place, ['doctor', 'flow.yaml'], { AUTOMATE_VAULT_PASSPHRASE: 'pass phrase' });
    expect([code, server.requests.length, await place.runs()]).toEqual([0, 0, 1]);
    expect(stdout).toMatch(/ok {7}credentials of the flow: found: crm\nok {7}command of crm: it printed a secret in [\d.]+ m?s\n/);
    await script(place, 'echo no >&2; exit 5');
    const failed = await automate(place, ['doctor', 'flow.yaml']);
    expect(failed.code).toBe(7);
    expect(failed.stdout).toContain('problem  command of crm: the command of the credential "crm" ended with exit code 5: no\n');
  });

  test('is sent by test-request', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await setTo(place, './give.sh');
    const { code, stdout } = await automate(place, ['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([code, sentTokens(server)]).toEqual([0, [`Bearer ${canary}`]]);
    expect(stdout).toContain('Authorization: Bearer ***');
    await script(place, 'exit 6');
    const failed = await automate(place, ['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([failed.code, failed.stderr]).toEqual([7, expect.stringContaining('ended with exit code 6')]);
  });

  test('is sent by `connections test`', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    await place.automate(['connections', 'add', 'http', 'api', '--base-url', server.origin, '--auth', 'bearer', '--credential', 'crm']);
    await setTo(place, './give.sh');
    expect((await automate(place, ['connections', 'test', 'api'])).code).toBe(0);
    expect(sentTokens(server)).toEqual([`Bearer ${canary}`]);
    await rm(place.path('give.sh'));
    const failed = await automate(place, ['connections', 'test', 'api']);
    expect([failed.code, failed.stderr]).toEqual([7, expect.stringContaining('there is no program "./give.sh"')]);
  });
});

describe('an interactive login', () => {
  test('cannot use a credential that comes from a command', async () => {
    const server = await answering();
    const place = await scene(server.origin);
    const auth = ['--auth', 'oauth2_authorization_code', '--credential', 'crm', '--client-id', 'me'];
    await place.automate(['connections', 'add', 'http', 'api', '--base-url', server.origin, ...auth]);
    await place.write('flow.yaml', 'nodes: [{ type: http, connection: api, url: "/{{id}}" }]\n');
    await setTo(place, './give.sh');
    const [login, used] = [await automate(place, ['connections', 'login', 'api', '--no-browser']), await automate(place, run)];
    expect([login.code, used.code, server.requests.length, await place.runs()]).toEqual([7, 7, 0, 0]);
    expect(login.stderr).toContain(
      'the credential "crm" gets its secret from a command, which a login cannot replace: use a different credential in the connection "api"',
    );
    expect(used.stderr).toContain(
      'the credential "crm" gets its secret from a command, but automate has to renew the login: use a different credential',
    );
  });
});

describe("a credential's command at a terminal", () => {
  test.skipIf(!hasTerminal)(`can prompt for input while the progress display pauses${unlessTerminal}`, async () => {
    const server = await answering();
    const place = await scene(server.origin, 'printf "PIN: " >&2; read pin < /dev/tty; test -t 0 && echo "pin-$pin"');
    await setTo(place, './give.sh');
    const { code, stdout } = await shell(
      place,
      `(until [ -e runs ]; do :; done; echo 1234) | script -qec 'node "$AUTOMATE" ${run.join(' ')}' /dev/null`,
    );
    expect([code, new Set(sentTokens(server))]).toEqual([0, new Set(['Bearer pin-1234'])]);
    expect(stdout).toContain('PIN: ');
  });
});
