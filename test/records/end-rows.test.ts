import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { RowFile } from '../../src/records/end-rows.ts';
import { createWriter, textKinds } from '../../src/records/formats.ts';

const folder = mkdtempSync(join(tmpdir(), 'automate-end-rows-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Kind = (typeof textKinds)[number];

type Row = readonly [a: string, b: string];

/** Writes rows to a file, as a run does. `after` is written behind them; by default it is the end of a complete file. */
async function opened(kind: Kind, rows: readonly Row[], after?: string): Promise<RowFile> {
  const path = join(folder, `rows.${kind}`);
  const writer = createWriter({ kind, gzip: false }, ['a', 'b']);
  const text =
    writer.begin() +
    writer.write(
      rows.map(([a, b]) => new Map(Object.entries({ a, b }))),
      true,
    );
  const end = writer.end(rows.length > 0);
  writeFileSync(path, text + (after ?? end));
  return RowFile.open(path, { kind, gzip: false }, Buffer.byteLength(after === undefined ? text + end : text));
}

/** Reads the rows at both ends, and each of them again by its position. */
async function endsOf(file: RowFile, first: number, last: number) {
  try {
    const positions: number[] = [];
    const ends = await file.ends({ first, last }, (fields, at) => {
      positions.push(at);
      return [...(fields?.values() ?? [])];
    });
    const again = [];
    for (const at of positions) again.push([...((await file.rowAt(at)) ?? new Map<string, string>()).values()]);
    expect(again).toEqual([...ends.first, ...ends.last]);
    return ends;
  } finally {
    await file.close();
  }
}

/** The rows that should be read, by cutting the list. */
function cut(rows: readonly Row[], first: number, last: number) {
  const head = rows.slice(0, first);
  const tail = last === 0 ? [] : rows.slice(first).slice(-last);
  return { first: head, last: tail, isWhole: head.length + tail.length === rows.length };
}

const cell = fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[a",;\n\r\t{}[\]]{0,6}$/));

const kinds = textKinds.map((kind) => [kind] as const);

describe('the rows at both ends of a file', () => {
  test.each(kinds)('are those of the whole file in %s, whatever is in the cells', async (kind) => {
    const parts = fc.record({ rows: fc.array(fc.tuple(cell, cell), { maxLength: 12 }), first: fc.nat(5), last: fc.nat(5) });
    await fc.assert(
      fc.asyncProperty(parts, async ({ rows, first, last }) => {
        expect(await endsOf(await opened(kind, rows), first, last)).toEqual(cut(rows, first, last));
      }),
      { numRuns: 30 },
    );
  });

  test.each(kinds)('end before what is still being written in %s', async (kind) => {
    const rows: Row[] = [
      ['1', 'a "quoted"\ncell'],
      ['2', 'b'],
    ];
    const after = kind === 'json' ? ',\n{"a":"cut' : kind === 'ndjson' ? '{"a":"cut' : 'cut,"o\n';
    expect(await endsOf(await opened(kind, rows, after), 1, 5)).toEqual({ first: [rows[0]], last: [rows[1]], isWhole: true });
  });

  test.each(kinds)('are found in %s if rows are longer than what is read at once', async (kind) => {
    const rows = Array.from({ length: 9 }, (_, index): Row => [`${index}`, `${'"x"\n'.repeat(70_000)}${index}`]);
    expect(await endsOf(await opened(kind, rows), 2, 2)).toEqual(cut(rows, 2, 2));
  });

  test('have no fields if a row is too long', async () => {
    const rows: Row[] = [
      ['1', 'short'],
      ['2', 'x'.repeat(17_000_000)],
      ['3', 'short'],
    ];
    const file = await opened('csv', rows);
    const ends = await file.ends({ first: 3, last: 3 }, (fields) => fields?.get('a'));
    await file.close();
    expect(ends).toEqual({ first: ['1', undefined, '3'], last: [], isWhole: true });
  });

  test('are not found at a position that is not the beginning of a row', async () => {
    const file = await opened('csv', [['1', 'b']]);
    expect(await Promise.all([0, 1, 3, 5, 8, 99].map((at) => file.rowAt(at)))).toEqual([
      ...[undefined, undefined, undefined],
      ...[undefined, undefined, undefined],
    ]);
    expect(await file.rowAt(4)).toEqual(new Map([...Object.entries({ a: '1', b: 'b' })]));
    await file.close();
  });
});
