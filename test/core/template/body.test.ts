import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noClock } from '../../../src/core/condition/evaluation.ts';
import { bodyTemplate } from '../../../src/core/template/body.ts';
import { parseJson } from '../../../src/core/value/json.ts';
import { ExactNumber, type Value } from '../../../src/core/value/value.ts';
import { naughtyTexts } from '../../helpers/naughty-texts.ts';
import { toFields } from '../../helpers/run-flow.ts';

const json = (body: Value, fields: Record<string, unknown>) => bodyTemplate(body, () => false)(toFields(fields), noClock);
const fromCsv = (body: Value, fields: Record<string, string>) => bodyTemplate(body, () => true)(toFields(fields), noClock);

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom(...naughtyTexts));
const anyValue = fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), anyText) as fc.Arbitrary<Value>;
/** Returns the value as it is after a round trip through JSON: -0 becomes 0. */
const carried = (value: unknown) => JSON.parse(JSON.stringify(value));

describe('a request body written as a YAML mapping or list', () => {
  test('is rendered as JSON that parses to the same value', () => {
    fc.assert(
      fc.property(anyValue, anyText, (value, text) => {
        const body = json({ value: '{{value}}', list: ['{{value}}', 'x{{text}}y'], fixed: 1 }, { value, text });
        expect(JSON.parse(body)).toEqual(carried({ value, list: [value, `x${text}y`], fixed: 1 }));
      }),
    );
  });

  test('can contain references in its keys; their values are escaped', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(json({ 'x-{{text}}': 1 }, { text }))).toEqual({ [`x-${text}`]: 1 });
      }),
    );
  });

  test('keeps the type of a field where a string is a single reference; a CSV cell stays a string', () => {
    const body = { age: '{{age}}', text: 'is {{age}}' };
    expect(json(body, { age: 42 })).toBe('{"age":42,"text":"is 42"}');
    expect(fromCsv(body, { age: '42' })).toBe('{"age":"42","text":"is 42"}');
  });

  test('renders a null field as null, but as nothing within longer text', () => {
    expect(json({ a: '{{a}}', b: '<{{a}}>' }, { a: null })).toBe('{"a":null,"b":"<>"}');
  });

  test('keeps all digits of numbers', () => {
    expect(json(['{{a}}'], { a: new ExactNumber('12345678901234567890') })).toBe('[12345678901234567890]');
  });

  test('contains numbers, booleans and null as written in the flow', () => {
    expect(json({ a: 1, b: true, c: null, d: [], e: {}, f: 0.5 }, {})).toBe('{"a":1,"b":true,"c":null,"d":[],"e":{},"f":0.5}');
  });

  test('is refused if it contains infinity or NaN', () => {
    expect(() => json({ a: [Number.POSITIVE_INFINITY] }, {})).toThrow('JSON has no number');
    expect(() => json({ a: Number.NaN }, {})).toThrow('JSON has no number');
  });

  test('treats names such as __proto__ as data', () => {
    expect(json(JSON.parse('{"__proto__":{"a":"{{a}}"},"constructor":1}'), { a: 1 })).toBe('{"__proto__":{"a":1},"constructor":1}');
  });
});

describe('a request body written as JSON text with references', () => {
  test('inserts every value correctly, inside and outside quotes', () => {
    fc.assert(
      fc.property(anyValue, anyText, (value, text) => {
        const body = json('{"v": {{value}}, "t": "x{{text}}y", "v2": [{{value}}]}', { value, text });
        expect(JSON.parse(body)).toEqual(carried({ v: value, t: `x${text}y`, v2: [value] }));
      }),
    );
  });

  test.each([
    ['8 ', '"8 "'],
    ['\u00a08', '" 8"'],
    ['5" pipe', '"5\\" pipe"'],
    ['  ', '" "'],
    ['', '""'],
  ])('shows the blanks around a CSV cell in the error message if the cell is not a JSON literal: %j', (cell, found) => {
    expect(() => fromCsv('{"a": {{cell}}}', { cell })).toThrow(`expected a number, true, false or null, found ${found}`);
  });

  test('inserts a CSV cell as a string inside quotes; outside quotes the cell must be a JSON literal', () => {
    fc.assert(
      fc.property(anyText, (cell) => {
        expect(JSON.parse(fromCsv('{"a": "{{cell}}"}', { cell }))).toEqual({ a: cell });
        const render = () => fromCsv('{"a": {{cell}}, "b": 1}', { cell });
        if (/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(cell)) expect(render()).toBe(`{"a": ${cell}, "b": 1}`);
        else expect(render).toThrow('the field "cell" is used without quotes in the body: expected a number, true, false or null');
      }),
    );
  });

  test.each(['42', '-1.50', 'true', 'false', 'null', '12345678901234567890', '1e5'])(
    'inserts the CSV cell %s unchanged outside quotes',
    (cell) => {
      expect(fromCsv('{"a":{{cell}}}', { cell })).toBe(`{"a":${cell}}`);
    },
  );

  test.each(['', 'abc', '007', '1,5', ' 1', '+1', '[1]', '{}', '"x"', '1, "admin": true', 'NaN', '0x10', '.5'])(
    'fails the record if the CSV cell %j is outside quotes',
    (cell) => {
      expect(() => fromCsv('{"a":{{cell}}}', { cell })).toThrow(expect.objectContaining({ kind: 'request', sent: false }));
    },
  );

  test('inserts a string from a JSON record as a JSON string outside quotes', () => {
    expect(json('{"a":{{a}}}', { a: 'x "y"' })).toBe('{"a":"x \\"y\\""}');
  });

  test('can consist of a single reference', () => {
    expect(json('{{payload}}', { payload: { a: [1, null] } })).toBe('{"a":[1,null]}');
  });

  test('is sent as written if it contains no references', () => {
    expect(json('{ "a" : 1.0 }\n', {})).toBe('{ "a" : 1.0 }\n');
  });

  test.each([
    ['{', 'the body is not JSON'],
    ['', 'the body is not JSON'],
    [
      'hello',
      'the body is not JSON: unexpected "h"\nsend a form with form: { name: value } instead of body, and any other text with text:',
    ],
    ['a={{a}}&b={{b}}', 'the body is not JSON for any record'],
    ['a={{a}}&b={{b}}', 'the body is not JSON for any record: unexpected "a"\n'],
    ['a={{a}}&b={{b}}', 'send a form with form: { name: value } instead of body'],
    ['{"a": {{a}}', 'the body is not JSON for any record'],
    ['{"a": "x\\{{a}}"}', 'the body is not JSON for any record'],
    ['{"a": "{{a}}}', 'the body is not JSON for any record'],
  ])('is refused if it can never become valid JSON: %j', (body, message) => {
    expect(() => bodyTemplate(body, () => false)).toThrow(message);
  });

  test('fails the record if it is not valid JSON after rendering', () => {
    expect(() => json('{ {{key}}: 1 }', { key: 5 })).toThrow(
      expect.objectContaining({ kind: 'request', message: expect.stringContaining('the body is not JSON after rendering'), sent: false }),
    );
    expect(json('{ {{key}}: 1 }', { key: 'a' })).toBe('{ "a": 1 }');
  });

  test('fails the record if a field is missing, but not if the field is null', () => {
    expect(() => json('{"a":{{a}}}', {})).toThrow('the record has no field "a"');
    expect(json('{"a":{{a}},"b":"{{a}}"}', { a: null })).toBe('{"a":null,"b":""}');
  });

  test('keeps all digits of numbers', () => {
    expect(json('{"a":{{a}}}', { a: parseJson('[1e400,0.10]') })).toBe('{"a":[1e400,0.10]}');
  });
});
