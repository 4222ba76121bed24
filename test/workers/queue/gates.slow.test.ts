import { once } from 'node:events';
import type { ChainableCommander } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Gates } from '../../../src/engine/gates.ts';
import { createClock } from '../../../src/files/clock.ts';
import { openRedis, type QueueRedis } from '../../../src/workers/queue/connection.ts';
import { RedisGates } from '../../../src/workers/queue/gates.ts';
import { parseQueueUrl } from '../../../src/workers/queue/queue-url.ts';
import { createSeal } from '../../../src/workers/queue/seal.ts';
import { hasRedis, type RedisServer, redisServer, unlessRedis } from '../../helpers/redis.ts';

const gate = 'https://api.example.com crm-token';
const seal = createSeal('a key of the tests', 'team');
const key = `{automate:team}:gate:${seal.hash(gate)}`;

interface Worker {
  readonly redis: QueueRedis;
  readonly gates: RedisGates;
}

async function workerAt({ url }: Pick<RedisServer, 'url'>, queueName = 'team', password?: string): Promise<Worker> {
  const redis = await openRedis(parseQueueUrl(url), { password }, () => undefined);
  onTestFinished(() => redis.close());
  return { redis, gates: new RedisGates(redis, queueName, seal) };
}

/** Resolves with the gate and the duration of the next pause that a worker is informed of. */
function nextPause({ gates }: Worker): Promise<[gate: string, waitMs: number, isPaced: boolean]> {
  return new Promise((resolve, reject) => gates.onPause((...heard) => resolve(heard)).catch(reject));
}

type Transaction = ChainableCommander & {
  reserveStarts(key: string, interval: number, count: number, process: string): ChainableCommander;
};

/** Reserves `wanted` call starts at the gate for a worker. Returns the times of the starts in microseconds of Redis' clock. */
async function startsOf({ redis }: Worker, wanted: number): Promise<number[]> {
  const starts: number[] = [];
  while (starts.length < wanted) {
    // The next free start, read in the same transaction, is the end of the reserved ones.
    const replies = await (redis.client.multi() as Transaction).reserveStarts(key, 10_000, 2, 'one').hget(key, 'next').exec();
    const [[, [count, inUs, intervalUs]], [, next]] = replies as unknown as [[null, [number, number, number]], [null, string]];
    for (let at = count; at > 0; at--) starts.push(Number(next) - at * intervalUs);
    if (count === 0) await new Promise((resolve) => setTimeout(resolve, inUs / 1000));
  }
  return starts;
}

describe.skipIf(!hasRedis)(`the rate limits (gates) that the workers of a queue share${unlessRedis}`, () => {
  test('let three workers with a rate of 100/s start a call every 10 ms', async () => {
    const server = await redisServer();
    const workers = await Promise.all([workerAt(server), workerAt(server), workerAt(server)]);
    const starts = (await Promise.all(workers.map((worker) => startsOf(worker, 100)))).flat().sort((one, other) => one - other);
    expect(starts.length).toBeGreaterThanOrEqual(300);
    expect(Math.min(...starts.slice(1).map((start, index) => start - (starts[index] as number)))).toBe(10_000);
  });

  test('reserve calls at the interval of the slowest requested rate', async () => {
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

  test("forget a worker's rate as soon as the worker releases the gate", async () => {
    const server = await redisServer();
    const [fast, slow] = await Promise.all([workerAt(server), workerAt(server)]);
    await slow.gates.permitsOf(gate).reserve(40_000, 1);
    expect(await fast.gates.permitsOf(gate).reserve(400, 1)).toMatchObject({ count: 0 });
    slow.gates.permitsOf(gate).release();
    await slow.redis.client.ping();
    const { count, inMs, intervalMs } = await fast.gates.permitsOf(gate).reserve(400, 1);
    expect([count, intervalMs]).toEqual([1, 400]);
    expect(inMs).toBeLessThanOrEqual(400);
    fast.gates.permitsOf(gate).release();
    expect(Object.keys(await fast.redis.client.hgetall(key))).toEqual(['next', 'interval']);
  });

  test('forget the rate of a dead worker after a minute in which it started no call', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    const [seconds] = await redis.client.time();
    const past = `${Number(seconds) * 1e6 - 1}`;
    await redis.client.hset(key, { next: past, 'rate:dead': `40000000 ${past}`, 'rate:living': `20000 ${past}9` });
    expect(await gates.permitsOf(gate).reserve(10, 1)).toMatchObject({ count: 1, intervalMs: 20 });
    expect(Object.keys(await redis.client.hgetall(key))).not.toContain('rate:dead');
  });
  test('are separate for each queue', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server, 'other')]);
    await one.gates.permitsOf(gate).reserve(60_000, 1);
    expect(await other.gates.permitsOf(gate).reserve(10, 1)).toMatchObject({ count: 1, intervalMs: 10 });
  });

  test('pause all workers, whether there is a rate or not', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server)]);
    const permits = other.gates.permitsOf(gate);
    const heard: [gate: string, waitMs: number, isPaced: boolean][] = [];
    await other.gates.onPause((...pause) => heard.push(pause));
    await one.gates.onPause(() => undefined);
    one.gates.permitsOf(gate).pause(20_000, true);
    while (heard.length === 0) await other.redis.client.ping();
    expect(heard).toEqual([[gate, 20_000, true]]);
    // A shorter pause does not end a longer pause.
    one.gates.permitsOf(gate).pause(10);
    const { count, inMs } = await permits.reserve(10, 2);
    expect(count).toBe(0);
    expect(inMs).toBeGreaterThan(10_000);
    expect(inMs).toBeLessThanOrEqual(19_500);
  });

  test('require a Redis user that is allowed to subscribe to channels', async () => {
    const server = await redisServer();
    const admin = await workerAt(server);
    await admin.redis.client.acl('SETUSER', 'team', 'on', '>geheim', '~*', '+@all', 'resetchannels');
    const url = server.url.replace('redis://', 'redis://team@');
    const { gates } = await workerAt({ url }, 'team', 'geheim');
    await expect(gates.onPause(() => undefined)).rejects.toMatchObject({ kind: 'credential' });
    gates.permitsOf(gate).pause(20_000);
    expect(await admin.gates.permitsOf(gate).reserve(10, 1)).toMatchObject({ count: 0 });
  });

  test('pause a worker that starts during the pause, too', async () => {
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

  test('pause a worker that had lost its connection, too', async () => {
    const server = await redisServer();
    const [one, other] = await Promise.all([workerAt(server), workerAt(server)]);
    other.gates.permitsOf(gate);
    const heard = nextPause(other);
    await server.kill();
    await server.start();
    one.gates.permitsOf(gate).pause(20_000);
    expect((await heard)[0]).toBe(gate);
  });

  test('are stored in Redis as whole microseconds, contain no names, and expire', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    await gates.permitsOf(gate).reserve(86_400_000 / 7, 1);
    gates.permitsOf(gate).pause(1500.4);
    const { client } = redis;
    expect(await client.hgetall(key)).toEqual({
      next: expect.stringMatching(/^\d{16}$/),
      interval: '12342857143',
      pausedUntil: expect.stringMatching(/^\d{16}$/),
      [Object.keys(await client.hgetall(key)).find((name) => name.startsWith('rate:')) as string]:
        expect.stringMatching(/^12342857143 \d{16}$/),
    });
    expect(await client.keys('*')).toEqual([key]);
    expect(await client.pttl(key)).toBeGreaterThan(60_000);
  });

  test('ignore data of other programs under their keys', async () => {
    const server = await redisServer();
    const { gates, redis } = await workerAt(server);
    await redis.client.set(key, 'foreign');
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 2 });
    await redis.client.hset(key, { next: 'x', interval: '', 'rate:x': '' });
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 2, intervalMs: 10 });
    await redis.client.set(key, 'foreign');
    gates.permitsOf(gate).pause(1000);
    expect(await gates.permitsOf(gate).reserve(10, 2)).toMatchObject({ count: 0 });
  });

  test('allow no calls while Redis is unavailable, and work with a new Redis afterwards', async () => {
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

  test("let the engine's calls through one by one", async () => {
    const server = await redisServer();
    const { gates } = await workerAt(server);
    const clock = createClock();
    const shared = new Gates(clock, (name) => gates.permitsOf(name));
    await gates.onPause((name, waitMs) => shared.pausedElsewhere(name, waitMs));
    const call = { gate: { origin: 'https://api.example.com', credential: 'crm-token' }, intervalMs: 50, limit: { key: 'node', max: 16 } };
    const passed: number[] = [];
    await Promise.all([1, 2, 3, 4].map((number) => shared.pass(call, async () => void passed.push(number))));
    expect(passed.sort()).toEqual([1, 2, 3, 4]);
  });
});
