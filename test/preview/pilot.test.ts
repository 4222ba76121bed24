import { describe, expect, test } from 'vitest';
import { Sample, wilson } from '../../src/preview/pilot.ts';

/** Numbers from 0 to 1 that are the same in each test (a linear congruential generator, as in Numerical Recipes). */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function chosenOf(total: number, count: number, { tried = [] as number[], random = seeded() } = {}) {
  const sample = new Sample({ count, tried: new Set(tried), random });
  for (let place = 1; place <= total; place++) sample.add(place);
  return sample.chosen();
}

test.each([
  [19, 38, '35 %', '65 %'],
  [0, 38, '0 %', '9 %'],
  [38, 38, '91 %', '100 %'],
  [1, 1, '21 %', '100 %'],
  [500, 1000, '47 %', '53 %'],
])('%i of %i found: expect %s to %s', (found, of, least, most) => {
  expect(wilson(found, of).map((share) => `${Math.round(share * 100)} %`)).toEqual([least, most]);
});

describe('the records of a pilot', () => {
  test.each([
    [1, [1], 0],
    [2, [1, 100], 0],
    [3, [1, 100], 1],
    [99, [1, 100], 97],
  ])('of 100, %i are the first, the last, and others at random', (count, ends, atRandom) => {
    const chosen = chosenOf(100, count);
    expect([...(chosen?.all ?? [])]).toEqual(expect.arrayContaining(ends));
    expect([chosen?.all.size, chosen?.atRandom.size]).toEqual([count, atRandom]);
    for (const end of ends) expect(chosen?.atRandom.has(end)).toBe(false);
  });

  test.each([
    [0, 1],
    [1, 1],
    [40, 40],
    [39, 40],
  ])('of %i, %i are all', (total, count) => {
    expect(chosenOf(total, count)).toBeUndefined();
  });

  test('each record between the first and the last is chosen equally often', () => {
    const random = seeded();
    const times = new Map<number, number>();
    for (let round = 0; round < 4000; round++)
      for (const place of chosenOf(22, 7, { random })?.atRandom ?? []) times.set(place, (times.get(place) ?? 0) + 1);
    expect([...times.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
    // 1000 times each, with a standard deviation of 27.
    for (const count of times.values()) expect(Math.abs(count - 1000)).toBeLessThan(110);
  });

  test('later ones are all chosen at random, and not among the earlier ones', () => {
    const tried = [1, 50, 100];
    const chosen = chosenOf(100, 30, { tried });
    expect([chosen?.all.size, chosen?.atRandom.size]).toEqual([30, 30]);
    for (const place of tried) expect(chosen?.all.has(place)).toBe(false);
    expect(chosenOf(33, 30, { tried: [1, 2, 33] })).toBeUndefined();
  });
});
