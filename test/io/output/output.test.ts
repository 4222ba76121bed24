import { expect, test } from 'vitest';
import type { Item } from '../../../src/core/item.ts';
import type { Fields } from '../../../src/core/record.ts';
import type { Checkpoint, Journal } from '../../../src/io/journal/journal.ts';
import { createOutput, type OutputTools, untouched } from '../../../src/io/output/output.ts';
import type { Sink } from '../../../src/io/output/sink.ts';
import { createSpillFiles } from '../../../src/io/output/spill.ts';
import { createWriter } from '../../../src/io/records/writers/writer.ts';
import { createRedactor } from '../../../src/io/secrets/redact.ts';

const columns = ['id'];
const csv = createWriter({ kind: 'csv', gzip: false }, columns);
const row = (id: string): Fields => new Map([['id', id]]);

function item(number: number, more: Partial<Item> = {}): Item {
  return { number, fields: row(`${number}`), end: { offset: number * 10, line: number + 1 }, ...more };
}

/** A file in memory. */
function memory(more: Partial<Sink> = {}): Sink & { text(): string } {
  let text = '';
  return {
    get written() {
      return { bytes: text.length, crc: 0 };
    },
    write: async (piece) => {
      text += piece;
    },
    sync: async () => {},
    close: async () => {},
    text: () => text,
    ...more,
  };
}

/** An output in memory, and what its journal is told. */
function outputOf(from: Checkpoint = untouched, { sink = memory(), isBegun = false } = {}) {
  const told: string[] = [];
  const checkpoints: Checkpoint[] = [];
  let credits = 0;
  const journal: Journal = {
    add: async (checkpoint) => void checkpoints.push(checkpoint),
    keep: async (kept) => void told.push(`keep ${[...kept.keys()]}`),
    close: async () => void told.push('close'),
    remove: async () => void told.push('remove'),
  };
  const errors = memory();
  const tools: OutputTools = {
    records: { writer: csv, sink },
    errors: {
      writer: csv,
      isBegun,
      open: async () => {
        told.push('errors');
        return errors;
      },
    },
    redactor: createRedactor(),
    parts: createSpillFiles(() => '/nowhere'),
    journal,
    from,
    credits: () => credits,
  };
  const spend = (more: number) => {
    credits += more;
  };
  return { ...createOutput(tools), sink, told, checkpoints, spend };
}

test('what an earlier run has done already counts', async () => {
  const output = outputOf({ ...untouched, beyond: [[2, 3]] });
  for (const number of [2, 3]) output.known(item(number));
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  expect(output.checkpoints).toMatchObject([{ records: 3, beyond: [], offset: 30, line: 4, written: 1 }]);
});

test('credits that were spent since are news', async () => {
  const output = outputOf();
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  await output.flush();
  output.spend(2);
  await output.flush();
  expect(output.checkpoints.map(({ credits }) => credits)).toEqual([0, 2]);
});

test('an errors file that was begun is cut back, also when nothing fails any more', async () => {
  const output = outputOf(untouched, { isBegun: true });
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  expect(output.told).toEqual(['errors']);
});

test('what is kept for a later run fits into the output, and is not in the journal yet', async () => {
  const output = outputOf();
  expect(output.park(item(2), { rows: [row('\ud800')] })).toBe(false);
  expect(output.park(item(4), { rows: [row('4')] })).toBe(true);
  expect(output.park(item(5, { parked: { rows: [row('5')] } as never }), { rows: [row('5')] })).toBe(true);
  await output.close(false);
  expect(output.told).toEqual(['keep 4', 'close']);
});

test.each([
  ['complete', true, undefined, ['remove']],
  ['not complete', false, undefined, ['close']],
  ['complete, and cannot be closed', true, new Error('EIO'), ['close']],
])('the journal of a run that is %s', async (_name, isComplete, refusal, told) => {
  const close = async () => {
    if (refusal) throw refusal;
  };
  const output = outputOf(untouched, { sink: memory({ close }) });
  output.put(item(1), { rows: [row('1')] });
  const closed = output.close(isComplete);
  await (refusal ? expect(closed).rejects.toBe(refusal) : closed);
  expect(output.told).toEqual(told);
});
