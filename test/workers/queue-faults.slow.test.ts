import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { lightVault, passphrase } from '../helpers/light-vault.ts';
import {
  commandsOf,
  countsOf,
  expectedRows,
  flip,
  flipped,
  flow,
  folderOf,
  keysOf,
  keysOfRuns,
  longLease,
  mostRequests,
  queuedRun,
  ready,
  records,
  repeated,
  suspendedWithResults,
  table,
  textOf,
  until,
} from '../helpers/queued-run.ts';
import { hasRedis, type RedisServer, redisServer, unlessRedis } from '../helpers/redis.ts';

/** Interrupts a run whose requests have no answers, and lets them arrive once the run starts no more records. */
async function interrupt(run: ChildProcess, release: () => void): Promise<void> {
  const said = textOf(run);
  run.kill('SIGINT');
  await until(() => said().includes('SIGINT: finishing the records already started'));
  release();
}

describe.skipIf(!hasRedis)(`the workers of a queue${unlessRedis}`, () => {
  test('neither lose nor duplicate records if they are killed', async () => {
    const { place, server, client, hold, worker, workerProcess, finishedRun } = await queuedRun('', 50);
    const { child: killed } = workerProcess();
    const workers = [killed, worker()];
    const said = workers.map(textOf);
    await ready(...workers);
    const release = hold();
    const finished = finishedRun();
    await until(() => said.every((text) => text().includes('joined run ')));
    release();
    await until(() => server.requests.length > 100);
    killed.kill('SIGKILL');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(JSON.parse(await place.read('summary.json'))).toMatchObject({ workers: { most: 2, lost: 1 }, read: records });
    expect(server.requests.length).toBeLessThanOrEqual(records + 60);
    expect((await readCredits(place)).spent).toBeGreaterThanOrEqual(server.requests.length - 8);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('end after the time in --grace if they receive SIGTERM while Redis does not respond', async () => {
    const { redis, workerProcess } = await queuedRun();
    const { child, finished } = workerProcess(['--grace', '1s']);
    await ready(child);
    redis.freeze();
    child.kill('SIGTERM');
    expect((await finished).code).toBe(143);
  });

  test('cause no repeated requests if one of them is stopped with SIGTERM', async () => {
    const { place, server, hold, worker, finishedRun } = await queuedRun();
    const first = worker(longLease);
    const said = textOf(first);
    await ready(first, worker(longLease));
    const release = hold();
    const finished = finishedRun();
    await until(() => said().includes('joined run '));
    release();
    await until(() => server.requests.length > 100);
    void first.kill('SIGTERM');
    const stopped = await first.finished;
    expect(stopped.code).toBe(0);
    expect(stopped.stderr).toMatch(/^joined run ([\da-f]{8}) of flow\n(.*\n)*left run \1: this worker stops\n$/m);
    expect((await finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBe(records);
    expect((await readCredits(place)).spent).toBe(records);
  });

  test('begin no more records after their right to the records (lease) expired while they were suspended', async () => {
    const { place, server, worker, workerProcess, finishedRun } = await queuedRun('', 150);
    const first = workerProcess();
    const finished = finishedRun();
    await until(() => server.requests.length > 60);
    first.child.kill('SIGSTOP');
    worker();
    // A repeated request shows that the second worker has taken over a unit of records from the first.
    await until(() => repeated(server) > 0);
    first.child.kill('SIGCONT');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    // The repeated records were in progress, or were finished but not yet reported.
    expect(repeated(server)).toBeLessThanOrEqual(40);
  });

  test('continue when Redis is available again', async () => {
    const { redis, place, server, worker, run } = await queuedRun();
    worker();
    worker();
    const { child, finished } = run();
    const said = textOf(child);
    await until(() => server.requests.length > 100);
    await redis.stop();
    await until(() => said().includes('cannot be reached; waiting for it'));
    await redis.start();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBeLessThanOrEqual(records + 60);
  });

  test('continue after Redis has lost all its data', async () => {
    const { place, server, client, worker, finishedRun } = await queuedRun(', credits: 2');
    worker();
    worker();
    const finished = finishedRun(['--max-credits', '2000']);
    await until(() => server.requests.length > 150);
    const { written, failed } = await countsOf(client);
    await client.flushall();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr.match(/ has lost its data; the open records of this run are queued again\n/g)).toHaveLength(1);
    expect(await place.read('out.csv')).toBe(expectedRows);
    const { spent } = await readCredits(place);
    expect(spent).toBeGreaterThanOrEqual(2 * server.requests.length);
    expect(spent).toBeLessThanOrEqual(2000);
    // Each unfinished record is put into the queue once more.
    expect(repeated(server)).toBeLessThanOrEqual(records - written - failed);
    expect(mostRequests(server)).toBeLessThanOrEqual(2);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('continue a run whose coordinator was killed once the run is resumed', async () => {
    const { place, server, client, worker, run, finishedRun } = await queuedRun();
    worker();
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 150);
    // Results are left in Redis when the coordinator dies.
    await suspendedWithResults(child, client);
    child.kill('SIGKILL');
    await finished;
    const written = (await place.read('out.csv')).split('\n').length - 2;
    const open = server.requests.length - written;
    const resumed = await finishedRun(['--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    // The repeated records were in progress in the workers (some of them begun after the count) or not yet written.
    expect(repeated(server)).toBeLessThanOrEqual(open + 20);
    expect(await keysOfRuns(client)).toEqual([]);
    // Each record costs a credit. The killed coordinator has not saved the credit of a record whose worker had reported the credit to it,
    // but not yet the result. Each of the two workers has four records in progress.
    const { whole } = JSON.parse(await place.read('summary.json'));
    expect(whole.credits).toBeGreaterThanOrEqual(records - 8);
    expect(whole.credits).toBeLessThanOrEqual(server.requests.length);
  });

  test('finish the records in progress after Ctrl-C, and a single process can resume the run', async () => {
    const { place, server, hold, worker, run } = await queuedRun();
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 100);
    await interrupt(child, hold());
    expect((await finished).code).toBe(130);
    const resumed = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBeLessThanOrEqual(records + 20);
  });

  test('finish the records in progress after Ctrl-C, and continue once the run is resumed with --queue', async () => {
    const { place, server, client, hold, worker, run, finishedRun } = await queuedRun();
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 100);
    await interrupt(child, hold());
    expect((await finished).code).toBe(130);
    expect(server.requests.length).toBeLessThan(records);
    const resumed = await finishedRun(['--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(repeated(server)).toBeLessThanOrEqual(20);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('wait as long as Redis has no free memory, and report this, as their run does', async () => {
    const { redis, place, server, client, worker, run } = await queuedRun('', 50);
    // With a short lease, the workers could lose their records to each other in this time.
    const [one] = [worker(longLease), worker(longLease)];
    const { child, finished } = run();
    const said = [child, one].map(textOf);
    await until(() => server.requests.length > 100);
    await client.config('SET', 'maxmemory', '1');
    const refused = async () => Number(/errorstat_OOM:count=(\d+)/.exec(await client.info('errorstats'))?.[1] ?? 0);
    await until(async () => (await refused()) > 30);
    expect(server.requests.length).toBeLessThan(records);
    const line = `${redis.url} refuses commands: OOM command not allowed when used memory > 'maxmemory'; waiting for it\n`;
    await until(() => said.every((text) => text().includes(line)));
    await client.config('SET', 'maxmemory', '0');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    for (const text of said) expect(text()).toContain(`${redis.url} accepts commands again\n`);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect((await place.read('out.errors.csv')).match(/,http,404,/g)).toHaveLength(Math.floor(records / 9));
    expect(mostRequests(server)).toBeLessThanOrEqual(2);
  });

  test('are waited for if Redis has no free memory when the run starts, and the run reports this', async () => {
    const { redis, place, client, worker, run } = await queuedRun();
    await client.config('SET', 'maxmemory', '1');
    const { child, finished } = run();
    const said = textOf(child);
    await until(() => said().includes(`${redis.url} refuses commands: OOM`));
    await client.config('SET', 'maxmemory', '0');
    worker();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(said()).toContain(`${redis.url} accepts commands again\n`);
    expect(await place.read('out.csv')).toBe(expectedRows);
  });

  test('return their unfinished records if their disk fails, and other workers process these records', async () => {
    const { place, server, worker, workerProcess, finishedRun } = await queuedRun();
    // A worker writes the rows of a record with many pages to a temporary file. Below, the folder for that file is missing.
    const text = 'x'.repeat(200_000);
    const pages = await httpServer(({ path }, response) => {
      const [, id, page] = path.split('/').map(Number) as [number, number, number];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ items: [{ text: `${id}.${page} ${text}` }], next: page < 3 ? `/${id}/${page + 1}` : null }));
    });
    const node = `{ type: http, url: "${pages.origin}/{{id}}/1", paginate: { type: next_url, path: next, items: items }, map: { text: "items[].text" } }`;
    await place.write('flow.yaml', `nodes:\n  - ${node}\n`);
    await place.write('in.csv', 'id\n1\n2\n3\n');
    const broken = workerProcess([], { TMPDIR: place.path('not-there') });
    const finished = finishedRun();
    const ended = await broken.finished;
    expect(ended.stderr).toContain('the temporary file for waiting rows cannot be written');
    expect(ended.code).toBe(74);
    worker();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(0);
    expect(pages.requests.length).toBeLessThanOrEqual(2 * 9);
    const rows = [1, 2, 3].flatMap((id) => [1, 2, 3].map((page) => `${id},${id}.${page} ${text}\n`));
    expect(await place.read('out.csv')).toBe(`id,text\n${rows.join('')}`);
    expect(server.requests).toEqual([]);
  });

  test('begin no more records after the coordinator has died', async () => {
    const { redis, place, server, client, worker, run } = await queuedRun('', 1500);
    const said = textOf(worker());
    const { child, finished } = run();
    await until(() => server.requests.length > 4);
    child.kill('SIGKILL');
    await finished;
    // Keys that were restored from a dump have no expiry.
    for (const key of await keysOf(client)) await client.persist(key);
    const state = async () => JSON.parse((await place.automate(['status', '--queue', redis.url, '--json'])).stdout).runs[0].state;
    await until(async () => (await state()) === 'orphaned' && /left run .*: its coordinator has not been seen for /.test(said()));
    const before = server.requests.length;
    await sleep(1500);
    expect(server.requests.length).toBe(before);
    expect(before).toBeLessThan(records);
    const left = await keysOf(client);
    expect(left.length).toBeGreaterThan(2);
    await until(async () => (await Promise.all(left.map((key) => client.ttl(key)))).every((ttl) => ttl > 0));
  });

  test('print what is known about a run that is no longer in Redis', async () => {
    const { server, client, worker, run } = await queuedRun('', 200);
    const said = textOf(worker());
    const { child, finished } = run();
    await until(() => server.requests.length > 4);
    child.kill('SIGKILL');
    await finished;
    await client.flushall();
    await until(() => /left run \w+: it is no longer in Redis, so it has ended, or Redis has lost its data\n/.test(said()));
  });

  test('end the run with a message about a record if three of them crash at this record', async () => {
    const redis = await redisServer();
    const server = await httpServer(({ path }, response) => {
      if (path !== '/77') response.end('{"name":"a"}');
    });
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': 'id\n1\n2\n77\n' });
    const { finished } = place.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--queue', redis.url]);
    const asked = () => server.requests.filter(({ path }) => path === '/77').length;
    for (const times of [1, 2, 3]) {
      const { child } = place.start(['worker', '--queue', redis.url, '--lease', '5s']);
      await until(() => asked() === times);
      // The workers have then reported the results of the other records.
      await until(async () => (await countsOf(client)).written === 2);
      child.kill('SIGKILL');
    }
    place.start(['worker', '--queue', redis.url, '--lease', '5s']);
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(5);
    expect(stderr).toContain('3 workers in a row have died while record 3 was in progress');
    expect(stderr).toContain('--resume');
    expect(asked()).toBe(3);
  });

  test('begin hardly more records than the credits can complete', async () => {
    const { place, worker, finishedRun } = await queuedRun();
    const server = await httpServer(async ({ path }, response) => {
      // Many records have passed the first node when the first record ends.
      await sleep(path.startsWith('/b') ? 300 : 5);
      response.end('{"name":"a"}');
    });
    const node = (field: string) => `  - { type: http, url: "${server.origin}/${field}/{{id}}", map: { ${field}: name } }\n`;
    await place.write('flow.yaml', `nodes:\n${node('a')}${node('b')}`);
    await ready(worker(), worker());
    expect((await finishedRun(['--max-credits', '30'])).code).toBe(5);
    const { written, failed, waiting } = JSON.parse(await place.read('summary.json'));
    // 30 credits are enough for 15 records. If each worker began as many as it can, 6 would reach the end.
    expect(written + failed + waiting).toBeGreaterThanOrEqual(8);
  });

  test('spend together no more credits than the run allows', async () => {
    const { place, server, worker, workerProcess, finishedRun } = await queuedRun();
    const { child: killed } = workerProcess();
    await ready(killed, worker());
    const finished = finishedRun(['--max-credits', '200']);
    await until(() => server.requests.length > 80);
    killed.kill('SIGKILL');
    expect((await finished).code).toBe(5);
    expect(server.requests.length).toBeLessThanOrEqual(200);
    expect((await readCredits(place)).spent).toBeLessThanOrEqual(200);
  });
});

describe.skipIf(!hasRedis)(`a queue's worker whose requests are all refused${unlessRedis}`, () => {
  /** Starts a run whose server accepts only one token, and a worker for each of the tokens. */
  async function refusedRun(tokens: readonly string[]) {
    const redis = await redisServer();
    const server = await httpServer(async ({ headers }, response) => {
      // No worker is refused before the last one has joined. Alone, the first would end the run.
      await until(() => hasSent(tokens.at(-1) as string));
      response.statusCode = headers.authorization === 'Bearer good-token-1' ? 200 : 401;
      response.setHeader('content-type', 'application/json');
      response.end('{"name":"a"}');
    });
    const hasSent = (token: string) => server.requests.some(({ headers }) => headers.authorization === `Bearer ${token}`);
    const text = `nodes:\n  - { type: http, url: "${server.origin}/{{id}}", concurrency: 4, map: [name], auth: { type: bearer, credential: api } }\n`;
    const place = await workplace({ 'flow.yaml': text, 'in.csv': table });
    const run = place.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--queue', redis.url]);
    await until(() => isWaiting(place, redis));
    for (const token of tokens) {
      place.start(['worker', '--queue', redis.url, ...longLease], { env: { AUTOMATE_CREDENTIAL_API: token } });
      // A worker takes four of the five units, so the next one also finds records.
      await until(() => hasSent(token));
    }
    return { place, server, redis, run };
  }

  const isWaiting = async (place: Workplace, { url }: RedisServer) =>
    JSON.parse((await place.automate(['status', '--queue', url, '--json'])).stdout).runs.length === 1;

  test('leaves the run to other workers, which process the records', async () => {
    const { place, run, redis } = await refusedRun(['bad-token-1', 'good-token-1']);
    const { code, stderr } = await run.finished;
    expect(code, stderr).toBe(0);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(records + 2);
    const processed = async () => {
      const { stdout } = await place.automate(['status', '--queue', redis.url, '--json']);
      const { workers } = JSON.parse(stdout) as { workers: { records: number }[] };
      return workers.map((worker) => worker.records).toSorted((one, other) => one - other);
    };
    // A worker shows its records at its next sign of life.
    await expect.poll(processed).toEqual([0, records]);
  });

  test('makes the run end without a failed record if it is the only worker', async () => {
    const { place, run, server } = await refusedRun(['bad-token-1']);
    const { code, stderr } = await run.finished;
    expect(code, stderr).toBe(5);
    expect(stderr).toContain('the first 20 records all failed at http-1 with http 401');
    expect(stderr).toContain('--resume');
    expect(await place.files()).not.toContain('out.errors.csv');
    expect(server.requests.length).toBeLessThan(40);
  });
});

describe.skipIf(!hasRedis)(`a queue for runs and workers${unlessRedis}`, () => {
  test('shows its runs and workers in `automate status`, without those that have ended', async () => {
    const { redis, place, server, hold, worker, finishedRun } = await queuedRun('', 10);
    const status = async () => JSON.parse((await place.automate(['status', '--queue', redis.url, '--json'])).stdout);
    const finished = finishedRun();
    // The worker would end if there was no run at its start.
    await until(async () => (await status()).runs.length === 1);
    const idle = worker(['--exit-when-idle', '3s']);
    await until(() => server.requests.length > 50);
    const release = hold();
    const [first, text] = await Promise.all([status(), place.automate(['status', '--queue', redis.url])]);
    expect(first).toMatchObject({
      queue: 'default',
      runs: [{ flow: 'flow', state: 'running', coordinator: { alive: true } }],
      workers: [{ pid: process.pid, problems: [] }],
    });
    const {
      runs: [shown],
    } = first;
    expect(Object.keys(shown).slice(-4)).toEqual(['coordinator', 'records', 'units', 'credits']);
    const { stdout } = text;
    expect(stdout).toMatch(/^queue default: \d+ units? waiting, \d+ active\nrun [\w-]+: flow, running\n/);
    expect(stdout).toMatch(/, \d+ open, \d+ credits?\n/);
    release();
    expect((await finished).code).toBe(4);
    expect((await idle.finished).code).toBe(0);
    expect(await status()).toEqual({ queue: 'default', runs: [], workers: [] });
  });

  test('allows only one coordinator for each run, and a second coordinator exits with 73', async () => {
    const { redis, place, server, worker, run } = await queuedRun();
    const first = run();
    await until(async () => (await place.files()).some((name) => name.includes('automate')));
    await until(async () => JSON.parse((await place.automate(['status', '--queue', redis.url, '--json'])).stdout).runs.length === 1);
    // The same run is resumed with a copy of its files, as if on a different machine.
    const copy = await workplace({});
    for (const name of await place.files()) if (!name.includes('lock')) await copy.write(name, await place.read(name));
    const second = await copy.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--queue', redis.url, '--resume']);
    expect(second.code, second.stderr).toBe(73);
    worker(longLease);
    expect((await first.finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBe(records);
  });

  test('can process the failed records of `automate retry`', async () => {
    const { redis, place, worker, finishedRun } = await queuedRun();
    worker();
    expect((await finishedRun()).code).toBe(4);
    const healed = await httpServer((_, response) => void response.end('{"name":"late"}'));
    await place.write('flow.yaml', flow(healed.origin));
    const { code, stderr } = await place.automate(['retry', 'out.csv', '--queue', redis.url]);
    expect(code, stderr).toBe(0);
    expect(healed.requests.length).toBe(Math.floor(records / 9));
    expect((await place.read('out.csv')).split('\n')[9]).toBe('9,late');
  });
});

describe.skipIf(!hasRedis)(`a run with --queue but without a suitable worker${unlessRedis}`, () => {
  test('exits with 5 and prints the command that starts a worker', async () => {
    const { redis, server, client, finishedRun } = await queuedRun();
    const { code, stderr } = await finishedRun(['--wait-for-workers', '2s']);
    expect(code).toBe(5);
    expect(stderr).toMatch(/^at most 4 requests at once in each worker\nwaiting for a worker: /m);
    expect(stderr).toContain(`waiting for a worker: automate worker --queue ${redis.url}`);
    expect(stderr).toContain('--resume');
    expect(server.requests).toHaveLength(0);
    // The units that no worker has taken are no longer in the queue.
    expect((await client.keys('*')).filter((key) => /:run:|:units:(?!id|meta|events|marker)/.test(key))).toEqual([]);
  });

  test('does not wait for records in progress after Ctrl-C', async () => {
    const { server, run } = await queuedRun();
    const { child, finished } = run();
    const said = textOf(child);
    await until(() => said().includes('waiting for a worker'));
    child.kill('SIGINT');
    const { code, stderr } = await finished;
    expect(code).toBe(130);
    // This line is printed every 10 s, and the run would wait for 10 s.
    expect(stderr.match(/waiting for a worker/g)).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
  });

  test('exits with 7 and prints which credential the workers lack', async () => {
    const { redis, place, server, worker, run } = await queuedRun(', auth: { type: bearer, credential: crm-token }');
    await ready(worker());
    const { child, finished } = run(['--wait-for-workers', '15s']);
    const said = textOf(child);
    await until(() => said().includes('has no credential'));
    const { stdout } = await place.automate(['status', '--queue', redis.url, '--json']);
    expect(JSON.parse(stdout).workers[0].problems).toMatchObject([{ problem: 'no credential "crm-token"' }]);
    const { code, stderr } = await finished;
    expect(stderr).toContain('has no credential "crm-token" (automate credentials set crm-token)');
    expect(code).toBe(7);
    expect(server.requests).toHaveLength(0);
  });

  test('exits with 7 and prints why the workers cannot use a credential that they have', async () => {
    const { place, server, worker, finishedRun } = await queuedRun(', auth: { type: bearer, credential: crm-token }');
    const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };
    await mkdir(place.path('.automate'));
    await place.write('.automate/vault.json', JSON.stringify(lightVault()));
    const set = ['credentials', 'set', 'crm-token', '--backend', 'vault', '--hosts', 'other.example'];
    expect((await place.automate(set, { env, stdin: 'canary-secret-5417' })).code).toBe(0);
    await ready(worker([], env));
    const { code, stderr } = await finishedRun(['--wait-for-workers', '15s']);
    expect(stderr).toMatch(
      /^waiting for a worker: 1 is there; .*: the credential "crm-token" can be sent only to other\.example, not to /m,
    );
    expect(stderr).not.toContain('has no credential');
    expect(code).toBe(7);
    expect(server.requests).toHaveLength(0);
  });

  test('reports that a worker uses a different queue key', async () => {
    const { server, worker, finishedRun } = await queuedRun();
    const other = worker([], { AUTOMATE_QUEUE_KEY: 'another key of the queue' });
    await ready(other);
    const { code, stderr } = await finishedRun(['--wait-for-workers', '15s'], { AUTOMATE_QUEUE_KEY: 'the key of this queue' });
    expect(code).toBe(5);
    expect(stderr).toContain("its queue key is not the same as this worker's; set AUTOMATE_QUEUE_KEY to the same key everywhere");
    expect(server.requests).toHaveLength(0);
    void other.kill('SIGTERM');
    expect((await other.finished).stderr).toContain("its queue key is not the same as this worker's");
  });
});

describe.skipIf(!hasRedis)(`a run whose data in Redis was changed by somebody else${unlessRedis}`, () => {
  const env = { AUTOMATE_QUEUE_KEY: 'the key of this queue' };

  test('puts changed records into the queue once more', async () => {
    const { place, server, client, worker, finishedRun } = await queuedRun();
    const finished = finishedRun([], env);
    await until(async () => (await keysOf(client, ':in:')).length > 0);
    for (const key of await keysOf(client, ':in:')) await flip(client, key);
    worker(longLease, env);
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBe(records);
  });

  test('requests records once more if their results were changed', async () => {
    const { place, server, client, worker, run } = await queuedRun('', 30);
    worker([], env);
    const { child, finished } = run([], env);
    await until(() => server.requests.length > 50);
    const key = await suspendedWithResults(child, client);
    for (const [at, message] of (await client.lrangeBuffer(key, 0, -1)).entries()) await client.lset(key, at, flipped(message));
    await client.rpush(key, 'foreign text');
    child.kill('SIGCONT');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(repeated(server)).toBeGreaterThan(0);
    expect(stderr.match(/ contains messages to this run that cannot be read; they are ignored\n/g)).toHaveLength(1);
    expect(stderr).toContain(' lacks records of this run, or has changed ones; the open records of this run are queued again\n');
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('puts its records into the queue once more if their results have a different type', async () => {
    const { redis, place, server, client, hold, worker, finishedRun } = await queuedRun('', 30);
    const one = worker();
    const finished = finishedRun();
    await until(() => server.requests.length > 50);
    const release = hold();
    const [run1] = (await keysOf(client)).filter((key) => /:run:[^:]+$/.test(key)) as [string];
    // The key can be created only while no results are waiting.
    await until(() => client.xadd(`${run1}:results`, '*', 'a', 'x').then(Boolean, () => false));
    release();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain(`${redis.url} has lost its data; the open records of this run are queued again\n`);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(mostRequests(server)).toBeLessThanOrEqual(3);
    void one.kill('SIGTERM');
    const { code: workerCode, stderr: said } = await one.finished;
    expect(workerCode, said).toBe(0);
    expect(said).not.toContain('this is a bug');
    expect(said.match(/^joined run /gm)?.length, said).toBeGreaterThan(1);
  });

  test('stores its description again if it was changed', async () => {
    const { place, server, client, worker, finishedRun } = await queuedRun();
    const finished = finishedRun([], env);
    await until(async () => (await keysOf(client, ':in:')).length > 0);
    for (const key of await keysOf(client, ':manifest')) await flip(client, key);
    worker(longLease, env);
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain(' has lost or changed the description of this run; it is stored again\n');
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(server.requests.length).toBe(records);
  });
});

describe.skipIf(!hasRedis)(`secrets and the values in records${unlessRedis}`, () => {
  test('appear in no Redis key, log or command-line argument of a run with a queue', async () => {
    const { place, server, client, worker, workerProcess, run } = await queuedRun(
      ', auth: { type: bearer, credential: crm-token }, body: { note: "{{note}}" }, method: POST',
    );
    const secret = 'canary-secret-5417';
    const value = 'canary value of a record';
    await place.write(
      'in.csv',
      `id,note\n${Array.from({ length: 200 }, (_, index) => `${index + 1},${index === 8 ? secret : value}\n`).join('')}`,
    );
    const env = { AUTOMATE_QUEUE_KEY: 'the key of this queue', AUTOMATE_CREDENTIAL_CRM_TOKEN: secret };
    const one = workerProcess([], env);
    const other = worker([], env);
    const { child, finished } = run([], { AUTOMATE_QUEUE_KEY: env.AUTOMATE_QUEUE_KEY });
    await until(() => server.requests.length > 50);
    expect((await client.keys('*')).join()).not.toContain('canary');
    for (const { pid } of [child, one.child]) expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).not.toContain('canary');
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    // The coordinator does not know the secret, which the failed record 9 contains in a field.
    const errors = await place.read('out.errors.csv');
    expect(errors).toContain('9,***,');
    expect(errors).not.toContain(secret);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    one.child.kill('SIGTERM');
    void other.kill('SIGTERM');
    const logs = [await one.finished, await other.finished].map(({ stdout, stderr: problems }) => stdout + problems).join();
    expect(logs + stderr).not.toContain('canary');
    // Redis writes every value that a key ever had to the append-only file.
    const written = commandsOf(await folderOf(client));
    expect(written).toContain(':results');
    expect(written).not.toContain('canary');
  });

  test.each(['a variable', 'the vault'])(
    'are masked in the output and the errors file as in a run without a queue, if the coordinator finds them in %s',
    async (from) => {
      const { place, redis, worker } = await queuedRun(', auth: { type: bearer, credential: crm-token }');
      const secret = 'canary-secret-5417';
      const env: Record<string, string> =
        from === 'a variable' ? { AUTOMATE_CREDENTIAL_CRM_TOKEN: secret } : { AUTOMATE_VAULT_PASSPHRASE: passphrase };
      if (from === 'the vault') {
        await mkdir(place.path('.automate'));
        await place.write('.automate/vault.json', JSON.stringify(lightVault()));
        await place.automate(['credentials', 'set', 'crm-token', '--backend', 'vault'], { stdin: `${secret}\n`, env });
      }
      await place.write('in.csv', `id,note,${secret}\n1,a,b\n2,${secret},b,more\n9,a,b\n`);
      await place.write('in.ndjson', `{"id":1,"${secret}":"a"}\n{"id":9,"${secret}":"a"}\n{"id":2,"note":"${secret}"\n`);
      const { kill, finished } = worker([], env);
      for (const [format, options] of [
        ['csv', ['--set', `set=${secret}`]],
        ['ndjson', []],
      ] as const) {
        const args = ['run', 'flow.yaml', '--in', `in.${format}`, ...options];
        const plain = await place.automate([...args, '--out', `plain.${format}`], { env });
        const queued = await place.automate([...args, '--out', `out.${format}`, '--queue', redis.url], { env });
        expect([plain.code, queued.code], plain.stderr + queued.stderr).toEqual([4, 4]);
        for (const name of [format, `errors.${format}`]) expect(await place.read(`out.${name}`)).toBe(await place.read(`plain.${name}`));
      }
      void kill('SIGTERM');
      await finished;
      expect(await place.read('out.csv')).toBe('id,note,***,set,name\n1,a,b,***,name 1\n');
      expect(await place.files()).not.toContain('out.csv.automate');
    },
  );
});
