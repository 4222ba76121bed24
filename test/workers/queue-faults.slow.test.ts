import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer } from '../helpers/http-server.ts';
import { hasRedis, type RedisServer, redisServer, unlessRedis } from '../helpers/redis.ts';

const records = 400;
const table = `id\n${Array.from({ length: records }, (_, index) => `${index + 1}\n`).join('')}`;
const flow = (origin: string, more = '') => `nodes:\n  - { type: http, url: "${origin}/{{id}}", concurrency: 4, map: [name]${more} }\n`;

/** A server that takes some ms for each answer. Every 9th record does not exist. */
const slowServer = (ms = 10): Promise<HttpServer> =>
  httpServer(async ({ path }, response) => {
    await sleep(ms);
    const id = Number(path.slice(1));
    if (id % 9 === 0) response.statusCode = 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: `name ${id}` }));
  });

const expectedRows = `id,name\n${Array.from({ length: records }, (_, index) => index + 1)
  .filter((id) => id % 9 !== 0)
  .map((id) => `${id},name ${id}\n`)
  .join('')}`;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

/** A run over a queue, and its workers. */
interface QueuedRun {
  readonly redis: RedisServer;
  readonly place: Workplace;
  readonly server: HttpServer;
  readonly client: Redis;
  worker(more?: readonly string[], env?: Record<string, string>): ReturnType<Workplace['start']>;
  run(more?: readonly string[], env?: Record<string, string>): ReturnType<Workplace['start']>;
}

async function queuedRun(more = '', ms?: number): Promise<QueuedRun> {
  const redis = await redisServer({ 'aof-use-rdb-preamble': 'no' });
  const server = await slowServer(ms);
  const place = await workplace({ 'flow.yaml': flow(server.origin, more), 'in.csv': table });
  const client = new Redis(redis.url);
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--summary', 'summary.json', '--queue', redis.url];
  return {
    ...{ redis, place, server, client },
    worker: (options = [], env = {}) => place.start(['worker', '--queue', redis.url, '--lease', '5s', ...options], { env }),
    run: (options = [], env = {}) => place.start([...args, ...options], { env }),
  };
}

/** The folder of the files of Redis. */
const folderOf = async (client: Redis) => ((await client.config('GET', 'dir')) as string[])[1] as string;

/** Every command in the append-only file of Redis. */
function commandsOf(folder: string): string {
  const files = join(folder, 'appendonlydir');
  return readdirSync(files)
    .map((name) => readFileSync(join(files, name), 'latin1'))
    .join();
}

/** The requests for records that were asked for before. */
const repeated = ({ requests }: HttpServer) => requests.length - new Set(requests.map(({ path }) => path)).size;

/** The keys of the queue that belong to a run. */
const keysOfRuns = async (client: Redis) => (await client.keys('*')).filter((key) => key.includes(':run'));

describe.skipIf(!hasRedis)(`workers of a queue${unlessRedis}`, { timeout: 60_000 }, () => {
  test('that are killed lose and double no record', async () => {
    const { place, server, client, worker, run } = await queuedRun();
    const workers = [worker(), worker()];
    const { finished } = run();
    await until(() => server.requests.length > 100);
    workers[0]?.child.kill('SIGKILL');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(JSON.parse(await place.read('summary.json'))).toMatchObject({ workers: { most: 2, lost: 1 }, read: records });
    expect(server.requests.length).toBeLessThanOrEqual(records + 60);
    expect((await readCredits(place)).spent).toBeGreaterThanOrEqual(server.requests.length - 8);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('that are stopped by SIGTERM repeat nothing', async () => {
    const { place, server, worker, run } = await queuedRun();
    const [first] = [worker(), worker()];
    const { finished } = run();
    await until(() => server.requests.length > 100);
    first?.child.kill('SIGTERM');
    expect((await first?.finished)?.code).toBe(0);
    expect((await finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBe(records);
    expect((await readCredits(place)).spent).toBe(records);
  });

  test('that are frozen for longer than their lease begin no more of those records', async () => {
    const { place, server, worker, run } = await queuedRun('', 150);
    const [first] = [worker(), worker()];
    const { finished } = run();
    await until(() => server.requests.length > 60);
    first?.child.kill('SIGSTOP');
    // The other worker has taken a unit over once it sends a record again.
    await until(() => repeated(server) > 0);
    first?.child.kill('SIGCONT');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    // In flight, and finished without a report.
    expect(repeated(server)).toBeLessThanOrEqual(16);
  });

  test('go on after Redis was away', async () => {
    const { redis, place, server, worker, run } = await queuedRun();
    worker();
    worker();
    const { finished } = run();
    await until(() => server.requests.length > 100);
    await redis.stop();
    await sleep(1500);
    await redis.start();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain('cannot be reached; waiting for it');
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBeLessThanOrEqual(records + 60);
  });

  test('go on after Redis has lost everything', async () => {
    const { place, server, client, worker, run } = await queuedRun(', credits: 2');
    worker();
    worker();
    const { finished } = run(['--max-credits', '2000']);
    await until(() => server.requests.length > 100);
    await client.flushall();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    const { spent } = await readCredits(place);
    expect(spent).toBeGreaterThanOrEqual(2 * server.requests.length);
    expect(spent).toBeLessThanOrEqual(2000);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('go on with a run whose coordinator was killed, once it is resumed', async () => {
    const { place, server, client, worker, run } = await queuedRun();
    worker();
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 150);
    child.kill('SIGKILL');
    await finished;
    const written = (await place.read('out.csv')).split('\n').length - 2;
    const open = server.requests.length - written;
    const resumed = await run(['--resume']).finished;
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    // Those under way in the workers, of which some began after the count, and those that were not written.
    expect(repeated(server)).toBeLessThanOrEqual(open + 20);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('finish what they have begun at Ctrl-C, and one process goes on', async () => {
    const { place, server, worker, run } = await queuedRun();
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 100);
    child.kill('SIGINT');
    expect((await finished).code).toBe(130);
    const resumed = await place.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume']).finished;
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBeLessThanOrEqual(records + 20);
  });

  test('never spend more credits than the run may', async () => {
    const { place, server, worker, run } = await queuedRun();
    const workers = [worker(), worker()];
    const { finished } = run(['--max-credits', '200']);
    await until(() => server.requests.length > 80);
    workers[0]?.child.kill('SIGKILL');
    expect((await finished).code).toBe(5);
    expect(server.requests.length).toBeLessThanOrEqual(200);
    expect((await readCredits(place)).spent).toBeLessThanOrEqual(200);
  });
});

describe.skipIf(!hasRedis)(`a run without a worker that can do it${unlessRedis}`, { timeout: 60_000 }, () => {
  test('names the command that starts one, and ends with 5', async () => {
    const { redis, server, run } = await queuedRun();
    const { code, stderr } = await run(['--wait-for-workers', '2s']).finished;
    expect(code).toBe(5);
    expect(stderr).toContain(`waiting for a worker: automate worker --queue ${redis.url}`);
    expect(stderr).toContain('--resume');
    expect(server.requests).toHaveLength(0);
  });

  test('names the credential that is missing, and ends with 7', async () => {
    const { server, worker, run } = await queuedRun(', auth: { type: bearer, credential: crm-token }');
    worker();
    const { code, stderr } = await run(['--wait-for-workers', '4s']).finished;
    expect(stderr).toContain('has no credential "crm-token" (automate credentials set crm-token)');
    expect(code).toBe(7);
    expect(server.requests).toHaveLength(0);
  });

  test('tells that a worker has another queue key', async () => {
    const { server, worker, run } = await queuedRun();
    const other = worker([], { AUTOMATE_QUEUE_KEY: 'another key of the queue' });
    const { code, stderr } = await run(['--wait-for-workers', '4s'], { AUTOMATE_QUEUE_KEY: 'the key of this queue' }).finished;
    expect(code).toBe(5);
    expect(stderr).toContain('its queue key is another one');
    expect(server.requests).toHaveLength(0);
    other.child.kill('SIGTERM');
    expect((await other.finished).stderr).toContain('its queue key is another one');
  });
});

describe.skipIf(!hasRedis)(`secrets and values of records${unlessRedis}`, { timeout: 60_000 }, () => {
  test('are in no key of Redis, no log and no argument', async () => {
    const { place, server, client, worker, run } = await queuedRun(
      ', auth: { type: bearer, credential: crm-token }, body: { note: "{{note}}" }, method: POST',
    );
    const secret = 'canary-secret-5417';
    const value = 'canary value of a record';
    await place.write('in.csv', `id,note\n${Array.from({ length: 200 }, (_, index) => `${index + 1},${value}\n`).join('')}`);
    const env = { AUTOMATE_QUEUE_KEY: 'the key of this queue', AUTOMATE_CREDENTIAL_CRM_TOKEN: secret };
    const one = worker([], env);
    const other = worker([], env);
    const { child, finished } = run([], { AUTOMATE_QUEUE_KEY: env.AUTOMATE_QUEUE_KEY });
    await until(() => server.requests.length > 50);
    expect((await client.keys('*')).join()).not.toContain('canary');
    for (const { pid } of [child, one.child, other.child]) expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).not.toContain('canary');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    one.child.kill('SIGTERM');
    other.child.kill('SIGTERM');
    const logs = [await one.finished, await other.finished].map(({ stdout, stderr: problems }) => stdout + problems).join();
    expect(logs + stderr).not.toContain('canary');
    // It holds every text that was ever in a key.
    const written = commandsOf(await folderOf(client));
    expect(written).toContain(':results');
    expect(written).not.toContain('canary');
  });
});
