import { type FileHandle, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createStreamSink, openFileSink, refuseChanged, type Sink, writeAt } from '../../src/output/sink.ts';

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

test('a new output file is refused if a different process has created it in the meantime', async () => {
  const path = await pathWith('theirs');
  await expect(openFileSink(path, { gzip: false, isNew: true })).rejects.toMatchObject({ kind: 'output' });
  expect(await readFile(path, 'utf8')).toBe('theirs');
});

test('a resumed output file is truncated to its recorded part, and refused if that part was changed', async () => {
  const path = await pathWith();
  const keep = await writeAll(await openFileSink(path, { gzip: false }), 'a,b\n', 'é,1\n');
  await writeFile(path, 'torn', { flag: 'a' });
  await refuseChanged(path, keep);
  const all = await writeAll(await openFileSink(path, { gzip: false, keep }), '2,3\n');
  expect(await readFile(path, 'utf8')).toBe('a,b\né,1\n2,3\n');
  await refuseChanged(path, all);
  await writeFile(path, 'a,b\né,1\n2,4\n');
  await expect(refuseChanged(path, all)).rejects.toThrow(`${path} does not contain what was written: it has been changed since`);
  await writeFile(path, 'a,b\n');
  await expect(refuseChanged(path, all)).rejects.toThrow(`${path} has 4 bytes, but 13 were written: it has been changed since`);
});

test('an output file that is appended to keeps its content', async () => {
  const path = await pathWith('a\n');
  await writeAll(await openFileSink(path, { gzip: false, appends: true }), 'b\n');
  expect(await readFile(path, 'utf8')).toBe('a\nb\n');
});

test('a gzipped output file without content is valid gzip', async () => {
  const path = await pathWith();
  await writeAll(await openFileSink(path, { gzip: true }), '', '');
  expect(gunzipSync(await readFile(path))).toHaveLength(0);
});

test('each write to a gzipped output file is a separate gzip member', async () => {
  const path = await pathWith();
  const first = await writeAll(await openFileSink(path, { gzip: true }), 'a\n');
  await writeAll(await openFileSink(path, { gzip: true, keep: first }), 'b\n');
  const bytes = await readFile(path);
  expect(gunzipSync(bytes).toString()).toBe('a\nb\n');
  expect(gunzipSync(bytes.subarray(0, first.bytes)).toString()).toBe('a\n');
});

test('a closed output stream is reported, and nothing more is written to it', async () => {
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

test('all bytes are written even if the system writes only a few at once, as on a disk that is almost full', async () => {
  const path = await pathWith('0123456789');
  const handle = await open(path, 'r+');
  const few = {
    write: (bytes: Buffer, from: number, length: number, at: number) => handle.write(bytes, from, Math.min(3, length), at),
  };
  await writeAt(few as FileHandle, Buffer.from('abcdefg'), 2);
  await handle.close();
  expect(await readFile(path, 'utf8')).toBe('01abcdefg9');
});
