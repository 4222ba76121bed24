import { describe, expect, test } from 'vitest';
import { simulate } from './simulated-server.ts';

/** The capacities to test: how many requests the server can process at once. */
const all = [4, 8, 12, 16, 24, 36, 52, 76, 104, 132, 168, 200];

describe('automatic concurrency, with a server that can process 4 to 200 requests at once,', () => {
  test("uses 90 % of the server's capacity within 15 s without overloading the server", () => {
    const wrong = all.filter((served) => {
      const { perSecond, mostLater } = simulate({ served: () => served, ms: () => 50, seconds: 75 });
      const later = perSecond.slice(15, 75);
      const mean = later.reduce((sum, one) => sum + one, 0) / later.length;
      const least = 0.9 * served * 20;
      return (later[0] ?? 0) < least || mean < least || mostLater > Math.max(6, 1.5 * served);
    });
    expect(wrong).toEqual([]);
  });

  test('has less than 3 % of its requests refused if the server answers 429 above its capacity', () => {
    const shares = all.map((served) => {
      const { answers, refusals } = simulate({ served: () => served, ms: () => 50, refuses: true, seconds: 30 });
      return refusals / (answers + refusals);
    });
    expect(Math.max(...shares)).toBeLessThan(0.03);
  });
});
