import { expect, test } from 'vitest';
import type { Item } from '../../../src/core/item.ts';
import { unitItems, unitText } from '../../../src/workers/processes/wire-form.ts';

const item = (number: number, fields: Readonly<Record<string, string>>, file?: number): Item => ({
  number,
  fields: new Map(Object.entries(fields)),
  end: { offset: 0, line: 0, ...(file !== undefined && { file }) },
});

test.each([
  ['one file', [item(1, { id: '1', n: 'a' }), item(2, { id: '2', n: 'b' })]],
  ['two files whose columns have different orders', [item(1, { id: '1', n: 'a' }, 0), item(2, { n: 'c', id: '3' }, 1)]],
])('the records of a unit keep their fields: %s', (_, items) => {
  const received = unitItems(unitText({ id: 7, items } as never, [0, 1], true));
  expect(received.map(({ number, fields, unit, index }) => ({ number, fields: [...fields], unit, index }))).toEqual(
    items.map(({ number, fields }, index) => ({ number, fields: [...fields], unit: 7, index })),
  );
});
