import { expect, test } from 'vitest';
import type { Fields } from '../../../src/core/record.ts';
import { createTextParts } from '../../../src/io/records/part.ts';
import { createRecordText, writeAll } from '../../../src/io/records/record-text.ts';
import type { RecordWriter } from '../../../src/io/records/record-writer.ts';
import type { Sink } from '../../../src/io/records/sink.ts';
import { createWriter } from '../../../src/io/records/writer.ts';
import { createRedactor } from '../../../src/io/redact.ts';

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
  const part = text.part(createTextParts(() => '/nowhere').part());
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
