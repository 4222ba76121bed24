import { expect, test, vi } from 'vitest';
import { ownNames } from '../../src/core/column-names.ts';
import type { Fields } from '../../src/core/record.ts';
import { createRedactor } from '../../src/credentials/redact.ts';
import { RecordText, writeAll } from '../../src/output/record-text.ts';
import type { Sink } from '../../src/output/sink.ts';
import { SpillFiles } from '../../src/output/spill.ts';
import type { RecordWriter } from '../../src/records/format.ts';
import { createWriter } from '../../src/records/formats.ts';

/** The maximum length of a string that the writer below can create. */
const longest = 3_000_000;

const json = createWriter({ kind: 'json', gzip: false }, undefined);
const writer: RecordWriter = {
  ...json,
  write(rows, isFirst) {
    const text = json.write(rows, isFirst);
    if (text.length > longest) throw new RangeError('Invalid string length');
    return text;
  },
};

function records(count: number): Fields[] {
  return Array.from({ length: count }, (_, id) => new Map([['text', `${id}`.padStart(20_000, 'x')]]));
}

test('rows that together exceed the maximum string length are written in several pieces', async () => {
  const text = new RecordText(writer, false, createRedactor(), ownNames);
  const all = records(1000);
  for (const row of all.slice(0, 300)) text.add([row]);
  text.add(all.slice(300, 900));
  const partial = text.partialRows(newText());
  await partial.add([]);
  text.addSpilled(partial);
  text.add(all.slice(900));
  expect(text.waiting).toBeGreaterThan(900 * 20_000);
  const writes: string[] = [];
  const sink = { write: async (piece: string) => void writes.push(piece) } as unknown as Sink;
  await writeAll(sink, text.begin(), text.take());
  expect(text.waiting).toBe(0);
  expect(Math.max(...writes.map(({ length }) => length))).toBeLessThanOrEqual(longest);
  expect(JSON.parse(writes.join('') + text.end())).toEqual(all.map((row) => Object.fromEntries(row)));
});

const row = (text: string): Fields => new Map([['text', text]]);

function newText() {
  return new SpillFiles(() => '/nowhere').newText();
}

test.each(['json', 'ndjson', 'csv'] as const)(
  'rows in memory and rows on disk are written in order, and the rows on disk are then dropped: %s',
  async (kind) => {
    const table = createWriter({ kind, gzip: false }, ['text']);
    const text = new RecordText(table, false, createRedactor(), ownNames);
    const spilled = [newText(), newText(), newText()] as const;
    const drops = spilled.map((one) => vi.spyOn(one, 'drop'));
    const [empty, first, second] = [text.partialRows(spilled[0]), text.partialRows(spilled[1]), text.partialRows(spilled[2])];
    await first.add([row('b'), row('c')]);
    await second.add([row('e')]);
    text.addSpilled(empty);
    text.add([row('a')]);
    text.addSpilled(first);
    text.add([row('d')]);
    text.addSpilled(second);
    text.add([row('f')]);
    const writes: string[] = [];
    const sink = { write: async (piece: string) => void writes.push(piece) } as unknown as Sink;
    await writeAll(sink, text.begin(), text.take());
    expect(writes.join('') + text.end()).toBe(table.begin() + table.write([...'abcdef'].map(row), true) + table.end(true));
    for (const drop of drops) expect(drop).toHaveBeenCalledOnce();
  },
);

test("a record's partial rows cannot contain a row that does not fit the output", async () => {
  const text = new RecordText(createWriter({ kind: 'csv', gzip: false }, ['text']), false, createRedactor(), ownNames);
  const partial = text.partialRows(newText());
  await expect(partial.add([row('a'), row('\ud800')])).rejects.toMatchObject({ kind: 'output' });
  expect(partial.rows).toBe(0);
});
