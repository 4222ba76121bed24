import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { queueKey, type Workplace, workplace } from '../helpers/cli.ts';
import { forgedManifest, forger, hostileFlows } from '../helpers/forged-run.ts';
import { httpServer } from '../helpers/http-server.ts';
import { lightVault, passphrase } from '../helpers/light-vault.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';
import { shell } from '../helpers/shell.ts';

const runArgs = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'];
const getFlow = (origin: string, more = '') => `nodes:\n  - { type: http, url: "${origin}/{{id}}", map: [name]${more} }\n`;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10);
}

/** Returns a function that returns everything that a process has printed to stderr so far. */
function textOf({ stderr }: ChildProcess): () => string {
  let text = '';
  stderr?.on('data', (chunk) => (text += chunk));
  return () => text;
}

/** Stores a secret in the vault of a workplace. */
async function store(place: Workplace, name: string, ...options: string[]): Promise<void> {
  const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };
  await mkdir(place.path('.automate'), { recursive: true });
  if (!existsSync(place.path('.automate/vault.json'))) await place.write('.automate/vault.json', JSON.stringify(lightVault()));
  const set = ['credentials', 'set', name, '--backend', 'vault', ...options];
  expect((await place.automate(set, { env, stdin: 'canary-secret-5417' })).code).toBe(0);
}

/** A queue with one worker, which works in a folder of its own. `prepare` prepares this folder. */
async function workedQueue(env: Record<string, string> = {}, prepare?: (place: Workplace) => Promise<void>, node: readonly string[] = []) {
  const redis = await redisServer();
  const server = await httpServer(({ path }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: `name ${path.slice(1)}` }));
  });
  const place = await workplace({ 'flow.yaml': getFlow(server.origin), 'in.csv': 'id\n1\n2\n' });
  await prepare?.(place);
  const worker = place.start(['worker', '--queue', redis.url, '--lease', '5s'], { env, node });
  const said = textOf(worker.child);
  await until(() => said().includes(' is ready: '));
  return { redis, server, place, worker, said };
}

/** Starts an API with two long pages for each record, whose rows a worker keeps in a temporary file. */
async function longPages() {
  const text = 'x'.repeat(300_000);
  const { origin } = await httpServer(({ path }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items: [{ text }], next: path.endsWith('/1') ? `${path.slice(0, -1)}2` : null }));
  });
  const paginate = 'paginate: { type: next_url, path: next, items: items }, map: { text: "items[].text" }';
  return { text, flow: `nodes:\n  - { type: http, url: "${origin}/{{id}}/1", ${paginate} }\n` };
}

/** Runs two good records, and checks that the worker processes them and then stops without a problem. */
async function expectAlive({ redis, place, worker }: Awaited<ReturnType<typeof workedQueue>>): Promise<string> {
  const { code, stderr } = await place.automate([...runArgs, '--queue', redis.url]);
  expect(code, stderr).toBe(0);
  expect(await place.read('out.csv')).toBe('id,name\n1,name 1\n2,name 2\n');
  worker.child.kill('SIGTERM');
  const ended = await worker.finished;
  expect(ended.code, ended.stderr).toBe(0);
  return ended.stderr;
}

const canaries = ({ folder }: Workplace) => ['command', 'loop', 'save'].filter((name) => existsSync(join(folder, `canary-${name}`)));

describe.skipIf(!hasRedis)(`a worker that finds forged runs in its queue${unlessRedis}`, () => {
  test('starts, reads and writes nothing for them, says why, and processes the next good run', async () => {
    const queue = await workedQueue();
    const { redis, server, place, said } = queue;
    const { put, problemWith } = await forger(redis.url);
    const before = await place.files();
    const good = (run: string) => forgedManifest(run, getFlow(server.origin));
    const forged: [change: (run: string) => object, message: string][] = [
      ...hostileFlows.map(([, text, message]): [(run: string) => object, string] => [(run) => forgedManifest(run, text), message]),
      [(run) => ({ ...good(run), files: { folder: '/' } }), 'its manifest asks for "files"'],
      [(run) => ({ ...good(run), cacert: 'canary' }), 'unexpected value of "cacert"'],
      [(run) => ({ ...good(run), maxErrors: 1 }), 'its manifest asks for "maxErrors"'],
      [(run) => ({ ...good(run), run: '../../canary' }), 'its manifest belongs to a different run'],
      [() => ['no', 'manifest'], 'its manifest is not valid'],
      [(run) => ({ ...good(run), columns: ['0'.repeat(2 ** 24)] }), 'its manifest cannot be read, or has more than 16 MB'],
    ];
    for (const [change, message] of forged) {
      const run = randomUUID();
      await put(run, change(run));
      expect(await problemWith(run)).toContain(message);
      expect(said().split(`cannot process run ${run.slice(0, 8)} of forged: `)).toHaveLength(2);
    }
    expect(canaries(place)).toEqual([]);
    expect(await place.files()).toEqual(before);
    expect(server.requests).toEqual([]);
    // The manifest without a change is accepted, so each refusal has the reason above.
    const control = randomUUID();
    await put(control, good(control));
    await until(() => server.requests.length === 1);
    await expectAlive(queue);
  });

  test('ignores texts that are not ids of runs, and jobs that name no unit', async () => {
    const queue = await workedQueue();
    const { redis, place, said } = queue;
    const { put } = await forger(redis.url);
    for (const id of ['../../canary-save', `${'x'.repeat(500)}`, 'run_1'])
      await put(id, { ...forgedManifest(id, getFlow(queue.server.origin)), cacert: 'canary' });
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    await until(() => said().includes('"run_1"'));
    await sleep(2000);
    expect(said().match(/cannot process a run: expected a UUID as its id, found "\.\.\/\.\.\/canary-save"/g)).toHaveLength(1);
    expect(said()).not.toContain('x'.repeat(61));
    expect(await client.llen('{automate:default}:units:wait')).toBe(0);
    expect(canaries(place)).toEqual([]);
    const { stdout } = await place.automate(['status', '--queue', redis.url, '--json']);
    expect(JSON.parse(stdout).runs).toEqual([]);
    await expectAlive(queue);
  });

  test('sends a credential only to the hosts of the credential', async () => {
    const queue = await workedQueue({ AUTOMATE_VAULT_PASSPHRASE: passphrase }, (place) =>
      store(place, 'bound', '--hosts', 'api.example.com'),
    );
    const { redis, server, said } = queue;
    expect(said()).not.toContain('warning');
    const { put, problemWith } = await forger(redis.url);
    const token = `{ type: oauth2_client_credentials, credential: bound, client_id: me, token_url: "${server.origin}/token" }`;
    const mcp = `{ type: mcp, url: "${server.origin}/mcp", auth: { type: bearer, credential: bound } }`;
    for (const flow of [
      getFlow(server.origin, ', auth: { type: bearer, credential: bound }'),
      getFlow(server.origin, ', auth: { type: api_key, credential: bound, query: k }'),
      getFlow('https://api.example.com', `, auth: ${token}`),
      `connections:\n  m: ${mcp}\nnodes:\n  - { type: mcp, connection: m, tool: t }\n`,
    ]) {
      const run = randomUUID();
      const manifest = forgedManifest(run, flow);
      await put(run, { ...manifest, flow: { ...manifest.flow, options: { ...manifest.flow.options, allowHttp: true } } });
      expect(await problemWith(run)).toContain('the credential "bound" can be sent only to api.example.com');
    }
    expect(server.requests).toEqual([]);
    expect(said()).not.toContain('canary-secret');
    await expectAlive(queue);
  });

  test('warns at its start of credentials that can be sent to any host', async () => {
    const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase, AUTOMATE_CREDENTIAL_ERP: 'canary-secret-8812' };
    const { said } = await workedQueue(env, async (place) => {
      await store(place, 'bound', '--hosts', 'api.example.com');
      await store(place, 'crm-token');
      await store(place, 'shop', '--env', 'staging');
    });
    expect(
      said(),
    ).toContain(`warning: whoever holds the queue key can have these credentials sent to any host: crm-token, shop (staging), AUTOMATE_CREDENTIAL_ERP
limit each of them to its hosts: automate credentials set crm-token --hosts api.example.com
a secret in a variable has no hosts: store it with this command instead, and remove the variable
`);
    expect(said()).not.toContain('canary-secret');
  });
});

describe.skipIf(!hasRedis)(`an unexpected error in a run of a queue${unlessRedis}`, () => {
  test('ends only that run in the worker, and is printed there only', async () => {
    // With this bug, a worker cannot handle the rows of a record with long pages.
    const bug = `const { from } = Buffer;
Buffer.from = function (value, ...more) {
  if (typeof value === 'string' && value.includes('x'.repeat(1000))) throw new TypeError('canary of a bug');
  return from.call(this, value, ...more);
};
`;
    const queue = await workedQueue({}, (place) => place.write('bug.cjs', bug), ['--require', './bug.cjs']);
    const { redis, said } = queue;
    const pages = await longPages();
    const { put, problemWith } = await forger(redis.url);
    const [inNode, inOpening] = [randomUUID(), randomUUID()];
    await put(inNode, { ...forgedManifest(inNode, pages.flow), columns: ['id', 'text'] });
    await put(inOpening, { ...forgedManifest(inOpening, getFlow(queue.server.origin)), cacert: { pem: 'not a certificate' } });
    for (const run of [inNode, inOpening]) expect(await problemWith(run)).toBe("an unexpected error (shown in the worker's output)");
    expect(said()).toMatch(
      /of forged: an unexpected error \(shown in the worker's output\)\nthis is a bug, please report it: TypeError: canary/,
    );
    expect(said()).toContain('its text cannot be used: it contains no PEM certificate');
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect((await client.hvals('{automate:default}:workers')).join()).not.toMatch(/canary|PEM/);
    await expectAlive(queue);
  });

  test('ends the run with the reason if all of its workers have it', async () => {
    // The worker finds out about the wrong URL of the proxy only when it sends the first request.
    const { redis, server, place, worker } = await workedQueue({ HTTP_PROXY: 'ftp://proxy' });
    const { code, stderr } = await place.automate([...runArgs, '--queue', redis.url]);
    expect(code).toBe(5);
    expect(stderr).toContain("no worker can process the run: an unexpected error (shown in the worker's output)");
    expect(stderr).toContain('--resume');
    expect(server.requests).toEqual([]);
    const good = textOf(place.start(['worker', '--queue', redis.url, '--lease', '5s']).child);
    await until(() => good().includes(' is ready: '));
    const resumed = await place.automate([...runArgs, '--resume', '--queue', redis.url]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(await place.read('out.csv')).toBe('id,name\n1,name 1\n2,name 2\n');
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });

  test('leaves the records to workers without the error, and spends no credit twice', async () => {
    const { redis, server, place } = await workedQueue({ HTTP_PROXY: 'ftp://proxy' });
    const good = place.start(['worker', '--queue', redis.url, '--lease', '5s']);
    const said = textOf(good.child);
    await until(() => said().includes(' is ready: '));
    const { code, stderr } = await place.automate([...runArgs, '--queue', redis.url, '--max-credits', '2', '--summary', 's.json']);
    expect(code, stderr).toBe(0);
    expect(server.requests).toHaveLength(2);
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({ written: 2, credits: 2 });
  });

  test('of a full disk leaves the run to other workers, and the worker continues once its own rows are gone', async () => {
    const { redis, place, worker } = await workedQueue();
    worker.child.kill('SIGTERM');
    await worker.finished;
    const pages = await longPages();
    await place.write('pages.yaml', pages.flow);
    await place.write('one.csv', 'id\n1\n');
    // Files of this worker can have at most 400 kB. It has enough space for a temporary file, but not for the rows of this record.
    const script = `ulimit -f 400; echo $$ > worker.pid; exec node "$AUTOMATE" worker --queue ${redis.url} --lease 5s`;
    const small = shell(place, script, { AUTOMATE_QUEUE_KEY: queueKey });
    const run = place.start(['run', 'pages.yaml', '--in', 'one.csv', '--out', 'pages.csv', '--queue', redis.url]);
    const said = textOf(run.child);
    await until(() => said().includes('temporary files cannot be written'));
    const other = place.start(['worker', '--queue', redis.url, '--lease', '5s']);
    const { code, stderr } = await run.finished;
    expect(code, stderr).toBe(0);
    other.child.kill('SIGTERM');
    await other.finished;
    const next = await place.automate([...runArgs, '--queue', redis.url]);
    expect(next.code, next.stderr).toBe(0);
    process.kill(Number(await place.read('worker.pid')), 'SIGTERM');
    const ended = await small;
    expect(ended.stderr).toContain('the temporary file for waiting rows cannot be written');
    expect(ended.code, ended.stderr).toBe(0);
    expect(await place.read('pages.csv')).toBe(`id,text\n1,${pages.text}\n1,${pages.text}\n`);
  });
});

const certificates = makeCertificates();

describe.skipIf(!hasRedis)(`the certificate authorities of a run${unlessRedis}`, () => {
  test('reach the worker as text, and are never written to a file there', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'automate-worker-'));
    onTestFinished(() => rmSync(temporary, { recursive: true }));
    const queue = await workedQueue({ TMPDIR: temporary });
    const files: string[] = [];
    const secure = await httpServer((_request, response) => {
      files.push(...readdirSync(temporary));
      response.end('{"name":"a"}');
    }, certificates.good);
    const { redis, place } = queue;
    await place.write('secure.yaml', getFlow(secure.origin));
    const args = ['run', 'secure.yaml', '--in', 'in.csv', '--out', 'secure.csv', '--queue', redis.url];
    const { code, stderr } = await place.automate([...args, '--cacert', certificates.authority]);
    expect(code, stderr).toBe(0);
    expect(await place.read('secure.csv')).toBe('id,name\n1,a\n2,a\n');
    expect([...files, ...readdirSync(temporary)]).toEqual([]);
    await expectAlive(queue);
  });
});
