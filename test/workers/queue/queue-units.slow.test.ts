import { describe, expect, onTestFinished, test } from 'vitest';
import type { Unit } from '../../../src/engine/passage/workers.ts';
import type { Report } from '../../../src/workers/processes/wire-form.ts';
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
  const reports: Report[] = [];
  const desk = {
    answer: async () => ({ calls: 1 }),
    take: (_: number, report: Report) => void reports.push(report),
    takeEarlier: () => undefined,
    lost: () => undefined,
  };
  const units = new QueueUnits(
    { redis, keys, seal, jobs, now: () => clock.ms },
    {
      ...{ run, manifest: {}, facts: { version: '1' }, isTable: true, desk, takesOldResults: true },
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
  const send = async (seq: number, nonce: string, news: QueueNews) => {
    const gen = await redis.client.hget(entry, 'gen');
    const sealed = seal.seal(JSON.stringify({ ...news, worker: 'one', gen, nonce, seq }), `${run} results`);
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
    const report = { kind: 'settle', node: 'http-1' } as const;
    const news = { kind: 'results', numbers: [1], reports: [report], results: [[1, 0, 1, 'a\n']] } as const;
    for (const seq of [1, 1, 2, 1]) await send(seq, 'nonce of one', { ...news, results: seq === 1 ? news.results : [[1, 1, 1, 'b\n']] });
    await until(() => finished.length === 2);
    // The messages of a worker that has left are not processed again either.
    await redis.client.del(keys.workers);
    await send(1, 'nonce of one', news);
    await until(async () => (await redis.client.llen(keys.run(run).results)) === 0);
    expect(reports).toHaveLength(2);
  });

  test('answers a worker that joins with the nonce of that worker', async () => {
    const { redis, keys, send } = await coordinator();
    const seal = createSeal('the key of this queue', 'team');
    const subscriber = redis.duplicate();
    const heard: unknown[] = [];
    subscriber.on('messageBuffer', (_, bytes: Buffer) => void heard.push(seal.unsealValue(bytes, 'to one')));
    await subscriber.subscribe(keys.worker('one'));
    await send(1, 'nonce of one', { kind: 'join' });
    await until(() => heard.length === 1);
    expect(heard).toMatchObject([{ kind: 'welcome', run, nonce: 'nonce of one' }]);
    const { gen } = heard[0] as { gen: string };
    expect(gen).toBe(await redis.client.hget(keys.run(run).run, 'gen'));
  });
});
