import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { continueJournal, createJournal, type FoundJournal, type Journal, readJournal } from '../../../src/output/journal/journal.ts';
import type { ParkedRows } from '../../../src/output/journal/parked-records.ts';
import { untouched } from '../../../src/output/output.ts';
import type { Identity } from '../../../src/output/run-identity.ts';

const identity = { flow: 'abc' } as Identity;

/** Creates and closes a journal with these checkpoints. Returns its path. */
async function journalWith(...records: readonly number[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-journal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'out.csv.automate-run');
  await addCheckpoints(await createJournal(path, 'run', identity), ...records);
  return path;
}

async function addCheckpoints(journal: Journal, ...records: readonly number[]): Promise<void> {
  for (const done of records) await journal.add({ ...untouched, records: done });
  await journal.close();
}

async function read(path: string): Promise<FoundJournal> {
  return (await readJournal(path)) as FoundJournal;
}

const rowsOf = (...texts: readonly string[]): ParkedRows => ({
  rows: texts.length,
  async *texts() {
    yield* texts;
  },
});

async function parkedIn({ parked }: FoundJournal): Promise<[number, number, string][]> {
  const all: [number, number, string][] = [];
  for (const [number, record] of parked) {
    if ('failure' in record) continue;
    let text = '';
    for await (const piece of record.texts()) text += piece;
    all.push([number, record.rows, text]);
  }
  return all;
}

test("a run's journal is read up to its last checkpoint", async () => {
  const path = await journalWith(3, 7);
  const { run, identity: found, checkpoint, validBytes } = await read(path);
  expect([run, found, checkpoint?.records, validBytes]).toEqual(['run', identity, 7, (await readFile(path)).length]);
});

test.each([
  ['half a line', '1234'],
  ['a line that is not JSON', 'nonsense\n'],
  ['a line with a wrong checksum', `00000000 ${JSON.stringify({ ...untouched, records: 9 })}\n`],
])("the end of a run's journal is ignored if the end is %s", async (_name, torn) => {
  const path = await journalWith(3);
  const { length } = await readFile(path);
  await appendFile(path, torn);
  const first = await read(path);
  expect([first.checkpoint?.records, first.validBytes]).toEqual([3, length]);
  await addCheckpoints(await continueJournal(path, first), 5);
  expect((await read(path)).checkpoint?.records).toBe(5);
});

test("a run's journal is read up to its first damaged line", async () => {
  const path = await journalWith(3, 5, 7);
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, [...lines.slice(0, 2), (lines[2] as string).replace('5', '6'), ...lines.slice(3)].join('\n'));
  const { checkpoint, validBytes } = await read(path);
  expect([checkpoint?.records, validBytes]).toEqual([3, lines.slice(0, 2).join('\n').length + 1]);
});

test('finished records that wait in the journal (parked records) can be read back, however long they are', async () => {
  const path = await journalWith();
  const journal = await continueJournal(path, await read(path));
  const long = 'é"\n'.repeat(900_000);
  await journal.park(new Map([4, 6, 9].map((number) => [number, rowsOf(`${number}`, long)])));
  await addCheckpoints(journal, 3);
  const journalRead = await read(path);
  expect(journalRead.checkpoint?.records).toBe(3);
  const parked = await parkedIn(journalRead);
  expect(parked.map(([number, rows, text]) => [number, rows, text === number + long])).toEqual(
    [4, 6, 9].map((number) => [number, 2, true]),
  );
});

test('a record that could not be stored in the journal does not count as done until a later attempt succeeds', async () => {
  const path = await journalWith(3);
  const journal = await continueJournal(path, await read(path));
  const broken: ParkedRows = {
    rows: 2,
    async *texts() {
      yield 'first';
      throw new Error('disk full');
    },
  };
  await expect(journal.park(new Map([[5, broken]]))).rejects.toThrow('disk full');
  expect(await parkedIn(await read(path))).toEqual([]);
  await journal.park(new Map([[5, rowsOf('again, ', 'complete')]]));
  await journal.close();
  expect(await parkedIn(await read(path))).toEqual([[5, 2, 'again, complete']]);
});
