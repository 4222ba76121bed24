import fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/core/failure.ts';
import { isXmlType, xmlTemplate } from '../../../src/core/template/xml.ts';
import { toFields } from '../../helpers/run-flow.ts';

const compiled = (text: string, raw: readonly string[] = [], variables: Readonly<Record<string, string>> = {}) =>
  xmlTemplate({ text, raw, variables: new Map(Object.entries(variables)) });

const rendered = (text: string, fields: Readonly<Record<string, unknown>>, raw: readonly string[] = []) =>
  compiled(text, raw).render(toFields(fields));

const problemsIn = (text: string, raw: readonly string[] = []) =>
  compiled(text, raw).problems.map(({ message, offset }) => [offset, message.split('\n')[0]]);

describe('an XML text', () => {
  test.each([
    ['text', '<a>{{x}}</a>', `B&2<3> "q" 'a'`, '<a>B&amp;2&lt;3&gt; &quot;q&quot; &apos;a&apos;</a>'],
    [
      'an attribute',
      '<a b="{{x}}" c=\'{{x}}\'/>',
      `&<"'\n\t`,
      `<a b="&amp;&lt;&quot;&apos;&#10;&#9;" c='&amp;&lt;&quot;&apos;&#10;&#9;'/>`,
    ],
    ['an attribute beside text', '<a b="x-{{x}} y"> {{x}} </a>', '<', '<a b="x-&lt; y"> &lt; </a>'],
    ['a carriage return', '<a>{{x}}</a>', 'a\r\nb', '<a>a&#13;\nb</a>'],
    ['a CDATA section', '<a><![CDATA[{{x}}]]></a>', '1 < 2 ]]> & 3', '<a><![CDATA[1 < 2 ]]]]><![CDATA[> & 3]]></a>'],
    ['text after a comment with markup', '<a><!-- <b> " --><c>{{x}}</c></a>', '<', '<a><!-- <b> " --><c>&lt;</c></a>'],
    ['text after CDATA with markup', '<a><![CDATA[<b "]]>{{x}}</a>', '<', '<a><![CDATA[<b "]]>&lt;</a>'],
    [
      'text after a declaration and a DOCTYPE',
      '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "]>">]>\n<a>{{x}}</a>',
      '<',
      '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "]>">]>\n<a>&lt;</a>',
    ],
    ['text between elements', '<a><b/>{{x}}<c></c>{{x}}</a>', '&', '<a><b/>&amp;<c></c>&amp;</a>'],
    ['an attribute with > and the other quote', `<a b=">'{{x}}">{{x}}</a>`, '"', `<a b=">'&quot;">&quot;</a>`],
  ])('escapes a value for its place: %s', (_place, text, x, expected) => {
    expect([problemsIn(text), rendered(text, { x })]).toEqual([[], expected]);
  });

  test('inserts numbers, null and objects as other text does', () => {
    expect(rendered('<a>{{n}}{{none}}{{o}}</a>', { n: 1.5, none: null, o: { a: 1 } })).toBe('<a>1.5{&quot;a&quot;:1}</a>');
  });

  test('gives a parser every value unchanged', () => {
    const text = '<a b="{{x}}"><t>{{x}}{{y}}</t><c>]]&gt;<![CDATA[]]{{x}}{{y}}>{{x}}]>]]]></c></a>';
    const value = fc.string({ unit: fc.constantFrom('a', ']', '>', '<', '&', '"', "'", '\r', '\n', '\t', 'é', '😀') });
    fc.assert(
      fc.property(value, value, (x, y) => {
        const found: string[] = [];
        const parser = new SaxesParser();
        parser.on('opentag', ({ attributes }) => found.push(...Object.values(attributes), ''));
        for (const event of ['text', 'cdata'] as const) parser.on(event, (part) => (found[found.length - 1] += part));
        parser.write(rendered(text, { x: x, y })).close();
        // A parser turns a carriage return in CDATA into a line feed (XML 1.0, 2.11). It cannot be escaped there.
        const inCdata = `]]${x}${y}>${x}]>]`.replace(/\r\n?/g, '\n');
        expect(found).toEqual([x, '', x + y, `]]>${inCdata}`]);
      }),
    );
  });

  test('inserts a field of raw unchanged, also as the whole document', () => {
    expect([problemsIn('<a>{{x}}</a>', ['x']), rendered('<a>{{x}}</a>', { x: '<b>&amp;</b>' }, ['x'])]).toEqual([
      [],
      '<a><b>&amp;</b></a>',
    ]);
    expect([problemsIn('{{x}}', ['x']), rendered('{{x}}', { x: '<b/>' }, ['x'])]).toEqual([[], '<b/>']);
  });

  test('escapes variables, unless they are raw', () => {
    const text = '<a b="{{vars.name}}">{{vars.none}}{{vars.xml}}{{id}}</a>';
    const variables = { 'vars.name': 'A & "B"', 'vars.none': '', 'vars.xml': '<b/>' };
    const { render, problems, names } = compiled(text, ['vars.xml'], variables);
    expect([problems, render(toFields({ id: '<' }))]).toEqual([[], '<a b="A &amp; &quot;B&quot;"><b/>&lt;</a>']);
    expect(names).toEqual(['vars.name', 'vars.none', 'vars.xml', 'id']);
    // The position is the position in the text with the values, because other problems refer to that text.
    expect(compiled('<a b="{{vars.name}}"/>{{id}}', [], variables).problems.map(({ offset }) => offset)).toEqual([
      '<a b="A & "B""/>'.length,
    ]);
  });

  test.each([
    ['a comment', '<a><!-- {{x}} --></a>', 8, '{{x}} is in a comment of the XML, where no value can be escaped'],
    ['an instruction', '<?xml version="{{x}}"?><a/>', 15, '{{x}} is in a processing instruction of the XML, where no value can be escaped'],
    ['a DOCTYPE', '<!DOCTYPE {{x}}><a/>', 10, '{{x}} is in a DOCTYPE of the XML, where no value can be escaped'],
    [
      'the name of a tag',
      '<{{x}}/>',
      1,
      '{{x}} is in a tag of the XML, and not in the value of an attribute in quotes, where no value can be escaped',
    ],
    [
      'an end tag',
      '<a></{{x}}>',
      5,
      '{{x}} is in a tag of the XML, and not in the value of an attribute in quotes, where no value can be escaped',
    ],
    [
      'the name of an attribute',
      '<a {{x}}="1"/>',
      3,
      '{{x}} is in a tag of the XML, and not in the value of an attribute in quotes, where no value can be escaped',
    ],
    [
      'no quotes',
      '<a b={{x}}/>',
      5,
      '{{x}} is in a tag of the XML, and not in the value of an attribute in quotes, where no value can be escaped',
    ],
    ['no element', '{{x}}', 0, '{{x}} is outside of the elements of the XML, where no text is allowed'],
    ['the end', '<a/>{{x}}', 4, '{{x}} is outside of the elements of the XML, where no text is allowed'],
  ])('has a problem with a reference in %s', (_place, text, offset, message) => {
    expect(problemsIn(text)).toEqual([[offset, message]]);
  });

  test.each([
    ['<a>{{x}} < 5</a>', 9],
    ['<a b="{{x}}>text</a>', 0],
    ['<a><!-- {{x}}</a>', 3],
    ['<a><![CDATA[{{x}}</a>', 3],
    ['<!{{x}}>', 0],
    ['<a>{{x}}<', 8],
  ])('has a problem if the place of a reference is unknown: %s', (text, offset) => {
    expect(problemsIn(text)).toEqual([
      [offset, 'expected XML, as the content type says, found "<" without a tag, a comment or a section that ends'],
    ]);
  });

  test('without references is sent as it is', () => {
    expect([problemsIn('no XML <'), rendered('no XML <', {})]).toEqual([[], 'no XML <']);
  });

  test('fails a record with a character that XML cannot contain', () => {
    for (const [x, code] of [
      ['a\u0001', '0001'],
      ['\ud800', 'D800'],
      ['\uffff', 'FFFF'],
    ]) {
      const failure = new Failure('request', `the field "x" contains the character U+${code}, which XML cannot contain`, { sent: false });
      expect(() => rendered('<a>{{x}}</a>', { x })).toThrow(failure);
    }
  });
});

test.each([
  ['text/xml', true],
  ['TEXT/XML; charset=utf-8', true],
  ['application/xml', true],
  ['application/soap+xml;charset=UTF-8;action="a"', true],
  ['image/svg+XML', true],
  ['application/xmlx', false],
  ['application/json', false],
  ['text/plain; a=text/xml', false],
  ['text/html', false],
])('the content type %s is XML: %s', (type, isXml) => {
  expect(isXmlType(type)).toBe(isXml);
});
