import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFileSink, refuseChanged, type Sink } from '../../../src/io/output/sink.ts';

async function pathWith(content?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-sink-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'out.csv');
  if (content !== undefined) await writeFile(path, content);
  return path;
}

async function writeAll(sink: Sink, ...texts: readonly string[]): Promise<Sink['written']> {
  for (const text of texts) await sink.write(text);
  await sink.sync();
  await sink.close();
  return sink.written;
}

test('a new file is refused if another process has made one meanwhile', async () => {
  const path = await pathWith('theirs');
  await expect(openFileSink(path, { gzip: false, isNew: true })).rejects.toMatchObject({ kind: 'output' });
  expect(await readFile(path, 'utf8')).toBe('theirs');
});

test('a continued file is cut off after its written part, and refused if that part was changed', async () => {
  const path = await pathWith();
  const keep = await writeAll(await openFileSink(path, { gzip: false }), 'a,b\n', 'é,1\n');
  await writeFile(path, 'torn', { flag: 'a' });
  await refuseChanged(path, keep);
  const all = await writeAll(await openFileSink(path, { gzip: false, keep }), '2,3\n');
  expect(await readFile(path, 'utf8')).toBe('a,b\né,1\n2,3\n');
  await refuseChanged(path, all);
  await writeFile(path, 'a,b\né,1\n2,4\n');
  await expect(refuseChanged(path, all)).rejects.toThrow(`${path} does not hold what was written: it was changed since`);
  await writeFile(path, 'a,b\n');
  await expect(refuseChanged(path, all)).rejects.toThrow(`${path} holds 4 bytes, and 13 were written: it was changed since`);
});

test('an appended file keeps its content', async () => {
  const path = await pathWith('a\n');
  await writeAll(await openFileSink(path, { gzip: false, appends: true }), 'b\n');
  expect(await readFile(path, 'utf8')).toBe('a\nb\n');
});
