import { expect, test } from 'vitest';
import { ownNames } from '../../src/core/column-names.ts';
import type { Item } from '../../src/core/item.ts';
import type { Fields } from '../../src/core/record.ts';
import { createRedactor } from '../../src/credentials/redact.ts';
import type { Checkpoint, Journal } from '../../src/output/journal/journal.ts';
import { FileOutput, type FileOutputParts, untouched } from '../../src/output/output.ts';
import type { Sink } from '../../src/output/sink.ts';
import { SpillFiles } from '../../src/output/spill.ts';
import { createWriter } from '../../src/records/formats.ts';

const columns = ['id'];
const csv = createWriter({ kind: 'csv', gzip: false }, columns);
const row = (id: string): Fields => new Map([['id', id]]);

function item(number: number, more: Partial<Item> = {}): Item {
  return { number, fields: row(`${number}`), end: { offset: number * 10, line: number + 1 }, ...more };
}

/** Creates an output file in memory. */
function memory(more: Partial<Sink> = {}): Sink & { text(): string } {
  let text = '';
  return {
    get written() {
      return { bytes: text.length, crc: 0, text: text.length };
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

/** Creates an output in memory, and records the calls of its journal. */
function outputOf(from: Checkpoint = untouched, { sink = memory(), isBegun = false } = {}) {
  const calls: string[] = [];
  const checkpoints: Checkpoint[] = [];
  let credits = 0;
  const journal: Journal = {
    add: async (checkpoint) => void checkpoints.push(checkpoint),
    noteSaved: async () => undefined,
    park: async (parked) => void calls.push(`park ${[...parked.keys()]}`),
    complete: async () => void calls.push('complete'),
    close: async () => void calls.push('close'),
  };
  const errors = memory();
  const parts: FileOutputParts = {
    records: { writer: csv, sink },
    names: ownNames,
    errors: {
      writer: csv,
      isBegun,
      open: async () => {
        calls.push('errors');
        return errors;
      },
    },
    redactor: createRedactor(),
    spillFiles: new SpillFiles(() => '/nowhere'),
    journal,
    from,
    credits: () => credits,
    publish: async () => void calls.push('publish'),
  };
  const spend = (more: number) => {
    credits += more;
  };
  return { output: new FileOutput(parts), sink, calls, checkpoints, spend };
}

test('records that an earlier run finished count as done', async () => {
  const { output, checkpoints } = outputOf({ ...untouched, beyond: [[2, 3]] });
  for (const number of [2, 3]) output.skip(item(number));
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  expect(checkpoints).toMatchObject([{ records: 3, beyond: [], offset: 30, line: 4, written: 1 }]);
});

test('a checkpoint is saved even if only credits were spent since the last checkpoint', async () => {
  const { output, checkpoints, spend } = outputOf();
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  await output.flush();
  spend(2);
  await output.flush();
  expect(checkpoints.map(({ credits }) => credits)).toEqual([0, 2]);
});

test("an earlier run's errors file is truncated to its valid part even if no more records fail", async () => {
  const { output, calls } = outputOf(untouched, { isBegun: true });
  output.put(item(1), { rows: [row('1')] });
  await output.flush();
  expect(calls).toEqual(['errors']);
});

test('a finished record is stored in the journal if it fits the output and is not in the journal yet', async () => {
  const { output, calls } = outputOf();
  expect(output.park(item(2), { rows: [row('\ud800')] })).toBe(false);
  expect(output.park(item(4), { rows: [row('4')] })).toBe(true);
  expect(output.park(item(5, { parked: { rows: [row('5')] } as never }), { rows: [row('5')] })).toBe(true);
  await output.close(false);
  expect(calls).toEqual(['park 4', 'close']);
});

test.each([
  ['is completed and removed once the run is complete', true, undefined, ['publish']],
  ['remains if the run is not complete', false, undefined, ['close']],
  ['remains if the output cannot be closed', true, new Error('EIO'), ['close']],
])('the journal %s', async (_name, isComplete, refusal, expected) => {
  const close = async () => {
    if (refusal) throw refusal;
  };
  const { output, calls } = outputOf(untouched, { sink: memory({ close }) });
  output.put(item(1), { rows: [row('1')] });
  const closed = output.close(isComplete);
  await (refusal ? expect(closed).rejects.toBe(refusal) : closed);
  expect(calls).toEqual(expected);
});
