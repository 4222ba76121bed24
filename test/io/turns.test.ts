import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createClock } from '../../src/io/clock.ts';
import { inTurns } from '../../src/io/turns.ts';

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
