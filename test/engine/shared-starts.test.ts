import { describe, expect, test } from 'vitest';
import { Gates, RunGates } from '../../src/engine/gates.ts';
import { SharedStarts } from '../../src/engine/passage/shared-starts.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

const call = (intervalMs?: number, max = 16) => ({
  gate: { origin: 'https://api.example.com', credential: undefined },
  intervalMs,
  limit: { key: 'a', max },
});

/** Several processes at one gate, each with calls that end after `answerMs`. Returns the times of all starts. */
async function startsOf(processes: number, calls: number, intervals: readonly number[], answerMs = 0): Promise<number[]> {
  const clock = createFakeClock();
  const starts = new SharedStarts(clock);
  const times: number[] = [];
  const permitsOf = (gate: string) => ({
    reserve: async (intervalMs: number, count: number) => starts.reserve(gate, intervalMs, count),
    pause: (waitMs: number) => starts.pause(gate, waitMs),
  });
  await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const gates = new RunGates(new Gates(clock, permitsOf), new RunPhase());
      const one = async (record: number) => {
        const slot = await gates.enter(call(intervals[index % intervals.length]), { record, stage: 'new' });
        times.push(clock.now());
        await clock.sleepUntil(clock.now() + answerMs);
        slot.free();
      };
      await Promise.all(Array.from({ length: calls }, (_, record) => one(record + 1)));
      gates.close();
    }),
  );
  return times.sort((a, b) => a - b);
}

const mostInASecond = (times: readonly number[]) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length));

describe('gates of several processes', () => {
  test.each([
    [100, 10],
    [5, 200],
    [1000, 1],
  ])('hold a rate of %d/s together, and use it', async (rate, intervalMs) => {
    const times = await startsOf(3, rate, [intervalMs], 20);
    expect(mostInASecond(times)).toBeLessThanOrEqual(rate * 1.05 + 2);
    expect(times.at(-1)).toBeLessThan(3000 * 1.1 + 500);
  });

  test('hold the lowest of several rates', async () => {
    expect(mostInASecond(await startsOf(2, 20, [10, 100]))).toBeLessThanOrEqual(12);
  });

  test('start nothing while one of them has paused the gate', async () => {
    const clock = createFakeClock();
    const starts = new SharedStarts(clock);
    starts.pause('a', 5000);
    expect(starts.reserve('a', 10, 5)).toEqual({ count: 0, inMs: 4500, intervalMs: 10 });
    await clock.sleepUntil(4500);
    expect(starts.reserve('a', 10, 5)).toEqual({ count: 5, inMs: 500, intervalMs: 10 });
    expect(starts.reserve('a', 10, 5)).toEqual({ count: 0, inMs: 50, intervalMs: 10 });
  });
});
