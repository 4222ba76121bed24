import { describe, expect, onTestFinished, test } from 'vitest';
import type { Unit } from '../../../src/engine/unit-passage.ts';
import type { WorkerReport } from '../../../src/workers/processes/wire-form.ts';
import { openRedis } from '../../../src/workers/queue/connection.ts';
import { queueKeys } from '../../../src/workers/queue/queue-keys.ts';
import type { QueueNews } from '../../../src/workers/queue/queue-message.ts';
import { QueueUnits } from '../../../src/workers/queue/queue-units.ts';
import { parseQueueUrl } from '../../../src/workers/queue/queue-url.ts';
import { createSeal } from '../../../src/workers/queue/seal.ts';
import { openUnitQueue } from '../../../src/workers/queue/unit-jobs.ts';
import { showWorker } from '../../../src/workers/queue/worker-signs.ts';
import { until } from '../../helpers/queued-run.ts';
import { hasRedis, redisServer, unlessRedis } from '../../helpers/redis.ts';

const run = '5e1f3c1e-3c44-4d11-8a3e-2f6a0c9d7b10';

/** A coordinator with one open unit, and a worker that is alive. The test sets the coordinator's clock. */
async function coordinator() {
  const server = await redisServer();
  const redis = await openRedis(parseQueueUrl(server.url), {}, () => undefined);
  onTestFinished(() => redis.close());
  const seal = createSeal('the key of this queue', 'team');
  const keys = queueKeys('team');
  const jobs = await openUnitQueue(redis, keys);
  onTestFinished(() => jobs.close());
  const clock = { ms: 0 };
  const warnings: string[] = [];
  const reports: WorkerReport[] = [];
  const desk = {
    answer: async () => ({ calls: 1 }),
    take: (_: number, report: WorkerReport) => void reports.push(report),
    takeEarlier: () => undefined,
    lost: () => undefined,
  };
  const units = new QueueUnits(
    { redis, keys, seal, jobs, now: () => clock.ms },
    {
      ...{ run, manifest: {}, facts: { version: '1' }, hasHeader: true, desk, takesOldResults: true },
      newText: () => {
        throw new Error('no result is long');
      },
      counts: () => ({}),
      warn: (text) => void warnings.push(text),
      troubled: (text) => void warnings.push(text),
      looked: () => undefined,
    },
  );
  onTestFinished(() => units.drop());
  const finished: number[] = [];
  units.listen({ finished: (_, index) => void finished.push(index), closing: () => undefined, failed: () => undefined });
  const sign = { id: 'one', host: 'a', pid: 1, version: '1', leaseMs: 600_000, units: 0, records: 0, problems: [] };
  await showWorker({ redis, keys, seal }, sign);
  await units.begin();
  const fields = new Map([['id', '1']]);
  const item = (number: number) => ({ number, fields, end: { offset: 0, line: 0 } });
  units.put({ id: 1, items: [item(1), item(2)] } as unknown as Unit);
  const { run: entry, results } = keys.run(run);
  /** Sends a message as a worker does. The coordinator reads it at its next heartbeat. */
  const send = async (seq: number, nonce: string, news: QueueNews, worker = 'one') => {
    const gen = await redis.client.hget(entry, 'gen');
    const sealed = seal.seal(JSON.stringify({ ...news, worker, gen, nonce, seq }), `${run} results`);
    await redis.client.rpush(results, sealed);
  };
  return { redis, keys, units, clock, warnings, reports, finished, send };
}

describe.skipIf(!hasRedis)(`the coordinator of a queued run${unlessRedis}`, () => {
  test('reports every 30 s that no record finishes, although there is a worker', async () => {
    const { redis, keys, clock, warnings } = await coordinator();
    const said = 'no record of this run has finished for 30 s: 0 of its units are with workers, and 1 wait for one';
    await until(async () => (await redis.client.llen(`${keys.prefix}:units:wait`)) === 1);
    clock.ms = 29_000;
    const beat = async () => Number(await redis.client.hget(keys.run(run).run, 'beat'));
    const first = await beat();
    await until(async () => (await beat()) > first + 1);
    expect(warnings).toEqual([]);
    clock.ms = 30_000;
    await until(() => warnings.length === 1);
    clock.ms = 60_000;
    await until(() => warnings.length === 2);
    expect(warnings).toEqual([said, said]);
  });

  test('processes a message once, however often it is in Redis', async () => {
    const { redis, keys, reports, finished, send } = await coordinator();
    const report = { kind: 'settle-credits', node: 'http-1' } as const;
    const news = { kind: 'results', numbers: [1], reports: [report], results: [[1, 0, 1, 'a\n']] } as const;
    for (const seq of [1, 1, 2, 1]) await send(seq, 'nonce of one', { ...news, results: seq === 1 ? news.results : [[1, 1, 1, 'b\n']] });
    await until(() => finished.length === 2);
    // The messages of a worker that has left are not processed again either.
    await redis.client.del(keys.workers);
    await send(1, 'nonce of one', news);
    await until(async () => (await redis.client.llen(keys.run(run).results)) === 0);
    expect(reports).toHaveLength(2);
  });

  /** Hears what the coordinator tells the worker `one`. */
  async function heardBy({ redis, keys }: Awaited<ReturnType<typeof coordinator>>) {
    const seal = createSeal('the key of this queue', 'team');
    const subscriber = redis.duplicate();
    const heard: unknown[] = [];
    subscriber.on('messageBuffer', (_, bytes: Buffer) => void heard.push(seal.unsealValue(bytes, 'to one')));
    await subscriber.subscribe(keys.worker('one'));
    return heard;
  }

  const begin = (id: number) => ({ kind: 'question', id, question: { kind: 'begin', unit: 1 } }) as const;

  test('gives a unit to one worker at a time, and only the records that have no result', async () => {
    const queue = await coordinator();
    const { send } = queue;
    const heard = await heardBy(queue);
    await send(1, 'nonce of one', begin(1));
    await send(2, 'nonce of one', { kind: 'results', numbers: [1], reports: [], results: [[1, 0, 1, 'a\n']] });
    await send(3, 'nonce of one', begin(2));
    await send(4, 'nonce of one', { kind: 'back', unit: 1 });
    await send(5, 'nonce of one', begin(3));
    await send(6, 'nonce of one', { kind: 'results', numbers: [2], reports: [], results: [[1, 1, 1, 'b\n']] });
    await send(7, 'nonce of one', begin(4));
    await until(() => heard.length === 4);
    expect(heard).toMatchObject([{ value: [0, 1] }, { value: [1] }, { value: [1] }, { value: [] }]);
  });

  test('refuses a unit to other workers while a living worker has it', async () => {
    const queue = await coordinator();
    const { redis, keys, send } = queue;
    const other = { id: 'two', host: 'a', pid: 2, version: '1', leaseMs: 600_000, units: 0, records: 0, problems: [] };
    await showWorker({ redis, keys, seal: createSeal('the key of this queue', 'team') }, other);
    const heard = await heardBy(queue);
    await send(1, 'nonce of two', begin(1), 'two');
    await send(1, 'nonce of one', begin(1));
    await until(() => heard.length === 1);
    // A worker whose status is gone has ended.
    await redis.client.hdel(keys.workers, 'two');
    for (let seq = 2; !JSON.stringify(heard.at(-1)).includes('[0,1]'); seq++) {
      const { length } = heard;
      await send(seq, 'nonce of one', begin(seq));
      await until(() => heard.length > length);
    }
    expect(heard[0]).toMatchObject({ value: 'held' });
  });

  test('puts a unit into the queue again that no worker has, although the lock of its job never expires', async () => {
    const { redis, keys, clock, warnings } = await coordinator();
    const [wait, active] = [`${keys.prefix}:units:wait`, `${keys.prefix}:units:active`];
    await until(async () => (await redis.client.llen(wait)) === 1);
    const job = await redis.client.lmove(wait, active, 'LEFT', 'RIGHT');
    const lock = `${keys.prefix}:units:${job}:lock`;
    await redis.client.set(lock, 'of a worker that has died');
    clock.ms = 60_000;
    await until(async () => (await redis.client.llen(wait)) === 1);
    expect(await redis.client.lrange(wait, 0, -1)).toEqual([job]);
    expect(await redis.client.llen(active)).toBe(0);
    expect(await redis.client.exists(lock)).toBe(0);
    expect(warnings).toContain('contains records as if a worker had them, but no worker has them; they are queued again');
  });

  test('leaves a unit to a living worker, however long the worker needs', async () => {
    const queue = await coordinator();
    const { redis, keys, clock, warnings, send } = queue;
    const [wait, active] = [`${keys.prefix}:units:wait`, `${keys.prefix}:units:active`];
    await until(async () => (await redis.client.llen(wait)) === 1);
    await redis.client.lmove(wait, active, 'LEFT', 'RIGHT');
    const heard = await heardBy(queue);
    await send(1, 'nonce of one', begin(1));
    await until(() => heard.length === 1);
    clock.ms = 600_000;
    await until(() => warnings.length === 1);
    expect(warnings).toEqual(['no record of this run has finished for 30 s: 1 of its units are with workers, and 0 wait for one']);
    expect(await redis.client.llen(wait)).toBe(0);
  });

  test('puts a unit into the queue again that was put off for years', async () => {
    const { redis, keys } = await coordinator();
    const wait = `${keys.prefix}:units:wait`;
    await until(async () => (await redis.client.llen(wait)) === 1);
    const job = await redis.client.lpop(wait);
    const data = (await redis.client.hget(`${keys.prefix}:units:${job}`, 'data')) as string;
    await redis.client.del(`${keys.prefix}:units:${job}`);
    await redis.client.zadd(keys.later, '4102444800000', data);
    await until(async () => (await redis.client.llen(wait)) === 1);
    expect(await redis.client.zcard(keys.later)).toBe(0);
  });

  test('answers a worker that joins with the nonce of that worker', async () => {
    const queue = await coordinator();
    const { redis, keys, send } = queue;
    const heard = await heardBy(queue);
    await send(1, 'nonce of one', { kind: 'join' });
    await until(() => heard.length === 1);
    expect(heard).toMatchObject([{ kind: 'welcome', run, nonce: 'nonce of one' }]);
    const { gen } = heard[0] as { gen: string };
    expect(gen).toBe(await redis.client.hget(keys.run(run).run, 'gen'));
  });
});
