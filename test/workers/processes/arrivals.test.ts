import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../../src/core/failure.ts';
import type { RenderedRows } from '../../../src/output/journal/parked-records.ts';
import { SpillFiles } from '../../../src/output/spill.ts';
import { Arrivals, type ArrivedResult } from '../../../src/workers/processes/arrivals.ts';

/** Creates the place where the results of workers wait. Long results are in files of a folder. */
function arrivals(folder?: string) {
  const made = mkdtempSync(join(tmpdir(), 'automate-arrivals-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  let file = 0;
  const files = new SpillFiles(() => join(folder ?? made, String(++file)));
  return { made, files, opened: () => file, all: new Arrivals(() => files.newText()) };
}

async function textOf(result: ArrivedResult | undefined): Promise<string> {
  let text = '';
  for await (const more of (result as RenderedRows).texts()) text += more;
  return text;
}

const piece = (at: number, text: string) => [1, 0, { at, text }] as const;

test('a short result or a failure from a worker stays in memory', () => {
  const { all, opened } = arrivals();
  expect(all.take('a', [1, 0, 2, 'x,y\n'])).toEqual({ rows: 2, text: 'x,y\n' });
  expect(all.take('a', [1, 1, { kind: 'http', message: 'no', attempts: 1, sent: true }])).toBeInstanceOf(Failure);
  expect(opened()).toBe(0);
});

test("a worker's long result is stored in a file without a name until the result is dropped", async () => {
  const { all, made, files, opened } = arrivals();
  const text = 'x'.repeat(300_000);
  const result = all.take('a', [1, 0, 1, text]) as RenderedRows;
  expect(result.rows).toBe(1);
  expect(await textOf(result)).toBe(text);
  expect([opened(), readdirSync(made), files.heldTogether]).toEqual([1, [], 0]);
  result.drop();
});

test("a result's pieces are joined separately for each worker, and a repeated piece counts once", async () => {
  const { all } = arrivals();
  for (const form of [piece(0, 'one '), piece(0, 'one '), piece(1, 'two ')]) expect(all.take('a', form)).toBeUndefined();
  expect(all.take('b', piece(0, 'other '))).toBeUndefined();
  const result = all.take('a', [1, 0, 3, 'three', 2]);
  expect([(result as RenderedRows).rows, await textOf(result)]).toEqual([3, 'one two three']);
  expect(await textOf(all.take('b', [1, 0, 3, 'end', 1]))).toBe('other end');
});

test('a result with missing pieces is ignored', () => {
  const { all } = arrivals();
  expect(all.take('a', [1, 0, 1, 'end', 2])).toBeUndefined();
  all.take('a', piece(1, 'two'));
  expect(all.take('a', [1, 0, 1, 'end', 2])).toBeUndefined();
  all.take('a', piece(0, 'one'));
  all.clear();
  expect(all.take('a', [1, 0, 1, 'end', 1])).toBeUndefined();
});

test("a worker's rows that could not be written to disk end the run once they are read", async () => {
  const { all } = arrivals('/not/there');
  await expect(textOf(all.take('a', [1, 0, 1, 'x'.repeat(300_000)]))).rejects.toMatchObject({ kind: 'output' });
});
