import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - { type: http, url: "https://api.example.com/{{id}}", retry: { max: 0 }, ${more} }\n`;

const answered = (more: string, body: string | Uint8Array, type: string, rest: Partial<FakeAnswer> = {}) =>
  runFlow(node(more), [{ id: 1 }], { http: () => ({ body, headers: { 'content-type': type }, ...rest }) });

const rowsOf = async (more: string, body: string | Uint8Array, type = 'application/xml') => (await answered(more, body, type)).rows;
const failureOf = async (more: string, body: string | Uint8Array, type = 'application/xml') =>
  (await answered(more, body, type)).failures[0];

const order = `<?xml version="1.0"?>
<order id="7" xmlns:x="urn:x">
  <x:name>Ada &amp; Bob &#169;</x:name>
  <note lang="en">soon <b>!</b></note>
  <raw><![CDATA[<b>&amp;</b>]]></raw>
  <line sku="a"><n>1</n></line>
  <line sku="b"><n>2</n></line>
  <empty/>
</order>`;

describe('an XML response', () => {
  test.each(['application/xml', 'text/xml; charset=utf-8', 'application/soap+xml'])(
    'is mapped like JSON if its type is %s',
    async (type) => {
      const map =
        'map: { id: "order.@id", name: "order.x:name", note: "order.note.#text", lang: order.note.@lang, raw: order.raw, empty: order.empty, no: order.nothing }';
      expect(await rowsOf(map, order, type)).toEqual([
        { id: '7', name: 'Ada & Bob ©', note: 'soon', lang: 'en', raw: '<b>&amp;</b>', empty: '', no: null },
      ]);
    },
  );

  test('is read as a list where elements repeat or a path expects a list', async () => {
    const map = 'map: { sku: "order.line[].@sku", n: "order.line[].n" }';
    expect(await rowsOf(map, order)).toEqual([
      { id: 1, sku: 'a', n: '1' },
      { id: 1, sku: 'b', n: '2' },
    ]);
    const single = '<order><line sku="a"><n>1</n></line></order>';
    expect(await rowsOf(map, single)).toEqual([{ id: 1, sku: 'a', n: '1' }]);
    expect(await rowsOf('map: { n: "order.line[0].n" }', single)).toEqual([{ id: 1, n: '1' }]);
    expect(await rowsOf('map: { n: order.line.n }', single)).toEqual([{ id: 1, n: '1' }]);
    const nested = '<a><b><c>1</c></b><b><c>2</c><c>3</c></b></a>';
    expect((await rowsOf('map: { c: "a.b[].c[]" }', nested)).map(({ c }) => c)).toEqual(['1', '2', '3']);
  });

  test('can contain element names such as constructor and __proto__', async () => {
    const body = '<constructor __proto__="1"><toString>2</toString><prototype/></constructor>';
    expect(await rowsOf('map: { a: "constructor.@__proto__", b: constructor.toString, c: constructor.prototype }', body)).toEqual([
      { id: 1, a: '1', b: '2', c: '' },
    ]);
  });

  test('is refused if it contains a DOCTYPE, or entities other than the five predefined ones', async () => {
    expect(await rowsOf('map: { a: a }', '<a>&lt;&gt;&quot;&apos;&amp;lt; &#x41;&nbsp;</a>')).toEqual([{ id: 1, a: `<>"'&lt; A&nbsp;` }]);
    const bomb = '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>';
    expect(await failureOf('map: { a: a }', bomb)).toMatchObject({
      class: 'parse',
      message: 'the body is not valid XML: line 2, column 1: a DOCTYPE is not allowed',
    });
    expect(await rowsOf('map: { a: a }', '<a>x<!-- <!DOCTYPE a> --><![CDATA[<!DOCTYPE a>]]></a>')).toEqual([{ id: 1, a: 'x<!DOCTYPE a>' }]);
  });

  test('can be at most 100 elements deep', async () => {
    const deep = (levels: number) => '<a>'.repeat(levels) + '</a>'.repeat(levels);
    expect((await answered('map: { b: a.b }', deep(100), 'text/xml')).failures).toEqual([]);
    expect(await failureOf('map: { b: a.b }', deep(101))).toMatchObject({
      class: 'parse',
      message: 'the body is not valid XML: line 1, column 301: elements are nested more than 100 deep',
    });
  });

  test.each([
    ['<a>\n  <b>\n</a>', 'line 3, column 1: expected closing tag'],
    ['<a/><b/>', 'line 1, column 5: a second root element begins'],
    ['<a x=1/>', 'line 1, column 6: unquoted attribute value, found "1"'],
    ['<a b="1" b="2"/>', 'line 1, column 16: duplicate attribute: b'],
    ['<a b="1<2"/>', 'line 1, column 8: disallowed character, found "<"'],
    ['<a>1 & 2</a>', 'line 1, column 6: expected a reference such as &amp;, found a single &'],
    ['<a b="&amp;" c="x?y=1&z=2; "/>', 'line 1, column 22: expected a reference such as &amp;, found a single &'],
    ['<a>&amp; <!-- x & y --><b>1 & 2;</b></a>', 'line 1, column 29: expected a reference such as &amp;, found a single &'],
    ['nonsense', 'line 1, column 1: expected an element, found text'],
    ['<a/>\n x', 'line 2, column 2: expected an element, found text'],
    ['<?xml version="1.0"?>', 'line 1, column 22: expected an element, found the end of the text'],
    ['<a>\r\n<b>\r', 'line 3, column 1: expected closing tag </b>, found the end of the text'],
    ['<a><!-- a -- b --></a>', 'line 1, column 13: expected > after -- in a comment'],
    ['</a>', 'line 1, column 1: unmatched closing tag: a'],
    ['<a>x<!doctype b></a>', 'line 1, column 5: a DOCTYPE is not allowed'],
    ['<!DOCTYPE a [<!ENTITY b "c">', 'line 1, column 1: a DOCTYPE is not allowed'],
    ['<!--', 'line 1, column 5: expected an element, found the end of the text'],
    ['<a/><!--', 'line 1, column 9: expected the end of a tag, comment or section, found the end of the text'],
    ['<a/><?', 'line 1, column 7: expected the end of a tag, comment or section, found the end of the text'],
    ['<a/><!', 'line 1, column 7: expected the end of a tag, comment or section, found the end of the text'],
    ['<a/><?x y', 'line 1, column 10: expected the end of a tag, comment or section, found the end of the text'],
    ['<a>\n<!ELEMENT b></a>', 'line 2, column 1: expected a comment or a CDATA section after <!'],
    ['<a/></', 'line 1, column 7: expected the end of a tag, comment or section, found the end of the text'],
    ['<a/><![CDATA[', 'line 1, column 5: expected an element, found text'],
    ['<a>\n&#0;</a>', 'line 2, column 1: expected a reference to a character, found &#0;'],
    ['<a b="&amp; &#xD800;"/>', 'line 1, column 13: expected a reference to a character, found &#xD800;'],
    ['<a>&#x;</a>', 'line 1, column 4: expected a reference to a character, found &#x;'],
    ['<a>&#x110000;</a>', 'line 1, column 4: expected a reference to a character, found &#x110000;'],
    ['<a>x\0</a>', 'line 1, column 5: disallowed character, found "\\u0000"'],
    ['<a b="\0"/>', 'line 1, column 7: disallowed character, found "\\u0000"'],
    ['<a><!-- \0 --></a>', 'line 1, column 9: disallowed character, found "\\u0000"'],
    ['<a>\n<a::b/></a>', 'line 2, column 2: expected a name such as a or b:a, found a::b'],
    ['<:a/>', 'line 1, column 2: expected a name such as a or b:a, found :a'],
    ['<a b:="1"/>', 'line 1, column 4: expected a name such as a or b:a, found b:'],
    ['<a><b c:d:e="1"></b></a>', 'line 1, column 7: expected a name such as a or b:a, found c:d:e'],
    ['\ufeff\ufeff<a/>', 'line 1, column 1: expected an element, found a second byte order mark'],
    ['\ufeff\n\ufeff<a/>', 'line 2, column 1: expected an element, found a second byte order mark'],
    ['\u00a0<a/>', 'line 1, column 1: expected an element, found text'],
  ])('fails the record if it is malformed: %j', async (body, message) => {
    const failure = await failureOf('map: { a: a }', body);
    expect(failure).toMatchObject({ class: 'parse', message: expect.stringContaining(`the body is not valid XML: ${message}`) });
  });

  test('keeps characters that XML does not allow, and ignores empty lines before its declaration', async () => {
    const body = '\ufeff\n\r\n<?xml version="1.1"?>\n<a b="1&#11;2">x\v]]>&nbsp;\u2028\u0085</a>\n<?end?>\n<!-- end -->\n';
    expect(await rowsOf('map: { a: "a.#text", b: "a.@b" }', body)).toEqual([{ id: 1, a: 'x\v]]>&nbsp;\u2028\u0085', b: '1\v2' }]);
  });

  test('counts as a network failure if the connection closes before the response ends', async () => {
    const { failures } = await answered('map: { a: a }', '<a><b>1</b>', 'text/xml', { endedByClose: true });
    expect(failures).toMatchObject([
      { class: 'network', message: expect.stringContaining('the connection was closed in the middle of the XML') },
    ]);
  });

  test('is decoded according to its content type, its byte order mark or its XML declaration', async () => {
    const latin = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>caf\u00e9</a>', 'latin1');
    expect(await rowsOf('map: { a: a }', latin)).toEqual([{ id: 1, a: 'café' }]);
    const windows = Buffer.from('<?xml version="1.0" encoding="windows-1252"?><a>\x935 \x80\x94</a>', 'latin1');
    expect(await rowsOf('map: { a: a }', windows, 'text/xml')).toEqual([{ id: 1, a: '“5 €”' }]);
    const utf16 = Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>caf\u00e9</a>', 'utf16le');
    expect(await rowsOf('map: { a: a }', utf16)).toEqual([{ id: 1, a: 'café' }]);
    const plain = Buffer.from('<a>caf\u00e9</a>', 'latin1');
    expect(await rowsOf('map: { a: a }', plain, 'text/xml; charset=latin1')).toEqual([{ id: 1, a: 'café' }]);
    expect(await failureOf('map: { a: a }', plain)).toMatchObject({ class: 'parse', message: expect.stringContaining('not valid utf-8') });
    const wrong = '<?xml version="1.0" encoding="utf-16"?><a>caf\u00e9</a>';
    expect(await rowsOf('map: { a: a }', wrong)).toEqual([{ id: 1, a: 'café' }]);
  });

  test('keeps text, comments and attributes that are longer than the chunks in which it is read', async () => {
    const long = (character: string) => `${character}\n`.repeat(50_000);
    const body = `<a b="${long('x')}y"><!--${long('-c')}--><?p ${long('?')}?>${long('t')}<![CDATA[${long(']')}]]></a>`;
    expect(await rowsOf('map: { b: "a.@b", t: "a.#text" }', body)).toEqual([
      { id: 1, b: `${'x '.repeat(50_000)}y`, t: `${long('t')}${long(']')}`.trim() },
    ]);
  });

  test('works with the options required, default, fail_when and error_message', async () => {
    expect(await failureOf('map: { a: { path: a.b, required: true } }', '<a/>')).toMatchObject({ class: 'mapping' });
    expect(await rowsOf('map: { a: { path: a.b, default: none } }', '<a/>')).toEqual([{ id: 1, a: 'none' }]);
    expect(await failureOf('fail_when: body.a.ok == "no", error_message: a.why', '<a><ok>no</ok><why>full</why></a>')).toMatchObject({
      class: 'answer',
      message: expect.stringContaining('full'),
    });
    const { failures } = await answered('error_message: a.why, map: { a: a }', '<a><why>gone</why></a>', 'text/xml', { status: 404 });
    expect(failures).toMatchObject([{ class: 'http', status: 404, message: expect.stringContaining('gone') }]);
  });

  test('can have several pages, even with only one item on each', async () => {
    const pages = ['<r><i>1</i><i>2</i><next>2</next></r>', '<r><i>3</i><next>3</next></r>', '<r/>'];
    const more = 'map: { n: "r.i[]" }, paginate: { type: page, param: page, items: r.i }';
    const { rows, requests } = await runFlow(node(more), [{ id: 1 }], {
      http: (_, index) => ({ body: pages[index], headers: { 'content-type': 'text/xml' } }),
    });
    expect(rows.map(({ n }) => n)).toEqual(['1', '2', '3']);
    expect(requests).toHaveLength(3);
  });

  test('can be cached', async () => {
    const http = () => ({ body: '<a>1</a>', headers: { 'content-type': 'text/xml' } });
    const yaml = 'nodes:\n  - { type: http, url: "https://a.com/x", cache: 1h, map: { a: a } }\n';
    const { rows, requests } = await runFlow(yaml, [{ id: 1 }, { id: 2 }], { http });
    expect(rows).toEqual([
      { id: 1, a: '1' },
      { id: 2, a: '1' },
    ]);
    expect(requests).toHaveLength(1);
  });

  test('can be invalid if the node reads nothing from it', async () => {
    expect(await rowsOf('map: { s: $status }', '<a')).toEqual([{ id: 1, s: 200 }]);
    expect(await rowsOf('map: { b: $body }', '<html/>', 'application/xhtml+xml')).toEqual([{ id: 1, b: '<html/>' }]);
    expect(await failureOf('map: { a: a }', '<!doctype html><a></a>', 'text/html')).toMatchObject({
      class: 'parse',
      message: expect.stringContaining('expected JSON, found text/html'),
    });
  });
});

describe('a CSV response', () => {
  const map = 'map: { id: "[].id", name: "[].name" }';

  test('becomes a list of objects whose keys are the column names in the header', async () => {
    expect(await rowsOf(map, 'id,name\r\n1,Ada\r\n2,"Bob, ""B"""\r\n', 'text/csv')).toEqual([
      { id: '1', name: 'Ada' },
      { id: '2', name: 'Bob, "B"' },
    ]);
    expect(await rowsOf('map: { n: "[0].name" }', '\ufeffid;name\n1;Ada\n', 'text/csv; charset=utf-8')).toEqual([{ id: 1, n: 'Ada' }]);
    const windows = Buffer.from('name\n\x935 \x80\x94\n', 'latin1');
    expect(await rowsOf('map: { n: "[0].name" }', windows, 'text/csv;charset=windows-1252')).toEqual([{ id: 1, n: '“5 €”' }]);
    expect(await rowsOf(map, 'id\tname\n1\tAda\n', 'text/csv')).toEqual([{ id: '1', name: 'Ada' }]);
    expect(await rowsOf(`${map}, when_empty: drop`, 'id,name\n', 'text/csv')).toEqual([]);
  });

  test.each([
    ['id,name\n1,Ada,x\n', 'line 2, column 3: expected 2 cells, found 3'],
    ['id,id\n1,2\n', 'line 1, column 2: two columns have the name "id"'],
    ['id,\n1,2\n', 'line 1, column 2: expected a name for every column'],
    ['id,name\n1,"Ada\n\n', 'line 2, column 2: expected a closing quote, found the end of the text'],
    ['id,name\r\n\r\n1,"A\r\nd\na"\r\n2\r\n', 'line 6, column 2: expected 2 cells, found 1'],
    [`${'n,'.repeat(70_000)}n\n`, 'line 1, column 2: two columns have the name "n"'],
  ])('fails the record if it is malformed: %j', async (body, message) => {
    expect(await failureOf(map, body, 'text/csv')).toMatchObject({ class: 'parse', message: expect.stringContaining(message) });
  });

  test('counts as a network failure if the connection closes within a quoted cell', async () => {
    const { failures } = await answered('map: { a: "[].a" }', 'a\n1\n"2', 'text/csv', { endedByClose: true });
    expect(failures).toMatchObject([
      { class: 'network', message: 'the connection was closed in the middle of the CSV (line 3, column 1)' },
    ]);
  });

  test('fails the record if it has more than 1,000,000 cells, even in a single row', async () => {
    expect(await failureOf(map, ','.repeat(1_000_001), 'text/csv')).toMatchObject({
      class: 'parse',
      message: 'the answer has more than 1,000,000 cells\nrequest less at once, for example with paginate or with a filter in the URL',
    });
  });
});

describe('an NDJSON response', () => {
  const map = 'map: { id: "[].id" }';

  test.each([
    ['application/x-ndjson', '{"id":1}\n{"id":2}\n'],
    ['application/ndjson; charset=utf-8', '\ufeff{"id":1}\r\n\r\n{"id":2}'],
    ['application/jsonl', '{"id":1}\n{"id":2}\n'],
    ['application/x-jsonlines', '{"id":1}\n{"id":2}\n'],
    ['application/vnd.api+jsonl', '{"id":1}\n{"id":2}\n'],
    ['application/json-seq', '\x1e{"id":\n1}\n\x1e{"id":2}\n'],
    ['application/geo+json-seq', '\x1e{"id":1}\n\x1e{"id":2}\n'],
  ])('of the type %s becomes a list of its values', async (type, body) => {
    expect(await rowsOf(map, body, type)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await rowsOf('map: { all: $body }', body, type)).toEqual([{ id: 1, all: [{ id: 1 }, { id: 2 }] }]);
    expect(await rowsOf(`answer: ndjson, ${map}`, body, 'text/plain')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test('with one value is a list, too, and keeps the digits of long numbers', async () => {
    expect(await rowsOf(map, '{"id":12345678901234567890}', 'application/x-ndjson')).toMatchObject([
      { id: { text: '12345678901234567890' } },
    ]);
  });

  test.each([
    ['{"id":1}\n{"id":}\n', 'line 2, column 7: expected a value, found "}"'],
    ['{"id":1}\n{"id":2\n{"id":3}\n', 'line 2, column 8: expected'],
    ['\x1e{\n"id":1}\n\x1e{\n"id" 2}\n', 'line 4, column 6: expected ":"'],
  ])('fails the record with the line and column if it is malformed: %j', async (body, message) => {
    expect(await failureOf(map, body, 'application/x-ndjson')).toMatchObject({ class: 'parse', message: expect.stringContaining(message) });
  });

  test('counts as a network failure if the connection closes within a value', async () => {
    const { failures } = await answered(map, '{"id":1}\n{"id"', 'application/x-ndjson', { endedByClose: true });
    expect(failures).toMatchObject([
      { class: 'network', message: 'the connection was closed in the middle of the NDJSON (line 2, column 6)' },
    ]);
  });

  test('fails the record if it has more than 1,000,000 values', async () => {
    expect(await failureOf(map, '1\n'.repeat(1_000_001), 'application/x-ndjson')).toMatchObject({
      class: 'parse',
      message: expect.stringContaining('the answer has more than 1,000,000 values'),
    });
  });

  test('is named in the failure if it arrives as JSON', async () => {
    const { message } = (await failureOf(map, '{"id":1}\n{"id":2}', 'application/json')) ?? {};
    expect(message).toContain('if it is NDJSON, write: answer: ndjson');
  });
});

describe("a node's answer option", () => {
  test('sets the format of the response, whatever the content type is', async () => {
    expect(await rowsOf('answer: xml, map: { a: a }', '<a>1</a>', 'text/plain')).toEqual([{ id: 1, a: '1' }]);
    expect(await rowsOf('answer: csv, map: { a: "[].a" }', 'a\n1', 'text/plain')).toEqual([{ id: 1, a: '1' }]);
    expect(await rowsOf('answer: text, map: { a: $body }', '<a>1</a>')).toEqual([{ id: 1, a: '<a>1</a>' }]);
    expect(await rowsOf('response: text, map: { a: $body }', '<a>1</a>')).toEqual([{ id: 1, a: '<a>1</a>' }]);
    expect(await failureOf('answer: json, map: { a: a }', '<a>1</a>')).toMatchObject({ class: 'parse' });
    expect(await failureOf('answer: xml', '{}', 'application/json')).toMatchObject({ class: 'parse' });
  });

  test('determines the Accept header of the request', async () => {
    const accept = async (more: string) => (await answered(more, '<a/>', 'text/xml')).requests[0]?.headers.Accept;
    expect(await accept('answer: xml, map: { a: a }')).toBe('application/xml, text/xml, */*;q=0.5');
    expect(await accept('map: { a: a }')).toBe('application/json, */*;q=0.5');
    expect(await accept('answer: csv, map: { a: "[].a" }')).toBe('text/csv, */*;q=0.5');
    expect(await accept('answer: text, map: { a: $body }')).toBeUndefined();
  });

  test('is suggested in the failure message if XML arrives without an XML content type', async () => {
    const { message } = (await failureOf('map: { a: a }', '<a>1</a>', 'text/plain')) ?? {};
    expect(message).toContain('if it is XML, write: answer: xml');
  });

  test('accepts six values, and cannot be combined with response, its old name', () => {
    expect(
      flowProblems(node('answer: yaml'))
        .map(({ message }) => message)
        .join(),
    ).toContain('expected auto, json, xml, csv, ndjson or text');
    expect(
      flowProblems(node('answer: xml, response: text'))
        .map(({ message }) => message)
        .join(),
    ).toContain('response is the older name of the option answer; leave response out');
  });
});
