import { expect, test } from 'vitest';
import type { Item } from '../../src/core/item.ts';
import type { Plan } from '../../src/core/plan.ts';
import { untouched } from '../../src/output/output.ts';
import { selectRecords } from '../../src/output/selected-records.ts';
import type { RecordSource } from '../../src/records/source.ts';

const csv = { kind: 'csv', gzip: false } as const;

/** Creates a source of `count` numbered records, in chunks. */
function sourceOf(count: number): RecordSource {
  const itemsFrom = (first: number) =>
    Array.from(
      { length: Math.min(500, count + 1 - first) },
      (_, index) => ({ number: first + index, fields: new Map() }) as unknown as Item,
    );
  async function* read() {
    for (let first = 1; first <= count; first += 500) yield itemsFrom(first);
  }
  return { format: csv, header: [], columns: [], read } as unknown as RecordSource;
}

test('the selected records of a resumed run exclude any number of ranges of finished records', async () => {
  const beyond = Array.from({ length: 8000 }, (_, index) => [index * 5 + 12, index * 5 + 14] as const);
  const skipped: number[] = [];
  const left: number[] = [];
  const options = { plan: {} as Plan, format: csv, options: {}, skipped: ({ number }: Item) => void skipped.push(number) };
  const before = process.cpuUsage();
  for await (const items of selectRecords(sourceOf(300_000), { ...options, done: { ...untouched, records: 10, beyond } }))
    left.push(...items.map(({ number }) => number));
  expect(skipped).toEqual(beyond.flatMap(([first]) => [first, first + 1, first + 2]));
  expect(left.length + skipped.length).toBe(299_990);
  expect(left.slice(0, 4)).toEqual([11, 15, 16, 20]);
  // Searching all ranges for each record would take about 20 s. A busy machine hardly changes the time of the CPU.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(5000);
});
