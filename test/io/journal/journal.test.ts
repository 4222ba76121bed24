import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { continueJournal, createJournal, type FoundJournal, type Journal, readJournal } from '../../../src/io/journal/journal.ts';
import type { ParkedRows } from '../../../src/io/journal/parked-records.ts';
import { untouched } from '../../../src/io/output/output.ts';

const identity = { 'the flow': 'abc' };

/** A journal that is in nobody's hands, with so many checkpoints. */
async function journalWith(...records: readonly number[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-journal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'out.csv.automate-run');
  await adding(await createJournal(path, 'run', identity), ...records);
  return path;
}

async function adding(journal: Journal, ...records: readonly number[]): Promise<void> {
  for (const done of records) await journal.add({ ...untouched, records: done });
  await journal.close();
}

async function found(path: string): Promise<FoundJournal> {
  return (await readJournal(path)) as FoundJournal;
}

const keptText = (...texts: readonly string[]): ParkedRows => ({
  rows: texts.length,
  async *texts() {
    yield* texts;
  },
});

async function keptOf({ kept }: FoundJournal): Promise<[number, number, string][]> {
  const all: [number, number, string][] = [];
  for (const [number, record] of kept) {
    let text = '';
    for await (const piece of record.texts()) text += piece;
    all.push([number, record.rows, text]);
  }
  return all;
}

test('the last checkpoint counts, and all of the file is whole', async () => {
  const path = await journalWith(3, 7);
  const { run, identity: read, checkpoint, validBytes } = await found(path);
  expect([run, read, checkpoint?.records, validBytes]).toEqual(['run', identity, 7, (await readFile(path)).length]);
});

test.each([
  ['a line without its end', '1234'],
  ['a line that is none', 'nonsense\n'],
  ['a line with another checksum', `00000000 ${JSON.stringify({ ...untouched, records: 9 })}\n`],
])('%s is taken away, and what is added behind it counts', async (_name, torn) => {
  const path = await journalWith(3);
  const { length } = await readFile(path);
  await appendFile(path, torn);
  const first = await found(path);
  expect([first.checkpoint?.records, first.validBytes]).toEqual([3, length]);
  await adding(await continueJournal(path, first), 5);
  expect((await found(path)).checkpoint?.records).toBe(5);
});

test('behind a line that was spoilt nothing counts', async () => {
  const path = await journalWith(3, 5, 7);
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, [...lines.slice(0, 2), (lines[2] as string).replace('5', '6'), ...lines.slice(3)].join('\n'));
  const { checkpoint, validBytes } = await found(path);
  expect([checkpoint?.records, validBytes]).toEqual([3, lines.slice(0, 2).join('\n').length + 1]);
});

test('records that wait are read from it, however long it is', async () => {
  const path = await journalWith();
  const journal = await continueJournal(path, await found(path));
  const long = 'é"\n'.repeat(900_000);
  await journal.keep(new Map([4, 6, 9].map((number) => [number, keptText(`${number}`, long)])));
  await adding(journal, 3);
  const read = await found(path);
  expect(read.checkpoint?.records).toBe(3);
  const kept = await keptOf(read);
  expect(kept.map(([number, rows, text]) => [number, rows, text === number + long])).toEqual([4, 6, 9].map((number) => [number, 2, true]));
});

test('a record whose keeping broke off counts for nothing until it is kept anew', async () => {
  const path = await journalWith(3);
  const journal = await continueJournal(path, await found(path));
  const broken: ParkedRows = {
    rows: 2,
    async *texts() {
      yield 'first';
      throw new Error('it broke off');
    },
  };
  await expect(journal.keep(new Map([[5, broken]]))).rejects.toThrow('it broke off');
  expect(await keptOf(await found(path))).toEqual([]);
  await journal.keep(new Map([[5, keptText('anew, ', 'whole')]]));
  await journal.close();
  expect(await keptOf(await found(path))).toEqual([[5, 2, 'anew, whole']]);
});
