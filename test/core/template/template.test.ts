import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headerTemplate, nearReferences, referencedFields, textTemplate, valueTemplate } from '../../../src/core/template/template.ts';
import { ExactNumber } from '../../../src/core/value/value.ts';
import { naughtyTexts } from '../../helpers/naughty-texts.ts';
import { toFields } from '../../helpers/run-flow.ts';

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...naughtyTexts));

describe('a template with references', () => {
  test.each([
    ['{{id}}', ['id']],
    ['{{user_id}}', ['user_id']],
    ['{{_}} {{7}} {{A1}}', ['_', '7', 'A1']],
    ['{{Größe}} {{名前}}', ['Größe', '名前']],
    ['{{a}}{{b}}-{{a}}', ['a', 'b']],
    ['{"a":{{a}}}', ['a']],
    ['{{{a}}}', ['a']],
    ['{a} {{ a }} {{first-name}} {{a.b}} {{a b}} {{}} {{a} {{a\n}}', []],
  ])('refers to fields: %s refers to %j', (text, fields) => {
    expect(referencedFields(text)).toEqual(fields);
  });

  test('leaves text unchanged if it only looks like a reference', () => {
    const text = '{{first-name}} {{ id }} {{a.b}}';
    expect(nearReferences(text)).toEqual(['{{first-name}}', '{{ id }}', '{{a.b}}']);
    expect(textTemplate(text)(toFields({ id: 1 }))).toBe(text);
  });

  test('inserts values as they are, and never treats them as templates', () => {
    expect(textTemplate('<{{a}}>')(toFields({ a: '{{b}} $& $1', b: 'no' }))).toBe('<{{b}} $& $1>');
  });

  test.each([
    ['text', 'text'],
    ['', ''],
    [null, ''],
    [5, '5'],
    [0.1, '0.1'],
    [true, 'true'],
    [new ExactNumber('1.50'), '1.50'],
    [[1, 'a', null], '[1,"a",null]'],
    [{ a: { b: 1 } }, '{"a":{"b":1}}'],
  ])('renders the value %j as %j', (value, text) => {
    expect(textTemplate('{{a}}')(toFields({ a: value }))).toBe(text);
  });

  test('fails the record if a field is missing, names the field, and never inserts an empty string', () => {
    expect(() => textTemplate('Hi {{name}}')(toFields({ id: 1 }))).toThrow(
      expect.objectContaining({ kind: 'template', message: 'the record has no field "name"', sent: false }),
    );
  });

  test.each(['__proto__', 'constructor', 'toString', '7'])('treats a field called %s like any other', (name) => {
    expect(textTemplate(`{{${name}}}`)(toFields([[name, 'here']]))).toBe('here');
    expect(() => textTemplate(`{{${name}}}`)(toFields({}))).toThrow(`the record has no field "${name}"`);
  });

  test("keeps the field's type if the whole template is one reference", () => {
    const fields = toFields({ list: [1, 2], n: 5 });
    expect(valueTemplate('{{list}}')(fields)).toEqual([1, 2]);
    expect(valueTemplate('{{n}} ')(fields)).toBe('5 ');
    expect(valueTemplate('plain')(fields)).toBe('plain');
  });
});

describe('a header value from a template', () => {
  test.each(['\r\nX-Injected: 1', 'a\nb', '\0', 'a\tb', '\u001b[31m', '\u007f', '\u0085'])(
    'is refused if it contains a control character: %j',
    (value) => {
      expect(() => headerTemplate('X-Name', 'v {{a}}')(toFields({ a: value }))).toThrow(
        expect.objectContaining({
          kind: 'request',
          message: 'the header "X-Name" must not contain a line break or another control character',
          sent: false,
        }),
      );
    },
  );

  test('is refused if it contains half of a surrogate pair, which cannot be sent', () => {
    expect(() => headerTemplate('X-Name', '{{a}}')(toFields({ a: 'a\ud800' }))).toThrow('a broken character');
  });

  test('is either sent unchanged or refused, whatever its text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const render = () => headerTemplate('X-Name', '<{{a}}>')(toFields({ a: text }));
        if (/\p{Cc}/u.test(text)) expect(render).toThrow('control character');
        else expect(render()).toBe(`<${text}>`);
      }),
    );
  });
});
