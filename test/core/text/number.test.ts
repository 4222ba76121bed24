import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { creditText, formatCount } from '../../../src/core/text/number.ts';

describe('numbers in messages', () => {
  test('are formatted with English separators, whatever their size', () => {
    const numbers = fc.oneof(
      fc.integer(),
      fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((number) => Number(number.toFixed(6))),
    );
    fc.assert(
      fc.property(numbers, (number) => {
        expect(formatCount(number)).toBe((number || 0).toLocaleString('en-US').replace(/^-0$/, '0'));
        expect(creditText(number)).toBe((number || 0).toLocaleString('en-US', { maximumFractionDigits: 4 }).replace(/^-0$/, '0'));
      }),
      { examples: [[0], [999], [1000], [1_234_567.891]] },
    );
  });
});
