import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports.ts';
import { Gates, RunGates } from '../../src/engine/gates.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { SharedStarts } from '../../src/workers/open-children.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

const call = (intervalMs?: number, max = 16) => ({
  gate: { origin: 'https://api.example.com', credential: undefined },
  intervalMs,
  limit: { key: 'a', max },
});

/** Creates the gates of one process. The processes agree through `starts` on when each call starts. */
function gatesOf(clock: Clock, starts: SharedStarts): Gates {
  const process = {};
  return new Gates(clock, (gate) => ({
    reserve: async (intervalMs, count) => starts.reserve(gate, process, intervalMs, count),
    release: () => starts.release(process, gate),
    pause: (waitMs) => starts.pause(gate, waitMs),
  }));
}

/** Simulates several processes that share a gate. Their calls end after `answerMs`. Returns the start times of all calls. */
async function startsOf(processes: number, calls: number, intervals: readonly number[], answerMs = 0): Promise<number[]> {
  const clock = createFakeClock();
  const starts = new SharedStarts(clock);
  const times: number[] = [];
  await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const gates = new RunGates(gatesOf(clock, starts), new RunPhase());
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

describe('processes that share a gate', () => {
  test.each([
    [100, 10],
    [5, 200],
    [1000, 1],
  ])('together keep to a rate of %d/s, and use it fully', async (rate, intervalMs) => {
    const times = await startsOf(3, rate, [intervalMs], 20);
    expect(mostInASecond(times)).toBeLessThanOrEqual(rate * 1.05 + 2);
    expect(times.at(-1)).toBeLessThan(3000 * 1.1 + 500);
  });

  test('keep to the lowest rate if their rates differ', async () => {
    expect(mostInASecond(await startsOf(2, 20, [10, 100]))).toBeLessThanOrEqual(12);
  });

  test('start no calls while one process pauses the gate', async () => {
    const clock = createFakeClock();
    const starts = new SharedStarts(clock);
    starts.pause('a', 5000);
    const process = {};
    expect(starts.reserve('a', process, 10, 5)).toEqual({ count: 0, inMs: 4500, intervalMs: 10 });
    await clock.sleepUntil(4500);
    expect(starts.reserve('a', process, 10, 5)).toEqual({ count: 5, inMs: 500, intervalMs: 10 });
    expect(starts.reserve('a', process, 10, 5)).toEqual({ count: 0, inMs: 50, intervalMs: 10 });
  });

  test("keep to a process's low rate until its run ends, and then to the rates of the other processes", async () => {
    const clock = createFakeClock();
    const starts = new SharedStarts(clock);
    const [slow, fast] = [1, 2].map(() => new RunGates(gatesOf(clock, starts), new RunPhase())) as [RunGates, RunGates];
    await slow.enter(call(60_000), { record: 1, stage: 'new' });
    const waiting = fast.enter(call(10), { record: 1, stage: 'new' });
    await clock.sleepUntil(2000);
    slow.close();
    await waiting;
    // The fast process requests starts only once per second, so it can be up to 1 s late.
    expect(clock.now()).toBeLessThanOrEqual(3000);
  });

  test('ignore the rate of an ended run, even if a different run of its process uses the gate', async () => {
    const clock = createFakeClock();
    const starts = new SharedStarts(clock);
    const gates = gatesOf(clock, starts);
    const [slow, fast, other] = [gates, gates, gatesOf(clock, starts)].map((all) => new RunGates(all, new RunPhase()));
    await fast?.enter(call(10), { record: 1, stage: 'new' });
    await slow?.enter(call(60_000), { record: 1, stage: 'new' });
    slow?.close();
    // The other run of this process has no more calls to start.
    await other?.enter(call(10), { record: 1, stage: 'new' });
    expect(clock.now()).toBeLessThan(100);
  });

  test('forget the rates of a process that has died, at all gates', () => {
    const starts = new SharedStarts(createFakeClock());
    const [dead, living] = [{}, {}];
    for (const gate of ['a', 'b']) starts.reserve(gate, dead, 60_000, 1);
    starts.release(dead);
    for (const gate of ['a', 'b']) expect(starts.reserve(gate, living, 10, 1)).toEqual({ count: 1, inMs: 10, intervalMs: 10 });
  });
});
