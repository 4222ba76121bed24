import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import {
  commandsOf,
  countsOf,
  expectedRows,
  flow,
  folderOf,
  keyed,
  keysOf,
  keysOfRuns,
  mostRequests,
  queuedRun,
  records,
  repeated,
  rowsOf,
  tableOf,
  textOf,
  until,
} from '../helpers/queued-run.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';

const prefix = '{automate:default}';

/** Every key of a queue, with the values of all types that a different program might store in it. */
type Snapshot = ReadonlyMap<string, Buffer>;

async function snapshotOf(client: Redis): Promise<Snapshot> {
  const keys = await client.keys(`${prefix}*`);
  const dumps = await Promise.all(keys.map(async (key) => [key, await client.dumpBuffer(key)] as const));
  return new Map(dumps.flatMap(([key, dump]) => (dump ? [[key, dump] as const] : [])));
}

async function restore(client: Redis, snapshot: Snapshot): Promise<void> {
  for (const [key, dump] of snapshot) await client.restore(key, 0, dump, 'REPLACE');
}

describe.skipIf(!hasRedis)(`a run of a queue that has ended${unlessRedis}`, () => {
  test('is not repeated by a worker if somebody puts back everything that Redis contained', async () => {
    const { redis, place, server, client, worker, run } = await queuedRun('', undefined, { env: keyed });
    const { finished } = run();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 0);
    const subscriber = client.duplicate();
    subscriber.on('error', () => undefined);
    const published: (readonly [channel: Buffer, message: Buffer])[] = [];
    subscriber.on('pmessageBuffer', (_, channel, message) => void published.push([channel, message]));
    await subscriber.psubscribe('*');
    // The units are recorded before a worker has taken one, and the rest while the run is in progress.
    const before = await snapshotOf(client);
    const first = worker();
    const said = textOf(first.child);
    await until(() => server.requests.length > 100);
    const during = await snapshotOf(client);
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(server.requests.length).toBe(records);
    await until(() => said().includes(': it has ended\n'));
    const sent = published.filter(([channel]) => channel.includes(':worker:'));
    expect(sent.length).toBeGreaterThan(1);

    const key = [...before.keys()].find((name) => /:run:[^:]+$/.test(name)) as string;
    const results = during.get(`${key}:results`);
    const seen = async () => `${(await client.time())[0]}000000`;
    const all = new Map([...before, ...(results ? [[`${key}:results`, results] as const] : [])]);
    const entry = all.get(key) as Buffer;
    all.delete(key);
    // The coordinator must seem to be alive whenever a worker looks.
    await client
      .multi()
      .restore(key, 0, entry, 'REPLACE')
      .hset(key, 'seen', await seen())
      .exec();
    await restore(client, all);
    const alive = setInterval(async () => {
      await client.hset(key, 'seen', await seen());
      for (const [channel, message] of sent) await client.publish(channel, message);
    }, 500);
    onTestFinished(() => clearInterval(alive));
    const fresh = worker();
    const alsoSaid = textOf(fresh.child);
    // Both workers have looked at the run, asked its coordinator, and put its units off.
    await until(() => [said, alsoSaid].every((text) => /cannot process run .*: its coordinator does not answer\n/.test(text())));
    clearInterval(alive);
    subscriber.disconnect();
    expect(server.requests.length).toBe(records);
    const status = await place.start(['status', '--queue', redis.url], { env: keyed }).finished;
    expect(status.code, status.stderr).toBe(0);
    expect(status.stdout).toMatch(/ {2}cannot process run .*: its coordinator does not answer\n/);
    first.child.kill('SIGTERM');
    fresh.child.kill('SIGTERM');
    expect((await first.finished).code).toBe(0);
    expect((await fresh.finished).code).toBe(0);
  });
});

describe.skipIf(!hasRedis)(`a run whose Redis comes back${unlessRedis}`, () => {
  const snapshots = { appendonly: 'no' };

  test('with an older snapshot queues its open records again', async () => {
    const { redis, place, server, client, worker, run } = await queuedRun('', 30, { redis: snapshots, env: keyed });
    worker();
    worker();
    const { finished } = run();
    await until(() => server.requests.length > 60);
    await client.save();
    await until(() => server.requests.length > 200);
    const { written, failed } = await countsOf(client);
    await redis.kill();
    await redis.start();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain(`${redis.url} has lost its newest data; the open records of this run are queued again\n`);
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(repeated(server)).toBeLessThanOrEqual(records - written - failed);
    expect(mostRequests(server)).toBeLessThanOrEqual(2);
    expect(await keysOfRuns(client)).toEqual([]);
  });

  test('without the units that were queued last queues them again', async () => {
    const { place, server, client, worker, run } = await queuedRun('', 30, { env: keyed });
    const { finished } = run();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 1);
    const [job] = (await client.lrange(`${prefix}:units:wait`, 0, 0)) as [string];
    await client.lrem(`${prefix}:units:wait`, 1, job);
    await client.del(`${prefix}:units:${job}`);
    worker();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain(' lacks records of this run, or has changed ones; the open records of this run are queued again\n');
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(mostRequests(server)).toBeLessThanOrEqual(2);
  });

  test('as it was under an earlier coordinator continues', async () => {
    const { redis, place, server, client, worker, run } = await queuedRun('', 30, { redis: snapshots, env: keyed });
    worker();
    const first = run();
    await until(() => server.requests.length > 40);
    await client.save();
    first.child.kill('SIGKILL');
    await first.finished;
    const { finished } = run(['--resume']);
    await until(() => server.requests.length > 150);
    await redis.kill();
    await redis.start();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).toContain(' contains this run as it was under an earlier process; the open records of this run are queued again\n');
    expect(await place.read('out.csv')).toBe(expectedRows);
    expect(mostRequests(server)).toBeLessThanOrEqual(3);
  });
});

describe.skipIf(!hasRedis)(`a run of a queue${unlessRedis}`, () => {
  test('is found by workers after a worker has removed it from the set of runs', async () => {
    const { place, client, worker, run } = await queuedRun('', undefined, { env: keyed });
    const { finished } = run();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 0);
    await client.del(`${prefix}:runs`);
    worker();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
  });

  test('counts the results of an earlier coordinator once, however often they are in Redis', async () => {
    const { place, server, client, worker, run } = await queuedRun('', undefined, { env: keyed });
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 100);
    child.kill('SIGSTOP');
    const results = async () => (await keysOf(client, ':results'))[0] ?? '';
    await until(async () => (await client.llen(await results())) > 3);
    child.kill('SIGKILL');
    await finished;
    const key = await results();
    for (const message of await client.lrangeBuffer(key, 0, -1)) for (let time = 0; time < 5; time++) await client.rpush(key, message);
    const resumed = await run(['--resume']).finished;
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    const { whole } = JSON.parse(await place.read('summary.json'));
    expect(whole.credits).toBeLessThanOrEqual(server.requests.length);
    expect(whole.credits).toBeGreaterThanOrEqual(records - 8);
  });

  /** Does something to each key of a queue in turn, and checks that the run makes progress after each. */
  async function disturb(kinds: readonly string[], act: (client: Redis, key: string) => Promise<unknown>) {
    const count = 100 * kinds.length;
    const queued = await queuedRun('', 30, { env: keyed });
    const { place, server, client, worker, run } = queued;
    await place.write('in.csv', tableOf(count));
    const workers = [worker(), worker()];
    const { child, finished } = run();
    const said = textOf(child);
    let current = '';
    onTestFailed(() => console.error(`last disturbed: ${current}`, said()));
    for (const kind of kinds) {
      const before = server.requests.length;
      await until(() => server.requests.length > before + 20);
      current = kind;
      let key: string | undefined;
      await until(async () => {
        key = (await client.keys(`${prefix}*`)).find((name) => new RegExp(`^:${kind}$`).test(name.slice(prefix.length)));
        return key !== undefined;
      });
      await act(client, key as string);
      const status = await queued.status();
      expect([status.code, kind], status.stderr).toEqual([0, kind]);
    }
    current = 'the end';
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).not.toContain('this is a bug');
    expect(await place.read('out.csv')).toBe(rowsOf(count));
    for (const { child: one } of workers) one.kill('SIGTERM');
    for (const { finished: ended } of workers) {
      const { code: workerCode, stderr: problems } = await ended;
      expect(workerCode, problems).toBe(0);
      expect(problems).not.toContain('this is a bug');
    }
    expect(await keysOfRuns(client)).toEqual([]);
    return { ...queued, stderr };
  }

  const job = 'units:[-\\da-f]{36}-[\\da-f]{8}-\\d+';
  const run = 'run:[^:]+';
  const kinds = [
    ...['runs', 'workers', run, `${run}:manifest`, `${run}:in:.*`, `${run}:done:.*`, job],
    ...['units:active', 'units:meta', 'units:id', 'units:events', 'units:stalled', 'units:stalled-check'],
  ];

  test('continues after single keys were deleted', async () => {
    await disturb(kinds, (client, key) => client.del(key));
  });

  test('continues after values of a different type were stored in single keys', async () => {
    await disturb(kinds, async (client, key) => {
      const type = await client.type(key);
      await client.del(key);
      if (type === 'string') await client.rpush(key, 'foreign');
      else await client.set(key, 'foreign');
    });
  });
});
