import { expect, test } from 'vitest';
import { messageWithAdvice } from '../../../src/cli/advice.ts';
import { ExactNumber } from '../../../src/core/value/value.ts';
import { itemsOf, openText, problem, shown, writtenError } from '../reading.ts';

const ndjson = (text: string, options = {}) => shown(openText('ndjson', text, options));

test.each([
  ['LF', '{"a":1}\n{"a":2}\n'],
  ['CRLF', '{"a":1}\r\n{"a":2}\r\n'],
  ['blank lines', '\n{"a":1}\n \t\r\n\n{"a":2}\n\n'],
  ['no last line break', '{"a":1}\n{"a":2}'],
  ['a byte order mark', '\ufeff{"a":1}\n{"a":2}\n'],
])('NDJSON input has one record on each line: %s', async (_, text) => {
  for (const chunkSize of [1, 2, 3, 100]) expect(await ndjson(text, { chunkSize })).toEqual([{ a: '1' }, { a: '2' }]);
});

test('NDJSON values keep their types and digits', async () => {
  const [item] = await itemsOf(openText('ndjson', '{"n":12345678901234567890,"s":"1","b":true,"x":null,"o":{"k":[1]},"__proto__":7}'));
  expect([...(item?.fields ?? [])]).toEqual([
    ['n', new ExactNumber('12345678901234567890')],
    ['s', '1'],
    ['b', true],
    ['x', null],
    ['o', { k: [1] }],
    ['__proto__', 7],
  ]);
});

test('NDJSON fields keep their order, even if their names are numbers', async () => {
  const line = '{"name":{"3":1,"x":"\\"1\\":"},"2024":5,"\\u0031":[{"0":1}],"a":"2","2024":6}';
  const [item] = await itemsOf(openText('ndjson', line));
  expect([...(item?.fields.keys() ?? [])]).toEqual(['name', '2024', '1', 'a']);
  expect(item?.fields.get('2024')).toBe(6);
});

test('an NDJSON line with 50 million brackets fails, but no other line does', async () => {
  const lines = await ndjson(`${'['.repeat(50_000_000)}\n{"a":1}\n`);
  expect(lines).toEqual([expect.stringMatching(/^line 1: not a JSON object: nested more than 1000 deep at column 1002: /), { a: '1' }]);
});

test('an invalid NDJSON line fails and is kept as text, but no other line fails', async () => {
  const items = await itemsOf(openText('ndjson', '{"a":1}\n\n{"a":}\r\n[1]\nnull\n{"a"\n{"a":2}\n'));
  expect(items.map(({ number, failure }) => failure?.message ?? number)).toEqual([
    1,
    'line 3: not a JSON object: expected a value, found "}" at column 6: {"a":}',
    'line 4: not a JSON object: expected an object, found an array: [1]',
    'line 5: not a JSON object: expected an object, found null: null',
    'line 6: not a JSON object: expected ":", found the end of the line at column 5: {"a"',
    6,
  ]);
  expect(items[1]).toMatchObject({ number: 2, failure: { kind: 'input' }, fields: new Map() });
});

test('an NDJSON line fails if it is just a digit or has a NUL or a misplaced byte order mark, which are shown', async () => {
  const items = await itemsOf(openText('ndjson', '{"a":1}\n\ufeff{"a":2}\n5\n{"a":"x\0"}\n{"a":1}\0'));
  expect(items.map(({ failure }) => failure?.message)).toEqual([
    undefined,
    'line 2: not a JSON object: expected a value, found "\\ufeff" at column 1: \\ufeff{"a":2}',
    'line 3: not a JSON object: expected an object, found a number: 5',
    'line 4: not a JSON object: expected a closing quote, found "\\u0000" at column 8: {"a":"x\\u0000"}',
    'line 5: not a JSON object: expected nothing more, found "\\u0000" at column 8: {"a":1}\\u0000',
  ]);
});

test.each([
  ['[{"a":1}]', /found an array: \[{"a":1}\]\nif it is a list of records, pass --in-format json$/],
  ['[{"a":1},\n{"a":2}]', /found the end of the line at column 10: \[{"a":1},\nif it is a list of records, pass --in-format json$/],
  ['id,name\n1,x', /: id,name\nif it is a table, pass --in-format csv$/],
  ['[\r\n  {"a":1}\r\n]', /: \[\nif it is a list of records, pass --in-format json$/],
])('an array or a table on the first NDJSON line is refused with advice to pass another format: %j', async (text, message) => {
  const [item] = await itemsOf(openText('ndjson', text));
  expect(item?.failure && messageWithAdvice(item.failure)).toMatch(message);
});

test.each([
  ['{\n"a":1}', true],
  ['{"a":[\r\n1]}', true],
  ['{"a":tru}\n', false],
  ['{"b":1}\n{"a":\n', false],
])(
  'an object that continues after the first NDJSON line is refused with advice to pass --in-format json: %j (advice: %s)',
  async (text, isReported) => {
    const broken = (await itemsOf(openText('ndjson', text))).find(({ failure }) => failure)?.failure;
    const hint = 'if all of the input is one object, pass --in-format json';
    expect(broken && messageWithAdvice(broken).includes(hint)).toBe(isReported);
  },
);

test('a long invalid NDJSON line is shortened in the message, but not in the errors file', async () => {
  const line = `x${'é'.repeat(100_000)} end `;
  const message = `line 1: not a JSON object: expected a value, found "x" at column 1: ${line}`;
  const [item] = await itemsOf(openText('ndjson', `${line}\r\n`));
  expect(item?.failure?.message).toBe(`${message.slice(0, 600)}...`);
  expect(writtenError(item)).toBe(message);
  const [again] = await itemsOf(openText('ndjson', JSON.stringify({ _error: { class: 'input', message } })));
  expect(again?.failure?.message).toHaveLength(603);
  expect(writtenError(again)).toBe(`could not be read in an earlier run (correct it, and clear its error class): ${message}`);
});

test('the fields that an errors file adds are removed when the file is read as NDJSON', async () => {
  const source = openText('ndjson', '{"_error_x":1,"id":1,"_error":{"message":"m"}}\n');
  expect((await source).columns).toEqual(['id']);
  expect(await shown(source)).toEqual([{ id: '1' }]);
});

test('the columns of NDJSON input are the field names of the first readable record', async () => {
  expect((await openText('ndjson', '{broken\n{"b":1,"a":2}\n{"c":1}\n', { chunkSize: 3 })).columns).toEqual(['b', 'a']);
  expect((await openText('ndjson', '{broken\n')).columns).toEqual([]);
  expect((await openText('ndjson', ' \n')).columns).toBeUndefined();
  expect((await openText('ndjson', '')).columns).toBeUndefined();
});

test('the search for the columns of NDJSON input stops after a thousand invalid lines', async () => {
  const source = await openText('ndjson', 'x\n'.repeat(5000), { chunkSize: 100 });
  expect(source.columns).toEqual([]);
  expect(await itemsOf(Promise.resolve(source))).toHaveLength(5000);
});

test('each NDJSON record contains the position at which the next record begins', async () => {
  const items = await itemsOf(openText('ndjson', '\n{"a":"é"}\r\nbroken\n{"a":2}'));
  expect(items.map(({ end }) => end)).toEqual([
    { offset: 13, line: 2 },
    { offset: 20, line: 3 },
    { offset: 27, line: 4 },
  ]);
});

test('NDJSON that is not UTF-8 is refused', async () => {
  expect(await problem(openText('ndjson', Buffer.from([0x7b, 0xff])))).toMatch(
    /^input: <stdin>: expected UTF-8, found the byte 0xFF at byte offset 1\n/,
  );
});
