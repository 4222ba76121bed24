import { expect, test } from 'vitest';
import { itemsOf, openText, problem, shown, writtenError } from './reading.ts';

const csv = (text: string, options = {}) => shown(openText('csv', text, options));

test('each row of a CSV file becomes a record with string values', async () => {
  expect(await csv('id,name\n1,Ada\n02,\n')).toEqual([
    { id: '1', name: 'Ada' },
    { id: '02', name: '' },
  ]);
});

test.each([
  ['a byte order mark', '\ufeffid,name\n1,Ada\n'],
  ['two byte order marks, the second of which a program has taken for text', '\ufeff\ufeffid,name\n1,Ada\n'],
  ['two byte order marks before sep=', '\ufeff\ufeffsep=;\nid;name\n1;Ada\n'],
  ['CRLF', 'id,name\r\n1,Ada\r\n'],
  ['CR', 'id,name\r1,Ada\r'],
  ['no last line break', 'id,name\n1,Ada'],
  ['mixed line breaks', 'id,name\r\n1,Ada\n'],
  ['quotes', '"id","name"\n"1","Ada"\n'],
  ['empty lines', '\n\nid,name\r\n\r\n\n1,Ada\n\n'],
])('a CSV file is read in the same way with %s', async (_, text) => {
  for (const chunkSize of [1, 2, 3, 100]) expect(await csv(text, { chunkSize })).toEqual([{ id: '1', name: 'Ada' }]);
});

test('a first line such as sep=; is skipped, however its bytes arrive and whatever the delimiter option is', async () => {
  for (const chunkSize of [1, 2, 3, 100])
    expect(await csv('\ufeffsep=;\nid;name\n1;Ada\n', { chunkSize, delimiter: ';' })).toEqual([{ id: '1', name: 'Ada' }]);
});

test.each([
  ['a line break', '"a\nb"', 'a\nb'],
  ['CRLF', '"a\r\nb"', 'a\r\nb'],
  ['a comma', '"a,b"', 'a,b'],
  ['a quote', '"a ""b"" c"', 'a "b" c'],
  ['a quote in the middle', '5" pipe', '5" pipe'],
  ['a tab', 'a\tb', 'a\tb'],
  ['a NUL', 'a\0b', 'a\0b'],
  ['spaces', ' a ', ' a '],
  ['letters of other scripts', 'é 漢 😀', 'é 漢 😀'],
])('a CSV cell can contain %s', async (_, written, value) => {
  for (const chunkSize of [1, 2, 3, 100]) expect(await csv(`x,y\n${written},1\n`, { chunkSize })).toEqual([{ x: value, y: '1' }]);
});

test('a CSV cell can contain 2 MB', async () => {
  const text = 'x'.repeat(2_000_000);
  expect(await csv(`a,b\n1,"${text}"\n`)).toEqual([{ a: '1', b: text }]);
});

test('CSV columns can be called __proto__, constructor and 7', async () => {
  const [item] = await itemsOf(openText('csv', '__proto__,constructor,7\na,b,c\n'));
  expect([...(item?.fields ?? [])]).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['7', 'c'],
  ]);
});

test('CSV columns are separated by tabs in TSV files, or by the character in --delimiter', async () => {
  const record = [{ a: '1', b: 'x,y' }];
  expect(await shown(openText('tsv', 'a\tb\n1\tx,y\n'))).toEqual(record);
  expect(await csv('a;b\n1;x,y\n', { delimiter: ';' })).toEqual(record);
  expect(await csv('a§b\n1§x,y\n', { delimiter: '§' })).toEqual(record);
  for (const delimiter of ['tab', '\\t', '\t']) expect(await csv('a\tb\n1\tx,y\n', { delimiter })).toEqual(record);
});

test('--delimiter accepts one character other than a quote or line break', async () => {
  for (const delimiter of ['', ',,', '"', '\n']) {
    expect(await problem(openText('csv', 'a\n', { delimiter }))).toBe(
      `usage: --delimiter: expected one character or "tab", found ${JSON.stringify(delimiter)}`,
    );
  }
  expect(await problem(openText('json', '[]', { delimiter: ';' }))).toBe('usage: --delimiter: expected CSV or TSV, found json');
});

test('a CSV row with too few or too many cells fails, but no other row does', async () => {
  const items = await itemsOf(openText('csv', 'a,b,c\n1,2,3\n4,5\n\n6,7,8,x,"y\nz"\n9,10,11\n12\n'));
  expect(items.map(({ number, failure }) => [number, failure?.kind, failure?.message])).toEqual([
    [1, undefined, undefined],
    [2, 'input', 'line 3: expected 3 cells, found 2'],
    [3, 'input', 'line 5: expected 3 cells, found 5 (extra: "x", "y\\nz")'],
    [4, undefined, undefined],
    [5, 'input', 'line 8: expected 3 cells, found 1'],
  ]);
  expect([...(items[1]?.fields ?? [])]).toEqual([
    ['a', '4'],
    ['b', '5'],
  ]);
  expect([...(items[2]?.fields.values() ?? [])]).toEqual(['6', '7', '8']);
});

test('a long extra CSV cell is shortened in the message, but not in the errors file', async () => {
  const extra = 'é'.repeat(100_000);
  const [item] = await itemsOf(openText('csv', `a\n1,${extra},"x\ny"\n`));
  const message = `line 2: expected 1 cell, found 3 (extra: "${extra}", "x\\ny"): is the header in another line?`;
  expect(item?.failure?.message).toBe(`${message.slice(0, 600)}...`);
  expect(writtenError(item)).toBe(message);
});

test.each([
  ['a header of more than 1 MB', `${'name,'.repeat(250_000)}x\n1\n`, /^input: <stdin>:1: expected a header of at most 1 MB/],
  ['a header of more than 1 MB without an end', 'a'.repeat(2_000_000), /^input: <stdin>:1: expected a header of at most 1 MB/],
  [
    'a name of more than 1,000 characters',
    `id,${'a'.repeat(1001)}\n1,2\n`,
    /^input: <stdin>:1: expected names of at most 1,000 characters, found one of 1,001 for field 2 \("a{60}\.\.\."\)$/,
  ],
  ['a long column name twice', `${'a'.repeat(1000)},${'a'.repeat(1000)}\n1,2\n`, /found "a{200}\.\.\." for columns 1 and 2/],
])('a CSV file is refused if it has %s', async (_, text, message) => {
  for (const chunkSize of [20_000, 65_536, 10_000_000]) expect(await problem(openText('csv', text, { chunkSize }))).toMatch(message);
});

test('a CSV header can have names of 1,000 characters and a total size of 1 MB', async () => {
  expect((await openText('csv', `${'a'.repeat(1000)},b\n1,2\n`)).columns).toHaveLength(2);
  const header = Array.from({ length: 2096 }, (_, index) => String(index).padStart(499, 'c')).join(',');
  expect((await openText('csv', `${header}\n`)).columns).toHaveLength(2096);
});

test.each([
  ['json', '[{"A": 1}]'],
  ['ndjson', '{"A": 1}\n'],
])('a field name of more than 1,000 characters is refused in %s', async (format, text) => {
  const long = text.replace('A', 'a'.repeat(1001));
  expect(await problem(openText(format, long))).toMatch(/^input: <stdin>: expected names of at most 1,000 characters, found one of 1,001/);
});

test('the columns that an errors file adds are removed when the file is read as CSV', async () => {
  const source = openText('csv', 'id,_error_node,name,_error_message\n1,n,Ada,m\n2,n\n');
  expect((await source).columns).toEqual(['id', 'name']);
  expect(await shown(source)).toEqual([{ id: '1', name: 'Ada' }, 'line 3: expected 4 cells, found 2']);
});

test('a CSV file with only a header has columns but no records', async () => {
  const source = openText('csv', 'id,name');
  expect((await source).columns).toEqual(['id', 'name']);
  expect(await itemsOf(source)).toEqual([]);
});

const otherHeader = 'if the header is in another line, or there is none: --header-line 4, or --no-header';

test.each([
  ['', '1: expected a header row with the names of the columns, found none'],
  ['\n\n', '1: expected a header row with the names of the columns, found none'],
  [',,\n1,2,3\n', `1: expected a header row with the names of the columns, found only empty cells\n${otherHeader}`],
  [
    'id,name,id\n1,2,3\n',
    `1: expected a different name for every column, found "id" for columns 1 and 3\nrename one of them\n${otherHeader}`,
  ],
])('a CSV file that begins with %j is refused because of its header', async (text, message) => {
  expect(await problem(openText('csv', text))).toBe(`input: <stdin>:${message}`);
});

test('an unclosed quote in a CSV file is reported with the line of the opening quote', async () => {
  const text = 'id,name,note\n1,"a\r\nb",c\n\n2,"x\ny","z,\n3,4,5\n';
  for (const chunkSize of [1, 5, 100]) {
    expect(await problem(openText('csv', text, { chunkSize }))).toMatch(
      /^input: <stdin>:6: expected a closing quote, found the end of the file; the quote opens cell 3 \("note"\)\n/,
    );
  }
  expect(await problem(openText('csv', '"id,name\n1,2\n'))).toBe(
    'input: <stdin>:1: expected a closing quote, found the end of the file; the quote opens cell 1\nclose it; a quote inside quotes is written twice: "a ""b"" c"',
  );
});

test('each CSV record contains the position at which the next record begins', async () => {
  const text = '\ufeffa,b\r\n1,"x\r\ny"\r\n\r\n2,é\r\n3,"\n\n"';
  for (const chunkSize of [1, 2, 7, 100]) {
    const items = await itemsOf(openText('csv', text, { chunkSize }));
    expect(items.map(({ end }) => end.line)).toEqual([3, 5, 8]);
    expect(items.map(({ end }) => Buffer.from(text).subarray(0, end.offset).toString().slice(-4))).toEqual([
      '\ny"\r\n'.slice(-4),
      ',é\r\n',
      '"\n\n"',
    ]);
  }
});

test('a byte order mark at the start of a line is dropped, however the text arrives', async () => {
  const text = '\ufeffa,b\n"1",2\n\ufeff"3","x\n\ufeffy"\n\ufeffa,b\n5,6\n';
  for (const chunkSize of [1, 2, 3, 5, 100])
    expect(await csv(text, { chunkSize })).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: 'x\n\ufeffy' },
      { a: '5', b: '6' },
    ]);
});
