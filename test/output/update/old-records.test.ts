import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nothingWritten } from '../../../src/output/sink.ts';
import { type RememberedRows, readTruth, TruthLog } from '../../../src/output/truth-file.ts';
import { OldRecords, WindowReader } from '../../../src/output/update/old-records.ts';

const facts = { at: '', format: { kind: 'csv', gzip: false }, makers: {}, out: nothingWritten, firstRow: 0 } as const;
const padded = (text: string, length: number) => text.padEnd(length, ' ');

/** The entry of a record. `read` stands for the fields that the flow reads, and `all` for all fields. */
const entry = (read: string, all: string, atMs = 5): RememberedRows => ({
  ...{ hash: padded(read, 16), whole: padded(all, 8), atMs, start: 0, end: 0, rows: 1, taken: 0 },
});

/** Writes a memory file, in two parts as if the run had been resumed after `split` entries, and opens its records. */
async function oldRecords(entries: readonly RememberedRows[], split: number) {
  const folder = await mkdtemp(join(tmpdir(), 'automate-memory-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'out.csv.automate');
  const first = await TruthLog.create(path);
  await first.add(entries.slice(0, split));
  await first.add([entry('later', 'lost')]);
  await first.close();
  const log = await TruthLog.continue(path, split);
  await log.add(entries.slice(split));
  await log.finish({ memory: facts }, noMarks());
  const memory = await readTruth(path);
  expect(memory?.count).toBe(entries.length);
  const records = new OldRecords({ path, count: entries.length }, join(folder, 'out.csv'));
  onTestFinished(() => records.close());
  return { records, path };
}

async function* noMarks() {}

const always = () => true;

test('old records are found in their order, in another order, and only once', async () => {
  const { records } = await oldRecords([entry('a', '1'), entry('b', '2'), entry('b', '3'), entry('c', '4'), entry('d', '5')], 2);
  const following = (all: string) => records.takeFollowing(padded(all, 8), always)?.taken;
  const anywhere = (read: string) => records.take(padded(read, 16), always)?.taken;
  expect(following('1')).toBe(1);
  expect(following('1')).toBeUndefined();
  expect(anywhere('d')).toBe(5);
  expect(following('2')).toBeUndefined();
  expect([anywhere('b'), following('3'), anywhere('b'), anywhere('c'), anywhere('a'), anywhere('x')]).toEqual([
    2,
    3,
    undefined,
    4,
    undefined,
    undefined,
  ]);
});

test('records that an earlier part of the run has taken, or that are too old, are not taken', async () => {
  const { records } = await oldRecords([entry('a', '1', 5), entry('a', '1', 9), entry('b', '2', 9)], 1);
  const isRecent = ({ atMs }: RememberedRows) => atMs > 7;
  expect(records.takeFollowing(padded('1', 8), isRecent)).toBeUndefined();
  expect(records.take(padded('a', 16), isRecent)?.taken).toBe(2);
  records.markTaken(3);
  expect(records.take(padded('b', 16), isRecent)).toBeUndefined();
});

test('a window reader returns short and long parts of a file in any order, and undefined after its end', async () => {
  const { records, path } = await oldRecords(
    Array.from({ length: 20_000 }, (_, index) => entry(`r${index}`, `${index}`)),
    7,
  );
  expect(records.takeFollowing(padded('0', 8), always)?.taken).toBe(1);
  const bytes = await readFile(path);
  const file = openSync(path, 'r');
  onTestFinished(() => closeSync(file));
  const reader = new WindowReader(file);
  const parts = [
    [40, 60],
    [900_000, 3000],
    [100, 500_000],
    [500_100, 20],
    [0, bytes.length - 100_000],
    [10, 10],
    [bytes.length - 50, 20],
  ] as const;
  for (const [at, length] of parts) {
    const offset = reader.load(at, length) as number;
    expect(reader.window.subarray(offset, offset + length).equals(bytes.subarray(at, at + length))).toBe(true);
  }
  expect(reader.window.length).toBeLessThan(200_000);
  expect(reader.load(bytes.length - 5, 6)).toBeUndefined();
});
