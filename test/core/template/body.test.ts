import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyTemplate } from '../../../src/core/template/body.ts';
import { parseJson } from '../../../src/core/value/json.ts';
import type { Value } from '../../../src/core/value/value.ts';
import { ExactNumber } from '../../../src/core/value/value.ts';
import { naughtyTexts } from '../../helpers/naughty-texts.ts';
import { toFields } from '../../helpers/run-flow.ts';

const json = (body: Value, fields: Record<string, unknown>) => bodyTemplate(body, () => false)(toFields(fields));
const fromCsv = (body: Value, fields: Record<string, string>) => bodyTemplate(body, () => true)(toFields(fields));

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom(...naughtyTexts));
const anyValue = fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), anyText) as fc.Arbitrary<Value>;
/** The value that JSON can carry: -0 becomes 0. */
const carried = (value: unknown) => JSON.parse(JSON.stringify(value));

describe('a mapping or list', () => {
  test('gives back any value', () => {
    fc.assert(
      fc.property(anyValue, anyText, (value, text) => {
        const body = json({ value: '{{value}}', list: ['{{value}}', 'x{{text}}y'], fixed: 1 }, { value, text });
        expect(JSON.parse(body)).toEqual(carried({ value, list: [value, `x${text}y`], fixed: 1 }));
      }),
    );
  });

  test('references in names are escaped, too', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(json({ 'x-{{text}}': 1 }, { text }))).toEqual({ [`x-${text}`]: 1 });
      }),
    );
  });

  test('a string that is one reference keeps the type; a CSV cell is a string', () => {
    const body = { age: '{{age}}', text: 'is {{age}}' };
    expect(json(body, { age: 42 })).toBe('{"age":42,"text":"is 42"}');
    expect(fromCsv(body, { age: '42' })).toBe('{"age":"42","text":"is 42"}');
  });

  test('null stays null, and is empty inside a text', () => {
    expect(json({ a: '{{a}}', b: '<{{a}}>' }, { a: null })).toBe('{"a":null,"b":"<>"}');
  });

  test('digits are kept', () => {
    expect(json(['{{a}}'], { a: new ExactNumber('12345678901234567890') })).toBe('[12345678901234567890]');
  });

  test('a value that is not a string is sent as written', () => {
    expect(json({ a: 1, b: true, c: null, d: [], e: {}, f: 0.5 }, {})).toBe('{"a":1,"b":true,"c":null,"d":[],"e":{},"f":0.5}');
  });

  test('infinity and NaN are refused', () => {
    expect(() => json({ a: [Number.POSITIVE_INFINITY] }, {})).toThrow('JSON has no number');
    expect(() => json({ a: Number.NaN }, {})).toThrow('JSON has no number');
  });

  test('names such as __proto__ are data', () => {
    expect(json(JSON.parse('{"__proto__":{"a":"{{a}}"},"constructor":1}'), { a: 1 })).toBe('{"__proto__":{"a":1},"constructor":1}');
  });
});

describe('a JSON text', () => {
  test('gives back every value, inside and outside quotes', () => {
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
  ])('a CSV cell that is not a literal is shown with the blanks at its ends: %j', (cell, found) => {
    expect(() => fromCsv('{"a": {{cell}}}', { cell })).toThrow(`expected a number, true, false or null, found ${found}`);
  });

  test('a CSV cell is a text inside quotes, and a literal or a failure outside', () => {
    fc.assert(
      fc.property(anyText, (cell) => {
        expect(JSON.parse(fromCsv('{"a": "{{cell}}"}', { cell }))).toEqual({ a: cell });
        const render = () => fromCsv('{"a": {{cell}}, "b": 1}', { cell });
        if (/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(cell)) expect(render()).toBe(`{"a": ${cell}, "b": 1}`);
        else expect(render).toThrow('the field "cell" is outside quotes in the body: expected a number, true, false or null');
      }),
    );
  });

  test.each(['42', '-1.50', 'true', 'false', 'null', '12345678901234567890', '1e5'])(
    'the cell %s outside quotes is that literal',
    (cell) => {
      expect(fromCsv('{"a":{{cell}}}', { cell })).toBe(`{"a":${cell}}`);
    },
  );

  test.each(['', 'abc', '007', '1,5', ' 1', '+1', '[1]', '{}', '"x"', '1, "admin": true', 'NaN', '0x10', '.5'])(
    'the cell %j outside quotes fails the record',
    (cell) => {
      expect(() => fromCsv('{"a":{{cell}}}', { cell })).toThrow(expect.objectContaining({ kind: 'request', sent: false }));
    },
  );

  test('a string of a JSON record outside quotes is a JSON string', () => {
    expect(json('{"a":{{a}}}', { a: 'x "y"' })).toBe('{"a":"x \\"y\\""}');
  });

  test('the whole body may be one reference', () => {
    expect(json('{{payload}}', { payload: { a: [1, null] } })).toBe('{"a":[1,null]}');
  });

  test('a text without references is sent as it was written', () => {
    expect(json('{ "a" : 1.0 }\n', {})).toBe('{ "a" : 1.0 }\n');
  });

  test.each([
    ['{', 'the body is not JSON'],
    ['', 'the body is not JSON'],
    ['hello', 'the body is not JSON'],
    ['a={{a}}&b={{b}}', 'the body is not JSON for any record'],
    ['a={{a}}&b={{b}}', 'the body is not JSON for any record: unexpected "a"\n'],
    ['a={{a}}&b={{b}}', 'send a form with form: { name: value } instead of body'],
    ['{"a": {{a}}', 'the body is not JSON for any record'],
    ['{"a": "x\\{{a}}"}', 'the body is not JSON for any record'],
    ['{"a": "{{a}}}', 'the body is not JSON for any record'],
  ])('%j can never become JSON', (body, message) => {
    expect(() => bodyTemplate(body, () => false)).toThrow(message);
  });

  test('a text that is not JSON after rendering fails the record', () => {
    expect(() => json('{ {{key}}: 1 }', { key: 5 })).toThrow(
      expect.objectContaining({ kind: 'request', message: expect.stringContaining('the body is not JSON after rendering'), sent: false }),
    );
    expect(json('{ {{key}}: 1 }', { key: 'a' })).toBe('{ "a": 1 }');
  });

  test('a missing field fails the record, null does not', () => {
    expect(() => json('{"a":{{a}}}', {})).toThrow('the record has no field "a"');
    expect(json('{"a":{{a}},"b":"{{a}}"}', { a: null })).toBe('{"a":null,"b":""}');
  });

  test('digits are kept', () => {
    expect(json('{"a":{{a}}}', { a: parseJson('[1e400,0.10]') })).toBe('{"a":[1e400,0.10]}');
  });
});
