import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathTo } from '../../../src/core/answer/path.ts';
import { itemsOf, openText, problem, shown } from '../reading.ts';

const chunkSizes = [1, 2, 3, 7, 1000];

describe('the list of records within a JSON object', () => {
  test.each([
    ['data', '{"data":[{"a":1},{"a":2}]}'],
    ['data.items', '\ufeff{"data":{"items":[{"a":1},{"a":2}]}}'],
    ['data.items', '{\n  "total": 2,\n  "data": {\n    "items": [\n {"a":1} ,\n{"a":2}\n]\n  }\n}\n'],
    ['data.items', '{"items":[{"a":9}],"data":{"x":{"items":[{"a":8}]},"l":[[1,{"data":{}}],-1.5e+3,true],"items":[{"a":1},{"a":2}]}}'],
    ['items', '{"items":[{"a":1},{"a":2}],"next":null,"meta":{"items":[1]},"n":0}'],
    ['data.items', '{"data":{"items":[{"a":1},{"a":2}],"items2":[{}]},"end":["]}"]}'],
    ['["odd.key"].é', '{"odd.key":{"\\u00e9":[{"a":1},{"a":2}]}}'],
    ['items', '{"s":"\\"items\\":[{\\\\","items":[{"a":1},{"a":2}]}'],
  ])('is read from the path %s: %s', async (records, text) => {
    for (const chunkSize of chunkSizes)
      expect(await shown(openText('json', text, { records, chunkSize }))).toEqual([{ a: '1' }, { a: '2' }]);
  });

  test('can be empty', async () => {
    expect(await shown(openText('json', '{"data":[ ],"n":0}', { records: 'data' }))).toEqual([]);
  });

  test('contains records with their positions in the file', async () => {
    const text = '{"n":1,\n"items":[\n{"a":1},\n{"a":"é"}]}';
    const items = await itemsOf(openText('json', text, { records: 'items', chunkSize: 5 }));
    expect(items.map(({ number, end }) => [number, end.line, Buffer.from(text).toString('latin1', 0, end.offset).at(-1)])).toEqual([
      [1, 2, '}'],
      [2, 3, '}'],
    ]);
  });

  test.each([
    ['data.items', '[{"a":1}]', '1:1: expected an object, found an array'],
    ['data.items', '{"data":5}', '1:9: expected an object at data, found a number'],
    ['data.items', '{"data":{\n "items": {"a":1}}}', '2:11: expected a list of objects at data.items, found an object'],
    ['data.items', '{"x":1}', '1:7: expected a list of objects at data.items, found none: the object has "x"'],
    ['data.items', '{"data":{}}', '1:10: expected a list of objects at data.items, found none: data is empty'],
    [
      'data.items',
      '{"data":{"a":1,"b":{"c":1},"d":1,"e":1,"f":1,"g":1}}',
      '1:51: expected a list of objects at data.items, found none: data has "a", "b", "d", "e", "f", ...',
    ],
    ['a', '{"a":[{}],\n"a":[{}]}', '2:5: expected one list at a, found a second one'],
    ['a', '{"a":[{},7]}', '1:10: expected an object, found a number'],
    ['a', '{"a":[{}]', '1:10: expected "," or "}", found the end of the file'],
    ['a', '{"a":[{}]}]', '1:11: expected nothing more, found "]"'],
    ['a', '{"a":[{}],"b":}', '1:15: expected a value, found "}"'],
    ['a', '{"b":"x\ny","a":[{}]}', '1:8: expected a closing quote, found "\\n"'],
    ['a', '{"b" 1}', '1:6: expected ":", found a number'],
    ['a', '{b:1}', '1:2: expected a name in double quotes or "}", found "b"'],
    ['a', '{"b":[1 2],"a":[]}', '1:9: expected "," or "]", found a number'],
    ['a', '{"b":"x', '1:8: expected a closing quote, found the end of the file'],
    ['a', '', '1:1: expected a value, found the end of the file'],
  ])('is refused, with line and column, if its path is %s and the input is %s', async (records, text, message) => {
    for (const chunkSize of [7, 10_000])
      expect(await problem(openText('json', text, { records, chunkSize }))).toBe(`input: <stdin>:${message}`);
  });

  test('is not searched for in values that are nested too deeply', async () => {
    const text = `{"b":${'['.repeat(2000)}`;
    expect(await problem(openText('json', text, { records: 'a' }))).toBe('input: <stdin>:1:1005: nested more than 1000 deep');
  });

  test.each([
    ['data[0]', 'expected the path of the list, such as data.items, found "data[0]"'],
    ['data[].x', 'expected the path of the list, such as data.items, found "data[].x"'],
    ['$status', 'expected the path of the list, such as data.items, found "$status"'],
    ['$.data', 'expected $status, $headers.NAME or $body'],
    ['', 'expected a path such as data.user.name, found nothing'],
  ])('cannot have the path %j', async (records, message) => {
    expect(await problem(openText('json', '{}', { records }))).toContain(`usage: --records: ${message}`);
  });

  test.each(['csv', 'ndjson'])('cannot be chosen if the format is %s', async (format) => {
    expect(await problem(openText(format, '{}', { records: 'a' }))).toBe(`usage: --records: expected JSON, found ${format}`);
  });

  test('is found at its path, whatever other JSON is around it', async () => {
    const names = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
    const others = fc.array(fc.tuple(fc.string(), fc.jsonValue()), { maxLength: 3 });
    const wrap = (inner: unknown, [name, ...more]: string[], before: [string, unknown][], after: [string, unknown][]): string => {
      if (name === undefined) return JSON.stringify(inner);
      const member = ([key, value]: [string, unknown]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`;
      const others = (members: [string, unknown][]) => members.filter(([key]) => key !== name).map(member);
      const own = `${JSON.stringify(name)}: ${wrap(inner, more, before, after)}`;
      return `{${[...others(before), own, ...others(after)].join(',')}}`;
    };
    await fc.assert(
      fc.asyncProperty(names, others, others, fc.integer({ min: 1, max: 40 }), async (path, before, after, chunkSize) => {
        const text = wrap([{ a: '1' }, { a: '[' }], path, before, after);
        const records = path.reduce(pathTo, '');
        expect(await shown(openText('json', text, { records, chunkSize }))).toEqual([{ a: '1' }, { a: '[' }]);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an input that is a JSON object instead of an array', () => {
  const found = (path: string) =>
    `input: <stdin>:1:1: the file contains one object; its list of records is at ${path}: add --records ${path}`;

  test.each([
    ['data', '{"data":[{"a":1}]}'],
    ['data.items', '{"n":[1,2],"data":{"l":[[{}]],"items":[{"a":1}]},"later":[{}]}'],
    ['b', '{"a":[],"b":[{}]}'],
    ['a', '{"a":[],"n":0}'],
    ['a', '{"a":[{}'],
  ])('is refused with a message that suggests the path of its list, %s: %s', async (path, text) => {
    for (const chunkSize of [1, 1000]) expect(await problem(openText('json', text, { chunkSize }))).toBe(found(path));
  });

  test('is refused with a message that suggests a path in quotes if a shell would change the path', async () => {
    expect(await problem(openText('json', '{"a b":[{}]}'))).toMatch(/add --records '\["a b"\]'$/);
  });

  test.each(['{"a":1}', '{"a":[1]}'])('is refused with the option that reads the object itself, if it has no list: %s', async (text) => {
    expect(await problem(openText('json', text))).toMatch(/no list of records; .* as a record: add --records '\[\]'$/);
  });

  test.each([
    ['if it is not valid JSON', '{"a":'],
    ['if more objects follow, one on each line', '{"a":[{"b":1}]}\n{"a":[]}\n'],
  ])('is refused with advice to read it as NDJSON %s', async (_, text) => {
    expect(await problem(openText('json', text))).toBe(
      'input: <stdin>:1:1: expected a JSON array of objects, found an object\nif each line is an object, pass --in-format ndjson',
    );
  });

  test('is searched for a list only within its first 16 MB', async () => {
    const filling = `{"x":"${'x'.repeat(17 * 1024 * 1024)}"`;
    expect(await problem(openText('json', `${filling},"data":[{}]}`))).toContain('expected a JSON array of objects, found an object');
    expect(await problem(openText('json', `{"data":[{}],${filling.slice(1)}}\n{}`))).toBe(found('data'));
  });
});
