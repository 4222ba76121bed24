import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Item } from '../../../src/core/item.ts';
import { InputProgress } from '../../../src/output/journal/journal.ts';

const item = (number: number): Item => ({ number, fields: new Map(), end: { offset: number * 10, line: number } });

test('the progress in the journal consists of the finished start of the input and the finished ranges after it', () => {
  const orders = fc.tuple(fc.nat(5), fc.nat(40)).chain(([from, count]) => {
    const numbers = Array.from({ length: count }, (_, index) => from + index + 1);
    return fc.tuple(fc.constant(from), fc.shuffledSubarray(numbers));
  });
  fc.assert(
    fc.property(orders, ([from, numbers]) => {
      const progress = new InputProgress({ records: from, offset: from * 10, line: from });
      const done = new Set<number>();
      for (const number of numbers) {
        progress.add(item(number));
        done.add(number);
        let records = from;
        while (done.has(records + 1)) records++;
        const { beyond, ...reached } = progress.reached();
        expect(reached).toEqual({ records, ...item(records).end });
        const finished = beyond.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
        expect(finished).toEqual([...done].filter((one) => one > records).sort((a, b) => a - b));
        for (const [index, [first]] of beyond.entries()) expect(first).toBeGreaterThan((beyond[index - 1]?.[1] ?? 0) + 1);
      }
    }),
    { numRuns: 100 },
  );
});
