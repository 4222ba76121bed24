import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createClock, createYieldIfLong, inTurns } from '../../src/files/clock.ts';

describe('inTurns', () => {
  test('lets eight callers continue in each turn of the event loop, in the order of their calls', async () => {
    const inTurn = inTurns();
    const gone: number[] = [];
    const counts: number[] = [];
    for (let i = 0; i < 20; i++) inTurn(() => gone.push(i));
    expect(gone).toEqual([]);
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      counts.push(gone.length);
      if (turn === 0) inTurn(() => gone.push(20));
    }
    expect(counts).toEqual([8, 16, 21, 21]);
    expect(gone).toEqual(Array.from({ length: 21 }, (_, i) => i));
    inTurn(() => gone.push(21));
    await nextTurn();
    expect(gone).toHaveLength(22);
  });
});

describe('createYieldIfLong', () => {
  afterEach(() => vi.restoreAllMocks());

  test('yields after 10 ms of work, and all callers resume in the next turn', async () => {
    const clock = vi.spyOn(performance, 'now');
    const passMs = (ms: number) => clock.mockReturnValue(performance.now() + ms);
    passMs(0);
    const yieldIfLong = createYieldIfLong();
    expect(yieldIfLong()).toBeUndefined();
    passMs(9);
    expect(yieldIfLong()).toBeUndefined();
    passMs(2);
    const gone: string[] = [];
    const first = yieldIfLong()?.then(() => gone.push('first'));
    const second = yieldIfLong()?.then(() => gone.push('second'));
    expect([first, second]).toEqual([expect.any(Promise), expect.any(Promise)]);
    await Promise.resolve();
    expect(gone).toEqual([]);
    await nextTurn();
    expect(gone).toEqual(['first', 'second']);
    passMs(9);
    expect(yieldIfLong()).toBeUndefined();
    passMs(2);
    expect(yieldIfLong()).toBeInstanceOf(Promise);
  });

  test('does not count time before the current turn of the event loop', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const yieldIfLong = createYieldIfLong();
    yieldIfLong();
    await nextTurn();
    clock.mockReturnValue(60_000);
    expect(yieldIfLong()).toBeUndefined();
  });
});

test('sleeps that end at the same time resume over several turns of the event loop', async () => {
  const clock = createClock();
  // On a busy machine, the time could be over before the last sleep begins.
  const stopped = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  const untilMs = clock.now() + 30;
  const turns = new Set<number>();
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const sleeps = Array.from({ length: 40 }, () => clock.sleepUntil(untilMs).then(() => turns.add(turn)));
  stopped.mockRestore();
  count();
  await Promise.all(sleeps);
  isOver = true;
  expect(turns.size).toBeGreaterThanOrEqual(5);
});
