import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createClock } from '../../../src/io/clock/clock.ts';
import { createYielding, inTurns } from '../../../src/io/clock/turns.ts';

describe('inTurns', () => {
  test('eight go on in a turn, in their order, and whoever comes meanwhile behind them', async () => {
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

describe('createYielding', () => {
  afterEach(() => vi.restoreAllMocks());

  test('a short turn is not ended; of a long one all go on in the next, which may last as long', async () => {
    const clock = vi.spyOn(performance, 'now');
    const passMs = (ms: number) => clock.mockReturnValue(performance.now() + ms);
    passMs(0);
    const yieldTurn = createYielding();
    expect(yieldTurn()).toBeUndefined();
    passMs(9);
    expect(yieldTurn()).toBeUndefined();
    passMs(2);
    const gone: string[] = [];
    const first = yieldTurn()?.then(() => gone.push('first'));
    const second = yieldTurn()?.then(() => gone.push('second'));
    expect([first, second]).toEqual([expect.any(Promise), expect.any(Promise)]);
    await Promise.resolve();
    expect(gone).toEqual([]);
    await nextTurn();
    expect(gone).toEqual(['first', 'second']);
    passMs(9);
    expect(yieldTurn()).toBeUndefined();
    passMs(2);
    expect(yieldTurn()).toBeInstanceOf(Promise);
  });

  test('a turn that came to its end by itself does not count into the next', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const yieldTurn = createYielding();
    yieldTurn();
    await nextTurn();
    clock.mockReturnValue(60_000);
    expect(yieldTurn()).toBeUndefined();
  });
});

test('of those that are due at once the first go on before the last are woken', async () => {
  const clock = createClock();
  const untilMs = clock.now() + 30;
  const turns = new Set<number>();
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const sleeps = Array.from({ length: 40 }, () => clock.sleepUntil(untilMs).then(() => turns.add(turn)));
  count();
  await Promise.all(sleeps);
  isOver = true;
  expect(turns.size).toBeGreaterThanOrEqual(5);
});
