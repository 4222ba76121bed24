import { describe, expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../../../src/workers/queue/connection.ts';
import { queueKeys } from '../../../src/workers/queue/queue-keys.ts';
import { parseQueueUrl } from '../../../src/workers/queue/queue-url.ts';
import { createSeal } from '../../../src/workers/queue/seal.ts';
import { seenWorkers, showWorker, type WorkerSign } from '../../../src/workers/queue/worker-signs.ts';
import { hasRedis, redisServer, unlessRedis } from '../../helpers/redis.ts';

const keys = queueKeys('team');

async function queue(key = 'the key of this queue') {
  const server = await redisServer();
  const redis = await openRedis(parseQueueUrl(server.url), {}, () => undefined);
  onTestFinished(() => redis.close());
  return { redis, keys, seal: createSeal(key, 'team') };
}

const sign: WorkerSign = {
  ...{ id: 'one', host: 'a', pid: 1, version: '1', leaseMs: 20_000, units: 1, records: 2 },
  problems: [
    {
      ...{ run: 'run', code: 'unreachable', ending: 'unreachable' },
      problem: 'none of the first 10 attempts was answered: http://canary.example: the connection was refused',
    },
  ],
};

describe.skipIf(!hasRedis)(`the status of a worker in Redis${unlessRedis}`, () => {
  test('contains no value of a record in clear text', async () => {
    const parts = await queue();
    await showWorker(parts, sign);
    const text = (await parts.redis.client.hget(keys.workers, 'one')) as string;
    expect(text).toContain('"code":"unreachable"');
    expect(text).not.toContain('canary');
    expect(await seenWorkers(parts, () => undefined)).toMatchObject([sign]);
  });

  test('has a general text for a reader with a different queue key, who cannot end a run because of it', async () => {
    const parts = await queue();
    await showWorker(parts, sign);
    const others = await seenWorkers({ ...parts, seal: createSeal('a different queue key', 'team') }, () => undefined);
    expect(others).toMatchObject([{ id: 'one', problems: [{ run: 'run', code: 'unreachable', problem: 'no server responds' }] }]);
    expect(others[0]?.problems[0]?.ending).toBeUndefined();
  });

  test.each([
    'text',
    '1 null',
    '1 []',
    '1 {"id":"odd"}',
    '1 {"id":"odd","leaseMs":5000,"problems":[null]}',
    `1 ${JSON.stringify({ ...sign, problems: [], id: 'two' })}`,
    `1 ${JSON.stringify({ ...sign, problems: [{ run: 'run', problem: 'text' }], id: 'odd' })}`,
    `one ${JSON.stringify({ ...sign, problems: [], id: 'odd' })}`,
  ])('is ignored if its form is wrong: %s', async (text) => {
    const parts = await queue();
    await showWorker(parts, sign);
    await parts.redis.client.hset(keys.workers, 'odd', text);
    const unreadable: string[] = [];
    const seen = await seenWorkers(parts, (id) => unreadable.push(id));
    expect(seen.map(({ id }) => id)).toEqual(['one']);
    expect(unreadable).toEqual(['odd']);
  });

  test('replaces a value of a different type', async () => {
    const parts = await queue();
    await parts.redis.client.set(keys.workers, 'foreign');
    expect(await seenWorkers(parts, () => undefined)).toEqual([]);
    await showWorker(parts, sign);
    expect(await seenWorkers(parts, () => undefined)).toMatchObject([sign]);
  });
});
