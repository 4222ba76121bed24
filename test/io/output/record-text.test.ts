import { expect, test } from 'vitest';
import type { PartialRows } from '../../../src/core/item.ts';
import type { Fields } from '../../../src/core/record.ts';
import { createRecordText, writeAll } from '../../../src/io/output/record-text.ts';
import type { Sink } from '../../../src/io/output/sink.ts';
import { createSpillFiles } from '../../../src/io/output/spill.ts';
import type { RecordWriter } from '../../../src/io/records/writers/record-writer.ts';
import { createWriter } from '../../../src/io/records/writers/writer.ts';
import { createRedactor } from '../../../src/io/secrets/redact.ts';

/** As if no string could be longer. */
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

test('records that are longer together than a string can be are written in pieces', async () => {
  const text = createRecordText(writer, false, createRedactor());
  const all = records(1000);
  for (const row of all.slice(0, 300)) text.add([row]);
  text.add(all.slice(300, 900));
  const part = text.part(createSpillFiles(() => '/nowhere').part());
  await part.add([]);
  text.addPart(part);
  text.add(all.slice(900));
  expect(text.waiting()).toBeGreaterThan(900 * 20_000);
  const writes: string[] = [];
  const sink = { write: async (piece: string) => void writes.push(piece) } as unknown as Sink;
  await writeAll(sink, text.begin(), text.take());
  expect(text.waiting()).toBe(0);
  expect(Math.max(...writes.map(({ length }) => length))).toBeLessThanOrEqual(longest);
  expect(JSON.parse(writes.join('') + text.end())).toEqual(all.map((row) => Object.fromEntries(row)));
});

const row = (text: string): Fields => new Map([['text', text]]);

/** A place in memory that knows whether it was dropped. */
function place() {
  const kept = createSpillFiles(() => '/nowhere').part();
  let isDropped = false;
  const drop = () => {
    isDropped = true;
    kept.drop();
  };
  return { ...kept, texts: kept.texts, drop, isDropped: () => isDropped };
}

test.each(['json', 'ndjson', 'csv'] as const)(
  'records and parts are written in the order in which they came, and parts are dropped: %s',
  async (kind) => {
    const table = createWriter({ kind, gzip: false }, ['text']);
    const text = createRecordText(table, false, createRedactor());
    const places = [place(), place(), place()];
    const [empty, first, second] = places.map((kept) => text.part(kept));
    await first?.add([row('b'), row('c')]);
    await second?.add([row('e')]);
    text.addPart(empty as PartialRows);
    text.add([row('a')]);
    text.addPart(first as PartialRows);
    text.add([row('d')]);
    text.addPart(second as PartialRows);
    text.add([row('f')]);
    const writes: string[] = [];
    const sink = { write: async (piece: string) => void writes.push(piece) } as unknown as Sink;
    await writeAll(sink, text.begin(), text.take());
    expect(writes.join('') + text.end()).toBe(table.begin() + table.write([...'abcdef'].map(row), true) + table.end(true));
    expect(places.map(({ isDropped }) => isDropped())).toEqual([true, true, true]);
  },
);

test('a part takes nothing that the output cannot hold', async () => {
  const text = createRecordText(createWriter({ kind: 'csv', gzip: false }, ['text']), false, createRedactor());
  const part = text.part(place());
  await expect(part.add([row('a'), row('\ud800')])).rejects.toMatchObject({ kind: 'output' });
  expect(part.rows).toBe(0);
});
