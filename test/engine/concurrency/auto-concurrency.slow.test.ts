import { describe, expect, test } from 'vitest';
import { simulate } from './simulated-server.ts';

/** Each number of requests that a server may serve at once. */
const all = Array.from({ length: 197 }, (_, index) => index + 4);

describe('every server that serves 4 to 200 requests at once', () => {
  test('is used to 90 % within 15 s, and not flooded, also after it was measured anew', () => {
    const wrong = all.filter((served) => {
      const { perSecond, mostLater } = simulate({ served: () => served, ms: () => 50, seconds: 75 });
      const later = perSecond.slice(15, 75);
      const mean = later.reduce((sum, one) => sum + one, 0) / later.length;
      const least = 0.9 * served * 20;
      return (later[0] ?? 0) < least || mean < least || mostLater > Math.max(6, 1.5 * served);
    });
    expect(wrong).toEqual([]);
  });

  test('refuses at most 3 % if it answers 429', () => {
    const shares = all.map((served) => {
      const { answers, refusals } = simulate({ served: () => served, ms: () => 50, refuses: true, seconds: 30 });
      return refusals / (answers + refusals);
    });
    expect(Math.max(...shares)).toBeLessThan(0.03);
  });
});
