import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/core/value/json.ts';
import { ExactNumber, jsonOf, type Value } from '../../../src/core/value/value.ts';

/** Converts every number to a double, as JSON.parse does. */
function plain(value: Value): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

const number = fc.stringMatching(/^-?(0|[1-9]\d{0,25})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/);
const space = fc.constantFrom('', ' ', '\n', '\t \r\n');
const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value));
const escapes = fc.constantFrom('"\\u0022"', '"\\\\"', '"\\/"', '"n1.0"', '"s"', '"1.50"', '"\\ud800"');
const name = fc.string().filter((written) => !/^\d+$/.test(written));
const separated = (lists: string[][]) => lists.flatMap((list, index) => (index === 0 ? list : [',', ...list]));
/** Generates JSON documents as lists of tokens, with every kind of number. */
const { tokens } = fc.letrec<{ tokens: string[] }>((tie) => ({
  tokens: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(number, text, escapes, fc.constantFrom('true', 'false', 'null')).map((token) => [token]),
    fc.array(tie('tokens')).map((items) => ['[', ...separated(items), ']']),
    fc
      .uniqueArray(fc.tuple(name, tie('tokens')), { selector: ([written]) => written })
      .map((members) => ['{', ...separated(members.map(([written, value]) => [JSON.stringify(written), ':', ...value])), '}']),
  ),
}));

describe('parseJson', () => {
  test('keeps all digits of every number', () => {
    fc.assert(
      fc.property(tokens, (json) => {
        const canonical = json.map((token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token));
        expect(jsonOf(parseJson(json.join('')))).toBe(canonical.join(''));
      }),
    );
  });

  test('returns the same structure as JSON.parse, wherever there is white space', () => {
    fc.assert(
      fc.property(tokens, space, (json, gap) => {
        const spaced = gap + json.join(gap) + gap;
        expect(plain(parseJson(spaced))).toEqual(JSON.parse(spaced));
      }),
    );
  });

  test.each([
    '12345678901234567890',
    '-12345678901234567890',
    '9007199254740993',
    '1e400',
    '-1E-400',
    '0.10',
    '1.0',
    '-0',
    '-0.0',
    '0e0',
    '1e5',
    '100000000000000000000000',
    '0.1234567890123456789',
    '0.0000001',
    '3.141592653589793238',
  ])('keeps the digits of %s, wherever the number is', (number) => {
    for (const json of [number, `[${number}]`, `[1,${number},2]`, `{"a":${number}}`, `{"a":[{"b":${number}}],"c":"${number}"}`]) {
      expect(jsonOf(parseJson(json))).toBe(json);
    }
    expect(parseJson(` \n${number}\t`)).toEqual(new ExactNumber(number));
  });

  test.each(['0', '1', '-1', '1.5', '0.1', '123456789012345', '9007199254740991', '-0.5', '0.000001'])(
    'returns %s as an ordinary JavaScript number',
    (number) => {
      expect(parseJson(`[${number}]`)).toEqual([Number(number)]);
    },
  );

  test('does not confuse a string with the internal marker for numbers', () => {
    expect(parseJson('["n1.0","s1.0",1.0,{"n1.0":"n"}]')).toEqual(['n1.0', 's1.0', new ExactNumber('1.0'), { 'n1.0': 'n' }]);
  });

  test('treats names such as __proto__ as data', () => {
    for (const number of ['1', '1.0']) {
      const value = parseJson(`{"__proto__":{"a":${number}},"constructor":2}`) as object;
      expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(jsonOf(value as Value)).toBe(`{"__proto__":{"a":${number}},"constructor":2}`);
    }
  });

  test('uses the last value if a name occurs twice, like JSON.parse', () => {
    expect(parseJson('{"a":1.0,"a":2}')).toEqual({ a: 2 });
  });

  test.each([
    '',
    ' ',
    'undefined',
    'NaN',
    '-',
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '0x10',
    '[1,]',
    '[1.0,]',
    '{"a":1.0,}',
    '{a:1.0}',
    "['a',1.0]",
    '"a\nb"',
    '[1.0',
    '{"a":1.0',
    '[1.0] x',
    '"\\x41"',
    '\ufeff[1.0]',
    'nul',
    '[1.0 2]',
    '// 1.0\n1',
  ])('refuses %j, like JSON.parse', (json) => {
    expect(() => JSON.parse(json)).toThrow(SyntaxError);
    expect(() => parseJson(json)).toThrow(SyntaxError);
  });

  test('accepts or refuses any text exactly as JSON.parse does', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '1.0',
      '-',
      '0',
      'e5',
      '"a"',
      'null',
      ' ',
      '\n',
      '\\u00',
      'true',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const json = pieces.join('');
        let expected: unknown = 'refused';
        try {
          expected = JSON.parse(json);
        } catch {}
        let found: unknown = 'refused';
        try {
          found = plain(parseJson(json));
        } catch {}
        expect(found).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('parses 5 MB of text with escapes quickly', () => {
    const long = '\\"\\\\ back\\\\slash "quoted" 1.50 '.repeat(160_000);
    expect(parseJson(JSON.stringify([long, { n: 0 }]).replace('"n":0', '"n":1.50'))).toEqual([long, { n: new ExactNumber('1.50') }]);
  });

  test('refuses a value that is nested too deeply, without crashing', () => {
    const nested = (depth: number, inner: string) => '[{"a":'.repeat(depth / 2) + inner + '}]'.repeat(depth / 2);
    for (const inner of ['1', '1.0', '"}]}]"']) {
      expect(jsonOf(parseJson(nested(1000, inner)))).toBe(nested(1000, inner));
      expect(() => parseJson(nested(1002, inner))).toThrow('nested more than 1000 deep');
      const besides = (depth: number) => `[[${nested(depth - 2, inner)}],[]]`;
      expect(jsonOf(parseJson(besides(1000)))).toBe(besides(1000));
      expect(() => parseJson(besides(1002))).toThrow('nested more than 1000 deep');
      expect(() => parseJson(nested(200_000, inner))).toThrow(SyntaxError);
    }
    expect(() => parseJson('['.repeat(50_000_000))).toThrow('nested more than 1000 deep');
    expect(() => parseJson(`${'[1],'.repeat(1000)}"[`)).toThrow(SyntaxError);
    const flat = `[${'["[[[[",{}],'.repeat(2000)}1]`;
    expect(parseJson(flat)).toHaveLength(2001);
  });
});
