import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyOf, pickedFields, SparseFields, withFields } from '../../src/core/record.ts';
import type { Value } from '../../src/core/value/value.ts';
import { createWriter } from '../../src/records/formats.ts';

const names = Array.from({ length: 12 }, (_, at) => `c${at}`);

const name = fc.constantFrom(...names, '__proto__', 'added', '7');

const value: fc.Arbitrary<Value> = fc.oneof(fc.constantFrom<Value[]>('', null, 0, 'a,b', '"', true), fc.string({ maxLength: 3 }));

const fields = fc.array(fc.tuple(name, value), { maxLength: 6 });

/** Creates the fields of a row in two ways: with a Map that contains all fields, and with SparseFields. */
function bothWays(cells: readonly (readonly [string, Value])[]) {
  const sparse = new SparseFields(new Map(names.map((column, at) => [column, at])));
  const dense = new Map<string, Value>(names.map((column) => [column, '']));
  for (const [column, cell] of cells) for (const row of [sparse, dense]) row.set(column, cell);
  return { sparse, dense };
}

test('the fields of a row with few cells are the same as those of any other row', () => {
  const same = fc.property(fields, fields, fc.array(name, { maxLength: 3 }), (cells, added, removed) => {
    const { sparse, dense } = bothWays(cells);
    const before = [...dense];
    const rows = [copyOf(sparse), copyOf(dense)];
    for (const row of rows) for (const gone of removed) row.delete(gone);
    const [first, second] = rows.map((row) => withFields(row, added));
    expect([...(first ?? [])]).toEqual([...(second ?? [])]);
    expect([first?.size, [...(first?.keys() ?? [])], [...(first?.values() ?? [])]]).toEqual([
      ...[second?.size, [...(second?.keys() ?? [])], [...(second?.values() ?? [])]],
    ]);
    for (const one of [...names, 'added', 'other', '__proto__']) {
      expect([first?.has(one), first?.get(one)]).toEqual([second?.has(one), second?.get(one)]);
    }
    const kept = new Set([...removed, 'c5', 'c1', 'c3', 'added']);
    expect([...pickedFields(first ?? dense, kept)]).toEqual([...pickedFields(second ?? dense, kept)]);
    expect([...sparse]).toEqual(before);
    expect([...new Map(sparse)]).toEqual(before);
    const seen: unknown[] = [];
    sparse.forEach((cell, column) => {
      seen.push([column, cell]);
    });
    expect(seen).toEqual(before);
  });
  fc.assert(same);
});

test('a row with few cells is written like any other row', () => {
  const columns = ['new', ...names.toReversed()];
  const same = fc.property(fc.array(fields, { minLength: 1, maxLength: 3 }), (rows) => {
    const both = rows.map((cells) => bothWays(cells.filter(([field]) => columns.includes(field))));
    const mixed = [...both.map(({ sparse }) => sparse), ...both.map(({ dense }) => dense)];
    for (const kind of ['csv', 'tsv', 'xlsx', 'json', 'ndjson'] as const) {
      const writer = createWriter({ kind, gzip: false }, columns, { csvSafe: true, hasTextCells: true });
      const dense = both.map((row) => row.dense);
      expect(writer.write(mixed, true)).toBe(writer.write([...dense, ...dense], true));
    }
  });
  fc.assert(same);
});

test('a row with few cells and a field without a column is not written', () => {
  const { sparse } = bothWays([['c2', 'x']]);
  const writer = createWriter({ kind: 'csv', gzip: false }, names.slice(1));
  for (let at = 0; at < 2; at++) expect(writer.misfit(sparse)?.message).toContain('the record has a field "c0"');
  const other = createWriter({ kind: 'xlsx', gzip: false }, names);
  expect(other.misfit(sparse)).toBeUndefined();
  const [added, broken, long] = ['d', 'c2', 'c3'].map((field) =>
    withFields(sparse, [[field, field === 'c3' ? 'x'.repeat(40_000) : '\ud800']]),
  );
  expect(other.misfit(added ?? sparse)?.message).toContain('the record has a field "d"');
  expect(other.misfit(broken ?? sparse)?.message).toContain('a lone surrogate');
  expect(other.misfit(long ?? sparse)?.message).toContain('40,000 characters');
});
