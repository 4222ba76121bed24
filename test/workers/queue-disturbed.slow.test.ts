import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { Finished } from '../helpers/cli.ts';
import { flip, keyed, prefix, queuedRun, rowsOf, tableOf, until } from '../helpers/queued-run.ts';
import { hasRedis, unlessRedis } from '../helpers/redis.ts';

describe.skipIf(!hasRedis)(`a run of a queue${unlessRedis}`, () => {
  /** What somebody does to one key of a queue, and the pattern of the key after the queue's prefix. */
  interface Disturbance {
    readonly kind: string;
    act(client: Redis, key: string): Promise<unknown>;
  }

  /** Runs a flow while somebody disturbs one key of its queue after another, and checks that the run and its workers are not affected. */
  async function disturbed(disturbances: readonly Disturbance[]) {
    const count = 300 * disturbances.length;
    const queued = await queuedRun('', 100, { env: keyed });
    const { place, server, pace, client, worker, finishedRun, status } = queued;
    await place.write('in.csv', tableOf(count));
    const workers = [worker(), worker()];
    const finished = finishedRun();
    let ended: Finished | undefined;
    void finished.then((result) => (ended = result));
    const isTrue = (condition: () => boolean | Promise<boolean>) => until(async () => (await condition()) || ended !== undefined);
    /** Resolves with the name of a key as soon as there is one. */
    const keyOf = async (kind: string) => {
      const names: string[] = [];
      await isTrue(async () => {
        names.push(...(await client.keys(`${prefix}:*`)).filter((name) => new RegExp(`^${kind}$`).test(name.slice(prefix.length + 1))));
        return names.length > 0;
      });
      expect(ended, kind).toBeUndefined();
      return names[0] as string;
    };
    const beatOf = async (key: string) => Number(await client.hget(key, 'beat').catch(() => 0)) || 0;
    const outcomes: Finished[] = [];
    for (const { kind, act } of disturbances) {
      // Each disturbance has to be overcome before the next one. Otherwise, both could be repaired together.
      const { length } = server.requests;
      const entry = await keyOf(entryKind);
      const beat = await beatOf(entry);
      await isTrue(async () => (await beatOf(entry)) > beat + 1);
      await isTrue(() => server.requests.length > length + 20);
      await act(client, await keyOf(kind));
      if (outcomes.length < 2) outcomes.push(await status());
    }
    // The rest of the records need no time.
    pace.ms = 0;
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(4);
    expect(stderr).not.toContain('this is a bug');
    expect(await place.read('out.csv')).toBe(rowsOf(count));
    for (const one of workers) void one.kill('SIGTERM');
    for (const { code: workerCode, stderr: problems } of await Promise.all(workers.map((one) => one.finished))) {
      expect(workerCode, problems).toBe(0);
      expect(problems).not.toContain('this is a bug');
    }
    for (const outcome of outcomes) expect(outcome.code, outcome.stderr).toBe(0);
    const left = (await client.keys('*')).filter((key) => /:run:|:units:[-\da-f]{36}/.test(key) && !key.endsWith(':run:odd'));
    expect(left).toEqual([]);
    return { stderr, outcomes };
  }

  const job = 'units:[-\\da-f]{36}-[\\da-f]{8}-\\d+';
  const entryKind = 'run:[-\\da-f]{36}';
  const kinds = [
    ...['runs', 'workers', entryKind, `${entryKind}:manifest`, `${entryKind}:in:.*`, job],
    ...['units:active', 'units:meta', 'units:id', 'units:events', 'units:stalled', 'units:stalled-check'],
  ];

  test('continues after single keys were deleted', async () => {
    await disturbed(kinds.map((kind) => ({ kind, act: (client, key) => client.del(key) })));
  });

  test('continues after values of a different type were stored in single keys', async () => {
    const act: Disturbance['act'] = async (client, key) => {
      const isString = (await client.type(key)) === 'string';
      const emptied = client.multi().del(key);
      await (isString ? emptied.rpush(key, 'foreign') : emptied.set(key, 'foreign')).exec();
    };
    const more = ['later', 'units:wait', 'units:marker', 'units:paused', 'units:delayed'];
    const put = more.map((name) => ({ kind: 'units:meta', act: (client: Redis) => client.set(`${prefix}:${name}`, 'foreign') }));
    await disturbed([...kinds.map((kind) => ({ kind, act })), ...put]);
  });

  test('continues after other texts were stored in single keys', async () => {
    const fields = (values: Record<string, string>) => ({ kind: entryKind, act: (client: Redis, key: string) => client.hset(key, values) });
    const { stderr, outcomes } = await disturbed([
      { kind: 'workers', act: (client, key) => client.hset(key, 'odd', '1 {"id":"odd","leaseMs":5000,"problems":[null]}') },
      fields({ counts: 'notjson' }),
      fields({ counts: '[{"read":"x"}]', state: 'odd' }),
      fields({ gen: 'odd', seen: 'odd', version: 'odd', fingerprint: 'odd', pid: 'odd', closing: 'odd' }),
      fields({ beat: 'odd' }),
      { kind: 'runs', act: (client, key) => client.sadd(key, 'odd') },
      { kind: 'runs', act: (client) => client.hset(`${prefix}:run:odd`, { gen: 'odd', seen: 'odd', state: 'odd', version: '0.1.0' }) },
      { kind: `${entryKind}:manifest`, act: (client, key) => client.set(key, 'odd') },
      { kind: `${entryKind}:in:.*`, act: (client, key) => flip(client, key) },
      { kind: entryKind, act: (client, key) => client.rpush(`${key}:results`, 'odd') },
      { kind: job, act: (client, key) => client.hset(key, 'data', 'notjson') },
      { kind: job, act: (client, key) => client.hset(key, 'data', '[null]', 'opts', '"odd"') },
      { kind: 'units:meta', act: (client) => client.rpush(`${prefix}:units:wait`, 'odd') },
      { kind: 'units:meta', act: (client) => client.zadd(`${prefix}:later`, 0, 'odd', 0, '{"run":1}', 0, '{"run":"odd","unit":"odd"}') },
      { kind: 'units:meta', act: (client, key) => client.hset(key, 'paused', '1', 'concurrency', '0') },
      { kind: 'units:id', act: (client, key) => client.set(key, 'odd') },
      { kind: 'units:meta', act: (client) => client.set(`${prefix}:units:stalled-check`, 'odd') },
    ]);
    expect(stderr).toContain(' contains a status of the worker "odd" that cannot be read; it is ignored\n');
    expect(stderr).toContain(' contains messages to this run that cannot be read; they are ignored\n');
    expect(outcomes[0]?.stderr).toContain(' contains a status of the worker "odd" that cannot be read; it is ignored\n');
  });
});
