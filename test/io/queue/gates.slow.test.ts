import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DayLimit } from '../../../src/core/ports.ts';
import { Gates } from '../../../src/engine/gates.ts';
import { createClock } from '../../../src/io/clock/clock.ts';
import { openRedis, type QueueRedis } from '../../../src/io/queue/connection.ts';
import { redisDayCounts } from '../../../src/io/queue/day-counts.ts';
import { RedisGates } from '../../../src/io/queue/gates.ts';
import { parseQueueUrl } from '../../../src/io/queue/queue-url.ts';
import { createSeal } from '../../../src/io/queue/seal.ts';
import { hasRedis, type RedisServer, redisServer, unlessRedis } from '../../helpers/redis.ts';

const gate = 'https://api.example.com crm-token';
const seal = createSeal(undefined, 'team');
const key = `{automate:team}:gate:${seal.hash(gate)}`;

interface Worker {
  readonly redis: QueueRedis;
  readonly gates: RedisGates;
}

async function workerAt({ url }: Pick<RedisServer, 'url'>, queueName = 'team', password?: string): Promise<Worker> {
  const redis = await openRedis(parseQueueUrl(url), { isSealed: false, password }, () => undefined);
  onTestFinished(() => redis.close());
  return { redis, gates: new RedisGates(redis, queueName, seal) };
}

/** The next pause that a worker hears of, as the gate and the wait. */
function nextPause({ gates }: Worker): Promise<[string, number]> {
  return new Promise((resolve, reject) => gates.onPause((...heard) => resolve(heard)).catch(reject));
}

type Client = Redis & { reserveStarts(key: string, interval: number, count: number): Promise<[number, number, number]> };

/** Reserves starts at the gate until a worker has some. Returns their times by Redis' clock, in microseconds. */
async function startsOf({ redis }: Worker, wanted: number): Promise<number[]> {
  const client = redis.client as Client;
  const starts: number[] = [];
  while (starts.length < wanted) {
    // Sent together, so that Redis answers both at once.
    const [[seconds, us], [count, inUs, intervalUs]] = await Promise.all([client.time(), client.reserveStarts(key, 10_000, 2)]);
    const first = Number(seconds) * 1e6 + Number(us) + inUs;
    for (let at = 0; at < count; at++) starts.push(first + at * intervalUs);
    if (count === 0) await new Promise((resolve) => setTimeout(resolve, inUs / 1000));
  }
  return starts;
}

describe.skipIf(!hasRedis)(`the gates of a queue${unlessRedis}`, () => {
  test('of three workers at 100/s start at most 107 calls in any second', async () => {
    const server = await redisServer();
    const workers = await Promise.all([workerAt(server), workerAt(server), workerAt(server)]);
    const starts = (await Promise.all(workers.map((worker) => startsOf(worker, 100)))).flat().sort((one, other) => one - other);
    const most = Math.max(...starts.map((from) => starts.filter((start) => start >= from && start < from + 1e6).length));
    expect(starts.length).toBeGreaterThanOrEqual(300);
    expect(most).toBeLessThanOrEqual(107);
  });

  test('reserve starts one interval apart, by the slowest rate that was asked', async () => {
    const server = await redisServer();
    const [fast, slow] = await Promise.all([workerAt(server), workerAt(server)]);
    expect(await fast.gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 2, intervalMs: 10 });
    expect(await slow.gates.permitsOf(gate).reserve(40_000, 1)).toMatchObject({ count: 1, intervalMs: 40_000 });
    const { count, inMs, intervalMs } = await fast.gates.permitsOf(gate).reserve(10, 2);
    expect([count, intervalMs]).toEqual([0, 40_000]);
    expect(inMs).toBeGreaterThan(30_000);
    expect(inMs).toBeLessThan(39_600);
    expect(await fast.gates.permitsOf('https://other.example.com').reserve(10, 2)).toMatchObject({ count: 2, intervalMs: 10 });
  });

  test('of another queue are others', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server, 'other')]);
    await one.gates.permitsOf(gate).reserve(60_000, 1);
    expect(await other.gates.permitsOf(gate).reserve(10, 1)).toMatchObject({ count: 1, intervalMs: 10 });
  });

  test('pause for all workers, with a rate or without one', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server)]);
    const permits = other.gates.permitsOf(gate);
    const heard: [string, number][] = [];
    await other.gates.onPause((...pause) => heard.push(pause));
    await one.gates.onPause(() => undefined);
    one.gates.permitsOf(gate).pause(20_000);
    while (heard.length === 0) await other.redis.client.ping();
    expect(heard).toEqual([[gate, 20_000]]);
    // A shorter pause does not end it.
    one.gates.permitsOf(gate).pause(10);
    const { count, inMs } = await permits.reserve(10, 2);
    expect(count).toBe(0);
    expect(inMs).toBeGreaterThan(10_000);
    expect(inMs).toBeLessThanOrEqual(19_500);
  });

  test('need a Redis that lets its user listen', async () => {
    const server = await redisServer();
    const admin = await workerAt(server);
    await admin.redis.client.acl('SETUSER', 'team', 'on', '>geheim', '~*', '+@all', 'resetchannels');
    const url = server.url.replace('redis://', 'redis://team@');
    const { gates } = await workerAt({ url }, 'team', 'geheim');
    await expect(gates.onPause(() => undefined)).rejects.toMatchObject({ kind: 'credential' });
    gates.permitsOf(gate).pause(20_000);
    expect(await admin.gates.permitsOf(gate).reserve(10, 1)).toMatchObject({ count: 0 });
  });

  test('are known to be paused by a worker that comes later', async () => {
    const server = await redisServer();
    const one = await workerAt(server);
    one.gates.permitsOf(gate).pause(20_000);
    const other = await workerAt(server);
    const heard = nextPause(other);
    other.gates.permitsOf(gate);
    const [name, waitMs] = await heard;
    expect(name).toBe(gate);
    expect(waitMs).toBeGreaterThan(10_000);
  });

  test('are known to be paused by a worker whose connection was lost', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server)]);
    other.gates.permitsOf(gate);
    const heard = nextPause(other);
    await server.kill();
    await server.start();
    one.gates.permitsOf(gate).pause(20_000);
    expect((await heard)[0]).toBe(gate);
  });

  test('write whole microseconds, show no name and are forgotten', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    await gates.permitsOf(gate).reserve(86_400_000 / 7, 1);
    gates.permitsOf(gate).pause(1500.4);
    const { client } = redis;
    expect(await client.hgetall(key)).toEqual({
      next: expect.stringMatching(/^\d{16}$/),
      pausedUntil: expect.stringMatching(/^\d{16}$/),
      interval: '12342857143',
    });
    expect(await client.keys('*')).toEqual([key]);
    expect(await client.pttl(key)).toBeGreaterThan(60_000);
  });

  test('take foreign text in their place for no gate', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    await redis.client.set(key, 'foreign');
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 2 });
    await redis.client.hset(key, { next: 'x', interval: '' });
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 2, intervalMs: 10 });
    await redis.client.set(key, 'foreign');
    gates.permitsOf(gate).pause(1000);
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 0 });
  });

  test('reserve nothing while Redis is away, and go on with the scripts of a new one', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    const permits = gates.permitsOf(gate);
    await permits.reserve(10, 1);
    const closed = once(redis.client, 'close');
    await server.kill();
    await closed;
    const answers: string[] = [];
    const reserving = permits.reserve(10, 2).then(({ count }) => answers.push(`reserved ${count}`));
    await new Promise((resolve) => redis.client.once('reconnecting', resolve));
    answers.push('away');
    await server.start();
    await reserving;
    expect(answers).toEqual(['away', 'reserved 2']);
  });

  test('of the engine pass their calls, one after another', async () => {
    const server = await redisServer();
    const { gates } = await workerAt(server);
    const clock = createClock();
    const shared = new Gates(clock, (name) => gates.permitsOf(name));
    await gates.onPause((name, waitMs) => shared.pauseHere(name, waitMs));
    const call = { gate: { origin: 'https://api.example.com', credential: 'crm-token' }, intervalMs: 50, limit: { key: 'node', max: 16 } };
    const passed: number[] = [];
    await Promise.all([1, 2, 3, 4].map((number) => shared.pass(call, async () => void passed.push(number))));
    expect(passed.sort()).toEqual([1, 2, 3, 4]);
  });
});

describe.skipIf(!hasRedis)(`the requests of a day${unlessRedis}`, () => {
  test('count for all workers of a queue', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server)]);
    const limit: DayLimit = { server: 'Overpass', max: 3 };
    const counts = [one, other, one, other].map(({ redis }) => redisDayCounts(redis, 'team').add(limit));
    expect((await Promise.all(counts)).sort()).toEqual([false, true, true, true]);
    expect(await redisDayCounts(one.redis, 'other').add(limit)).toBe(true);
    const [found = ''] = await one.redis.client.keys('{automate:team}:*');
    expect(found).toMatch(/^\{automate:team\}:day:Overpass:\d{4}-\d\d-\d\d$/);
    expect(await one.redis.client.ttl(found)).toBeGreaterThan(86_400);
  });
});
