import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Item } from '../../src/core/item.ts';
import type { Position } from '../../src/records/record-reader.ts';
import type { RecordSource, SourceOptions } from '../../src/records/source.ts';
import { file, itemsOf, openFile, openText, problem } from './reading.ts';

const csv = '\ufeffid,name,note\r\n1,Ada,"a\r\nb"\r\n\r\n2,é 😀\r\n3,"x ""y""",\r\n\r\n4,漢,5" pipe\n5,e,f';
const ndjson = '\ufeff{"id":1}\r\n\n{"id":"é"}\nbroken\n{"id":{"a":[1]}}';
const pretty = '\ufeff[\n  {\n    "id": 1\n  },\n  {"id": "é😀"} , {"id":3}\n\n  ,{}\n]\n';
const latin1 = { encoding: 'latin1' };

const inputs: [name: string, content: string | Buffer, options?: Partial<SourceOptions>][] = [
  ['rows.csv', csv],
  ['errors.csv', '_error_node,id,_error_message\nn,1,m\nn,2,"m\nm"\nn,3\nn,4,m\n'],
  ['only.csv', 'id\n1\n""\n\n3\n'],
  ['marks.csv', '\ufeffid,name\n\ufeff1,a\n\ufeff2,b\n'],
  ['cr.csv', 'id,name\r1,a\r2,b\r'],
  ['headed.csv', '\ufeffReport "Q3\r\n\r\nid,,name,\r\n1,2,"a\r\nb",\r\n2,3,é,x\r\n\r\n3,4,c\r\n', { headerLine: 3 }],
  ['ragged.csv', 'id,name,city\n1\n2,"a\r\nb",,,\n3\n', { ragged: true }],
  ['odd.csv', ' id , "x"\n1,"\\"a\r\n," \n 2, ""\n \n"3" ,c\n', { trim: true, escape: '\\' }],
  ['headless.csv', '1,"a\nb",\n2,é,c\n3,d,\n', { noHeader: true }],
  ['rows.tsv', 'id\tname\n1\ta,b\n2\tc\n'],
  ['rows.ndjson', ndjson],
  ['pretty.json', pretty],
  ['small.json', '[{"a":1},{"b":"]"},{"c":"\\""}]'],
  ['wrapped.json', `{"n":1,"data":{"x":[{}],"items":${pretty.slice(1)},"y":"]"}}`, { records: 'data.items' }],
  ['wrapped.json.gz', gzipSync('{"items":[{"a":1},{"a":2}],"n":2}'), { records: 'items' }],
  ['rows.csv.gz', gzipSync(csv)],
  ['rows.ndjson.gz', gzipSync(ndjson)],
  ['pretty.json.gz', gzipSync(pretty)],
  ['latin1.csv', Buffer.from('id,n\xe4me\n1,\xe9\n2,"\xe9\n"\n3,\xfc', 'latin1'), latin1],
  ['latin1.json', Buffer.from('[{"\xe9":1},{"\xe9":"\xe9"}]', 'latin1'), latin1],
  ['utf16.csv', Buffer.from(`\ufeff${'id,name\n1,😀\n2,é\n3,c\n'}`, 'utf16le'), { encoding: 'utf-16le' }],
];

test.each(inputs)('reading %s can be resumed after any record', async (name, content, options = {}) => {
  const path = file(name, content);
  const format = name.slice(name.indexOf('.') + 1);
  const all = await itemsOf(openFile(path, options));
  const columns = (await openFile(path, options)).columns;
  expect(all.length).toBeGreaterThan(1);
  for (const { number, end } of all) {
    const from = { ...end, records: number };
    await isRest(openFile(path, { ...options, from }), all.slice(number), columns);
    for (const chunkSize of [1, 7, 1000])
      await isRest(openText(format, content, { ...options, from, chunkSize }), all.slice(number), columns);
  }
});

async function isRest(opening: Promise<RecordSource>, rest: Item[], columns: RecordSource['columns']): Promise<void> {
  expect((await opening).columns).toEqual(columns);
  expect(await itemsOf(opening)).toEqual(rest);
}

test('reading an input can be resumed from a position before the first record', async () => {
  const from: Position = { offset: 0, line: 0, records: 0 };
  for (const [name, content] of inputs.slice(0, 3)) {
    const path = file(name, content);
    expect(await itemsOf(openFile(path, { from }))).toEqual(await itemsOf(openFile(path)));
  }
});

test('a plain file that is resumed is not read from its beginning', async () => {
  const text = `a,b\n${'1,2\n'.repeat(100_000)}`;
  const source = await openFile(file('long.csv', text), { from: { offset: 300_004, line: 75_001, records: 75_000 } });
  expect(source.readBytes()).toBeLessThan(100_000);
  const [first] = await itemsOf(Promise.resolve(source));
  expect(first).toMatchObject({ number: 75_001, end: { offset: 300_008, line: 75_002 } });
  expect(source.readBytes()).toBe(text.length);
});

test('errors after the position at which reading was resumed have the right line and offset', async () => {
  const from = { offset: 4, line: 2, records: 1 };
  expect(await problem(openFile(file('open.csv', 'a\n1\n\n"x\n2\n'), { from }))).toMatch(/open\.csv:4: expected a closing quote/);
  expect(await problem(openFile(file('bad.csv', Buffer.from('a\n1\n2\n\xe9\n', 'latin1')), { from }))).toContain('0xE9 at byte offset 6');
  const long = `{"a":"${'x'.repeat(100_000)}"}`;
  const json = { offset: 9 + long.length, line: 0, records: 2 };
  expect(await problem(openFile(file('mid.json', `[{"a":1},${long},{"a":}]`), { from: json }))).toMatch(
    /mid\.json:1: expected a value, found "}"/,
  );
  expect(await problem(openFile(file('next.json', `[{"a":1},${long},\n{"a":}]`), { from: json }))).toMatch(
    /next\.json:2:6: expected a value, found "}"/,
  );
  expect(await problem(openFile(file('end.json', `[{"a":1},${long}`), { from: json }))).toMatch(
    /end\.json:1: expected "," or "]", found the end of the file/,
  );
});
