import { existsSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  countsOf,
  expectedRows,
  flow,
  keyed,
  keysOf,
  keysOfRuns,
  longLease,
  mostRequests,
  prefix,
  queuedRun,
  records,
  repeated,
  rowsOf,
  suspendedWithResults,
  tableOf,
  textOf,
  until,
} from '../helpers/queued-run.ts';
import { hasRedis, unlessRedis } from '../helpers/redis.ts';

/** Returns the number of the last sign of life of the only run's coordinator. */
async function beatOf(client: Redis): Promise<number> {
  const key = (await keysOf(client)).find((name) => /:run:[^:]+$/.test(name)) as string;
  return Number(await client.hget(key, 'beat'));
}

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
    const { redis, place, server, client, worker, finishedRun } = await queuedRun('', undefined, { env: keyed });
    const finished = finishedRun();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 0);
    const subscriber = client.duplicate();
    subscriber.on('error', () => undefined);
    const published: (readonly [channel: Buffer, message: Buffer])[] = [];
    subscriber.on('pmessageBuffer', (_, channel, message) => void published.push([channel, message]));
    await subscriber.psubscribe('*');
    // The units are recorded before a worker has taken one, and the rest while the run is in progress.
    const before = await snapshotOf(client);
    const first = worker(longLease);
    const said = textOf(first);
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
    const alsoSaid = textOf(fresh);
    // Both workers have looked at the run, asked its coordinator, and put its units off.
    await until(() => [said, alsoSaid].every((text) => /cannot process run .*: its coordinator does not answer\n/.test(text())));
    // Each worker shows its problem in Redis at its next sign of life.
    await until(async () => (await client.hvals(`${prefix}:workers`)).every((sign) => sign.includes('"code":"silent"')));
    clearInterval(alive);
    subscriber.disconnect();
    expect(server.requests.length).toBe(records);
    const status = await place.automate(['status', '--queue', redis.url], { env: keyed });
    expect(status.code, status.stderr).toBe(0);
    expect(status.stdout).toMatch(/ {2}cannot process run .*: its coordinator does not answer\n/);
    void first.kill('SIGTERM');
    void fresh.kill('SIGTERM');
    expect((await first.finished).code).toBe(0);
    expect((await fresh.finished).code).toBe(0);
  });
});

describe.skipIf(!hasRedis)(`a run whose Redis comes back${unlessRedis}`, () => {
  const snapshots = { appendonly: 'no' };

  test('with an older snapshot queues its open records again', async () => {
    const { redis, place, server, client, worker, finishedRun } = await queuedRun('', 150, { redis: snapshots, env: keyed });
    worker();
    worker();
    const finished = finishedRun();
    await until(() => server.requests.length > 60);
    await client.save();
    // The snapshot is older only once the coordinator knows of a later sign of life.
    const beat = await beatOf(client);
    await until(async () => (await beatOf(client)) > beat + 1);
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
    const { place, server, client, worker, finishedRun } = await queuedRun('', 30, { env: keyed });
    const finished = finishedRun();
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
    const { redis, place, server, client, worker, run, finishedRun } = await queuedRun('', 30, { redis: snapshots, env: keyed });
    worker();
    const first = run();
    await until(() => server.requests.length > 40);
    await client.save();
    first.child.kill('SIGKILL');
    await first.finished;
    const finished = finishedRun(['--resume']);
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
    const { place, client, worker, finishedRun } = await queuedRun('', undefined, { env: keyed });
    const finished = finishedRun();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 0);
    await client.del(`${prefix}:runs`);
    worker();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
  });

  test('counts the results of an earlier coordinator once, however often they are in Redis', async () => {
    const { place, server, client, worker, run, finishedRun } = await queuedRun('', undefined, { env: keyed });
    worker();
    const { child, finished } = run();
    await until(() => server.requests.length > 100);
    const key = await suspendedWithResults(child, client);
    child.kill('SIGKILL');
    await finished;
    for (const message of await client.lrangeBuffer(key, 0, -1)) for (let time = 0; time < 5; time++) await client.rpush(key, message);
    const resumed = await finishedRun(['--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
    const { whole } = JSON.parse(await place.read('summary.json'));
    expect(whole.credits).toBeLessThanOrEqual(server.requests.length);
    expect(whole.credits).toBeGreaterThanOrEqual(records - 8);
  });

  test('sends no request again while it is in progress if somebody puts its units back, and says so', async () => {
    const { place, server, client, hold, worker, finishedRun } = await queuedRun('', 30, { env: keyed });
    await place.write('in.csv', tableOf(2000));
    const finished = finishedRun();
    await until(async () => (await client.llen(`${prefix}:units:wait`)) > 1);
    // Everything that belongs to the units, before a worker has taken one.
    const units = new Map([...(await snapshotOf(client))].filter(([key]) => /:in:|:units:[-\da-f]{36}-/.test(key)));
    const jobs = await client.lrange(`${prefix}:units:wait`, 0, -1);
    const workers = [worker(longLease)];
    await until(() => server.requests.length > 60);
    // A worker that comes later cannot know what the first has finished.
    workers.push(worker(longLease));
    const said = workers.map(textOf);
    const release = hold();
    await until(() => said[1]?.().includes('joined run ') ?? false);
    release();
    const line = /warning: records of run \w+ of flow are in Redis again although they are finished; they are ignored\n/;
    const again = setInterval(async () => {
      await restore(client, units);
      await client.rpush(`${prefix}:units:wait`, ...jobs);
      await client.zadd(`${prefix}:units:marker`, 0, '0');
    }, 500);
    onTestFinished(() => clearInterval(again));
    const { code, stderr } = await finished;
    clearInterval(again);
    expect(code, stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(rowsOf(2000));
    expect(repeated(server)).toBe(0);
    for (const text of said) expect(text().split(line)).toHaveLength(2);
  });
});

const faketime = ['/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1', '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1'].find(
  existsSync,
);
const unlessFaketime = hasRedis && faketime ? '' : ' (skipped: no libfaketime or redis-server here)';

describe.skipIf(!hasRedis || !faketime)(`the clocks of workers${unlessFaketime}`, () => {
  const clockAt = (offset: string) => ({ LD_PRELOAD: faketime ?? '', FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' });

  test('do not decide when a unit that was put off is tried again', async () => {
    const { redis, place, server, client, workerProcess, run } = await queuedRun('', 100, { env: keyed });
    await place.write('secret.yaml', flow(server.origin, ', auth: { type: bearer, credential: crm-token }'));
    await place.write('short.csv', tableOf(8));
    // This worker works on one run, and puts off the units of the other, whose credential it lacks.
    workerProcess([], clockAt('+1d'));
    const other = run();
    await until(() => server.requests.length > 0);
    const args = ['run', 'secret.yaml', '--in', 'short.csv', '--out', 'secret.csv', '--queue', redis.url];
    const { finished } = place.start(args, { env: keyed });
    await until(async () => (await client.zcard(`${prefix}:later`)) > 0);
    workerProcess([], { ...clockAt('-1d'), AUTOMATE_CREDENTIAL_CRM_TOKEN: 'the token of the crm' });
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(0);
    expect(await place.read('secret.csv')).toBe(rowsOf(8));
    expect((await other.finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows);
  });
});
