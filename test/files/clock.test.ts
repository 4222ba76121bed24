import { getEventListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createClock } from '../../src/files/clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('sleepUntil', () => {
  test('never resolves too early', async () => {
    const clock = createClock();
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const untilMs = clock.now() + i * 0.13;
        await clock.sleepUntil(untilMs);
        expect(clock.now()).toBeGreaterThanOrEqual(untilMs);
      }),
    );
  });

  test('resolves at once if the time has already passed', async () => {
    vi.useFakeTimers();
    const clock = createClock();
    await clock.sleepUntil(clock.now());
    await clock.sleepUntil(clock.now() - 1000);
    await clock.sleepUntil(Number.NEGATIVE_INFINITY);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('resolves when its signal is aborted, and leaves no timer', async () => {
    vi.useFakeTimers();
    const clock = createClock();
    const controller = new AbortController();
    const sleeps = Array.from({ length: 100 }, () => clock.sleepUntil(clock.now() + 1e6, controller.signal));
    expect(vi.getTimerCount()).toBe(100);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    await Promise.all(sleeps);
    expect(vi.getTimerCount()).toBe(0);
    await clock.sleepUntil(clock.now() + 1e6, controller.signal);
  });

  test('adds only one listener to a signal for all sleeps', async () => {
    const clock = createClock();
    const { signal } = new AbortController();
    for (let round = 0; round < 3; round++) await Promise.all([0, 1, 2].map((ms) => clock.sleepUntil(clock.now() + ms, signal)));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  });

  test('can wait longer than the maximum of setTimeout', async () => {
    vi.useFakeTimers();
    const clock = createClock();
    const untilMs = clock.now() + 2 ** 31 + 5000;
    let awake = false;
    const slept = clock.sleepUntil(untilMs).then(() => {
      awake = true;
    });
    await vi.advanceTimersByTimeAsync(2 ** 31 + 4000);
    expect(awake).toBe(false);
    await vi.advanceTimersByTimeAsync(1001);
    await slept;
    expect(clock.now()).toBeGreaterThanOrEqual(untilMs);
  });
});

test('the monotonic clock does not jump when the system clock jumps', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const clock = createClock();
  const before = clock.now();
  vi.setSystemTime(Date.UTC(2001, 0, 1));
  expect(clock.wallNow()).toBe(Date.UTC(2001, 0, 1));
  expect(clock.now()).toBeGreaterThanOrEqual(before);
  expect(Math.abs(clock.now() - performance.now())).toBeLessThan(1000);
});

test('nextTurn resolves after all callbacks that are ready now', async () => {
  const order: string[] = [];
  const turn = createClock()
    .nextTurn()
    .then(() => order.push('later'));
  setImmediate(() => order.push('ready'));
  await turn;
  expect(order).toEqual(['ready', 'later']);
});
