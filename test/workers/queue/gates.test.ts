import { expect, test } from 'vitest';
import type { QueueRedis } from '../../../src/workers/queue/connection.ts';
import { RedisGates } from '../../../src/workers/queue/gates.ts';

test('the start times that Redis reserves do not become later if its response is slow', async () => {
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
  // The response is 200 ms late, so the first start was 100 ms ago and the gate does not use it.
  expect(await nextMs(220)).toBe(-100);
  // A single late response hardly changes the expected latency, but the latency of a fast response becomes the expected latency.
  expect(await nextMs(40)).toBe(100);
  expect(await nextMs(10)).toBe(100);
  expect(await nextMs(40)).toBe(70);
  // If all responses are slow, their latency becomes the expected latency.
  for (let trips = 0; trips < 60; trips++) await nextMs(300);
  expect(await nextMs(300)).toBeGreaterThan(95);
  // If no start is reserved, the wait that Redis returns is used.
  answer[0] = 0;
  expect(await nextMs(900)).toBe(100);
});
