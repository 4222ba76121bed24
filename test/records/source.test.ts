import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { formatOfName } from '../../src/records/formats.ts';
import { openSource } from '../../src/records/source.ts';
import { file, itemsOf, openFile, openText, problem, shown } from './reading.ts';

test('the input format comes from the option, or otherwise from the file name', async () => {
  expect((await openFile(file('a.tsv', 'a\tb\n'))).format).toEqual({ kind: 'tsv', gzip: false });
  expect(await shown(openFile(file('a.txt', '{"a":1}\n'), { format: formatOfName('ndjson') }))).toEqual([{ a: '1' }]);
  expect(await shown(openFile(file('b.json', 'a\n1\n'), { format: formatOfName('csv') }))).toEqual([{ a: '1' }]);
});

test('an unknown input format is refused with a list of the possible formats', async () => {
  const path = file('rows.txt', 'a\n');
  expect(await problem(openFile(path))).toBe(
    `usage: ${path}: expected a file name that ends in .csv, .tsv, .json, .ndjson, .jsonl, one of these with .gz, or .xlsx\nor give its format: --in-format csv, tsv, json, ndjson, jsonl, xlsx`,
  );
  expect(await problem(openFile('gone.txt'))).toBe('input: gone.txt: expected a file, found none with this name');
});

test('an input that does not exist or is a folder is refused', async () => {
  const folder = file('x.csv', '').replace(/x\.csv$/, '');
  expect(await problem(openFile(`${folder}no.csv`))).toBe(`input: ${folder}no.csv: expected a file, found none with this name`);
  expect(await problem(openFile(`${folder}x.csv/y.csv`))).toBe(`input: ${folder}x.csv/y.csv: expected a file, found none with this name`);
  expect(await problem(openFile(folder, { format: formatOfName('csv') }))).toBe(`input: ${folder}: expected a file, found a directory`);
});

test('an input stream that breaks is reported with the reason', async () => {
  const stdin = Readable.from(
    (function* () {
      yield 'a\n1\n';
      throw new Error('the disk is gone');
    })(),
  );
  expect(await problem(openSource({ path: '-', stdin, format: formatOfName('csv') }))).toBe(
    'input: <stdin>: cannot be read: the disk is gone',
  );
});

test('messages about an input file begin with its path', async () => {
  const path = file('double.csv', 'a,a\n');
  expect(await problem(openFile(path))).toMatch(`input: ${path}:1: expected a different name`);
});

test('the progress of a gzipped input counts the bytes of the file, not of the unzipped text', async () => {
  const zipped = gzipSync('a\n1\n2\n');
  const source = await openFile(file('size.csv.gz', zipped));
  expect(source.totalBytes).toBe(zipped.length);
  await itemsOf(Promise.resolve(source));
  expect(source.readBytes()).toBe(zipped.length);
  expect((await openText('csv', 'a\n')).totalBytes).toBeUndefined();
});

test('an input is read at most one chunk ahead', async () => {
  let read = 0;
  const endless = (function* () {
    yield 'a\n';
    for (;;) yield `${++read}\n`.repeat(1000);
  })();
  const source = await openSource({
    path: '-',
    stdin: Readable.from(endless, { objectMode: true, highWaterMark: 1 }),
    format: formatOfName('csv'),
  });
  const chunks = source.read();
  for (let taken = 0; taken < 10; taken++) expect((await chunks.next()).value.length).toBeGreaterThan(900);
  expect(read).toBeLessThan(15);
  await chunks.return(undefined);
});

test('closing an input ends a read in progress', async () => {
  for (const format of ['csv', 'ndjson', 'csv.gz']) {
    const stdin = new PassThrough();
    const text = 'a\n1\n2\n3,"half'.replace(/^/, format === 'ndjson' ? '{}\n' : '');
    stdin.write(format.endsWith('gz') ? gzipSync(text).subarray(0, -8) : text);
    const opening = openSource({ path: '-', stdin, format: formatOfName(format) });
    const source = await opening;
    const chunks = source.read();
    const taken: unknown[] = [];
    const reading = (async () => {
      for await (const items of chunks) taken.push(...items);
    })();
    await new Promise(setImmediate);
    await source.close();
    await reading;
    expect(stdin.destroyed).toBe(true);
  }
});

test('an input can be closed at any time', async () => {
  const path = file('close.csv', 'a\n1\n');
  const unread = await openFile(path);
  await unread.close();
  expect(await itemsOf(Promise.resolve(unread))).toEqual([{ number: 1, fields: new Map([['a', '1']]), end: { offset: 4, line: 2 } }]);
  const read = await openFile(path);
  await itemsOf(Promise.resolve(read));
  await read.close();
  await read.close();
});

test.each([undefined, 1000])(
  'knows the fields of a line whose line break has not arrived yet, with records of at most %s bytes',
  async (max) => {
    const source = await openText('ndjson', '{"a":1}\n{"b":2}\n', { chunkSize: 15, maxRecordBytes: max });
    expect(source.firstFields).toEqual(['a', 'b']);
    await source.close();
  },
);
