import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createStreamSink, openFileSink, refuseChanged, type Sink } from '../../../src/io/output/sink.ts';

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

test('a gzipped file without text is valid gzip', async () => {
  const path = await pathWith();
  await writeAll(await openFileSink(path, { gzip: true }), '', '');
  expect(gunzipSync(await readFile(path))).toHaveLength(0);
});

test('every write to a gzipped file is a separate member', async () => {
  const path = await pathWith();
  const first = await writeAll(await openFileSink(path, { gzip: true }), 'a\n');
  await writeAll(await openFileSink(path, { gzip: true, keep: first }), 'b\n');
  const bytes = await readFile(path);
  expect(gunzipSync(bytes).toString()).toBe('a\nb\n');
  expect(gunzipSync(bytes.subarray(0, first.bytes)).toString()).toBe('a\n');
});

test('a closed stream is reported, and is not written to again', async () => {
  const taken: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      taken.push(String(chunk));
      done(taken.length === 2 ? Object.assign(new Error('closed'), { code: 'EPIPE' }) : null);
    },
  });
  const sink = createStreamSink(stream, 'stdout', { gzip: false });
  await sink.write('a');
  for (const text of ['b', 'c'])
    await expect(sink.write(text)).rejects.toMatchObject({ kind: 'stdout-closed', message: 'stdout was closed' });
  expect(taken).toEqual(['a', 'b']);
});
