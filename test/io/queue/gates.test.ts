import { expect, test } from 'vitest';
import type { QueueRedis } from '../../../src/io/queue/connection.ts';
import { RedisGates } from '../../../src/io/queue/gates.ts';

test('the starts of a late answer are as early as those of a usual one', async () => {
  const time = { nowMs: 0, tripMs: 20 };
  const answer = [2, 100_000, 10_000];
  const client = {
    defineCommand: () => undefined,
    async reserveStarts() {
      time.nowMs += time.tripMs;
      return answer;
    },
  };
  const redis = { client, insist: (command: () => Promise<unknown>) => command() } as unknown as QueueRedis;
  const permits = new RedisGates(redis, 'default', { hash: (text) => text }, () => time.nowMs).permitsOf('gate');
  const nextMs = async (tripMs: number) => {
    time.tripMs = tripMs;
    return (await permits.reserve(10, 2)).inMs;
  };
  expect(await nextMs(20)).toBe(100);
  // 200 ms late: the first start was 100 ms ago, and the gate gives it up.
  expect(await nextMs(220)).toBe(-100);
  // One late answer changes little of what is usual, a fast one all.
  expect(await nextMs(40)).toBe(100);
  expect(await nextMs(10)).toBe(100);
  expect(await nextMs(40)).toBe(70);
  // Where all answers take long, that is usual.
  for (let trips = 0; trips < 60; trips++) await nextMs(300);
  expect(await nextMs(300)).toBeGreaterThan(95);
  // Without starts the wait is the one of Redis.
  answer[0] = 0;
  expect(await nextMs(900)).toBe(100);
});
