import { expect, test } from 'vitest';
import { ownNames } from '../../src/core/column-names.ts';
import type { Fields } from '../../src/core/record.ts';
import { createRedactor } from '../../src/credentials/redact.ts';
import { SpillFiles } from '../../src/output/spill.ts';
import type { RecordWriter } from '../../src/records/format.ts';
import { createWriter } from '../../src/records/formats.ts';
import type { UnitItem } from '../../src/workers/processes/wire-form.ts';
import { type Results, RunLink } from '../../src/workers/run-link.ts';
import { WorkerOutput } from '../../src/workers/worker-output.ts';

const item = (index: number): UnitItem => ({ number: index + 1, fields: new Map(), end: { offset: 0, line: 0 }, unit: 1, index });

/** Returns an output of a worker, and the messages that it has sent. */
function outputOf(writer: RecordWriter) {
  const messages: Results[] = [];
  const link = new (class extends RunLink {
    protected deliver = (results: Results) => void messages.push(results);
    protected ask = () => Promise.reject(new Error('nothing is asked'));
  })();
  const settings = { names: ownNames, spillFiles: new SpillFiles(() => '/not/used'), added: () => 2, failedAlike: undefined };
  return { messages, output: new WorkerOutput(link, writer, createRedactor(), settings) };
}

const csvWriter = createWriter({ kind: 'csv', gzip: false }, ['text'], { csvSafe: false });

test('a worker sends the rows of a record in pieces if they would be too long for one string', async () => {
  const write = (rows: readonly Fields[]) => {
    if (rows.length > 1) throw new RangeError('Invalid string length');
    return csvWriter.write(rows, false);
  };
  const { messages, output } = outputOf({ ...csvWriter, write });
  output.put(item(0), { rows: ['a', 'b', 'c'].map((text) => new Map([['text', text]])) });
  await output.end();
  expect(messages.flatMap(({ results }) => results)).toEqual([[1, 0, 3, 'a\nb\nc\n']]);
});

test('a worker splits a long result into messages of less than 1 MB, but never splits a character', async () => {
  const { messages, output } = outputOf(csvWriter);
  const text = `a${'\u{1f600}'.repeat(400_000)}`;
  output.put(item(0), { rows: [new Map([['text', text]])] });
  output.put(item(1), { rows: [new Map([['text', 'short']])] });
  await output.end();
  const forms = messages.flatMap(({ results }) => results);
  const pieces = forms.flatMap((form) => (form.length === 3 && 'at' in form[2] ? [form[2]] : []));
  expect(pieces.map(({ at }) => at)).toEqual([0, 1, 2]);
  for (const { results } of messages) expect(Buffer.byteLength(JSON.stringify(results))).toBeLessThan(1_000_000);
  for (const piece of pieces) expect(Buffer.from(piece.text).toString()).toBe(piece.text);
  const ends = new Map(forms.flatMap((form) => (form.length === 3 ? [] : [[form[1], form]])));
  expect([...ends].map(([index, [, , rows, , count]]) => [index, rows, count])).toEqual([
    [1, 1, undefined],
    [0, 1, 3],
  ]);
  expect(`${pieces.map((piece) => piece.text).join('')}${ends.get(0)?.[3]}`).toBe(`${text}\n`);
});
