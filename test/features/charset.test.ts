import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

interface Sent {
  readonly type?: string;
  readonly body: string | Uint8Array;
  readonly node?: string;
  readonly connection?: string;
  readonly path?: string;
}

/** Runs a flow whose server sends this answer. */
function answered({ type, body, node = '', connection = '', path = 'name' }: Sent, more: Partial<FakeAnswer> = {}) {
  const yaml = `connections:
  api: { type: http, base_url: "https://api.example.com"${connection} }
nodes:
  - { type: http, connection: api, url: /x, retry: { max: 0 }, map: { name: "${path}" }${node} }
`;
  return runFlow(yaml, [{ id: 1 }], { http: () => ({ body, ...(type !== undefined && { headers: { 'content-type': type } }), ...more }) });
}

const nameIn = async (sent: Sent) => {
  const { rows, failures } = await answered(sent);
  return failures[0]?.message ?? rows[0]?.name;
};

const utf8 = Buffer.from('{"name":"Müller – 5 €"}');
const windows = Buffer.from('{"name":"M\xfcller \x96 5 \x80"}', 'latin1');

describe('JSON that is labelled with a charset of one-byte characters', () => {
  const types = [
    'application/json; charset=iso-8859-1',
    'application/json;charset="ISO-8859-1"',
    "application/json; charset = 'latin1'",
    'application/json; charset=us-ascii',
    'application/json; charset=US-ASCII; profile=x',
    'application/json; charset=windows-1252',
    'application/json; charset=iso-8859-15',
    'application/json; charset=iso-8859-2',
    'application/json; charset=koi8-r',
    'application/json; charset=macintosh',
    'application/problem+json; charset=latin1',
    'application/vnd.api+json; charset=windows-1251',
    'text/json; charset=ibm866',
    'text/plain; charset=iso-8859-1',
    'text/html; charset=windows-1252',
  ];

  test.each(types)('is read as UTF-8 if it is valid UTF-8: %s', async (type) => {
    expect(await nameIn({ type, body: utf8 })).toBe('Müller – 5 €');
    expect(await nameIn({ type, body: Buffer.from('\ufeff{"name":"Müller – 5 €"}') })).toBe('Müller – 5 €');
    expect(await nameIn({ type, body: '{"name":"Bob"}' })).toBe('Bob');
  });

  test('is read in this charset if it is not valid UTF-8', async () => {
    for (const type of [
      'application/json; charset=iso-8859-1',
      'text/plain;charset="Windows-1252"',
      'application/problem+json;charset=us-ascii',
    ])
      expect(await nameIn({ type, body: windows })).toBe('Müller – 5 €');
    expect(await nameIn({ type: 'application/json; charset=iso-8859-15', body: Buffer.from('{"name":"5 \xa4"}', 'latin1') })).toBe('5 €');
    expect(await nameIn({ type: 'application/json; charset=iso-8859-2', body: Buffer.from('{"name":"\xa3"}', 'latin1') })).toBe('Ł');
  });

  test('is read by the same rule in text mode, as NDJSON and in the messages of errors', async () => {
    const text = { path: '$body', node: ', answer: text' };
    expect(await nameIn({ ...text, type: 'application/json; charset=latin1', body: utf8 })).toBe('{"name":"Müller – 5 €"}');
    expect(await nameIn({ ...text, type: 'application/x-ndjson; charset=latin1', body: utf8 })).toBe('{"name":"Müller – 5 €"}');
    expect(await nameIn({ ...text, type: 'text/plain; charset=latin1', body: windows })).toBe('{"name":"Müller – 5 €"}');
    for (const body of [utf8, windows]) {
      const sent = { type: 'application/json; charset=iso-8859-1', body };
      const { failures } = await answered(sent, { status: 422 });
      expect(failures).toMatchObject([{ class: 'http', message: 'the server answered 422: {"name":"Müller – 5 €"}' }]);
      const named = await answered({ ...sent, node: ', error_message: name' }, { status: 422 });
      expect(named.failures).toMatchObject([{ message: expect.stringContaining('Müller – 5 €') }]);
    }
  });

  test('is a body of which a message about invalid JSON shows the right characters', async () => {
    expect(await nameIn({ type: 'application/json; charset=latin1', body: '{"name": Müller}' })).toContain('{"name": Müller}');
  });
});

describe('text that is not JSON', () => {
  test('is read by its label, even if it is valid UTF-8', async () => {
    const text = { path: '$body', node: ', answer: text' };
    expect(await nameIn({ ...text, type: 'text/plain; charset=windows-1252', body: 'MÃ¼ller' })).toBe('MÃƒÂ¼ller');
    expect(await nameIn({ path: '[0].name', type: 'text/csv; charset=latin1', body: Buffer.from('name\nM\xfcller', 'latin1') })).toBe(
      'Müller',
    );
  });

  test('is shown in the message of an error by its label', async () => {
    const body = Buffer.from('Schl\xfcssel fehlt', 'latin1');
    const { failures } = await answered({ type: 'text/plain; charset=iso-8859-1', body }, { status: 400 });
    expect(failures).toMatchObject([{ message: 'the server answered 400: Schlüssel fehlt' }]);
    const unknown = await answered({ type: 'text/plain; charset=klingon', body }, { status: 400 });
    expect(unknown.failures).toMatchObject([{ message: 'the server answered 400: Schl\ufffdssel fehlt' }]);
    const cut = await answered({ type: 'text/plain', body: `${'x'.repeat(1999)}é` }, { status: 400 });
    expect(cut.failures).toMatchObject([{ message: expect.stringMatching(/^the server answered 400: x{200}\.\.\.$/) }]);
  });
});

test('a byte order mark wins over the label and the option', async () => {
  const utf16 = Buffer.from('\ufeff{"name":"Łódź"}', 'utf16le');
  for (const type of ['application/json', 'application/json; charset=utf-8', 'application/json; charset=iso-8859-1', 'text/plain'])
    expect(await nameIn({ type, body: utf16, node: ', charset: latin1' })).toBe('Łódź');
  expect(await nameIn({ type: 'application/json', body: Buffer.from(utf16).swap16() })).toBe('Łódź');
  const csv = Buffer.from('\ufeffname\nŁódź\n');
  expect(await nameIn({ type: 'text/csv; charset=iso-8859-1', body: csv, path: '[0].name' })).toBe('Łódź');
});

test('a wrong or unknown label fails the record', async () => {
  expect(await nameIn({ type: 'application/json; charset=utf-8', body: windows, node: ', charset: latin1' })).toBe(
    'the body is not valid utf-8 (23 bytes of application/json; charset=utf-8)',
  );
  expect(await nameIn({ type: 'application/json; charset=klingon', body: utf8, node: ', charset: latin1' })).toBe(
    'the body cannot be read: the charset of "application/json; charset=klingon" is not supported',
  );
  expect(await nameIn({ type: 'application/json', body: windows })).toBe(
    'the body is not valid utf-8 (23 bytes of application/json)\nif it has a different charset, set it in the node or its connection: charset: windows-1252',
  );
});

describe('the option charset', () => {
  test('applies to answers that do not state a charset', async () => {
    const node = ', charset: Windows-1252';
    for (const type of ['application/json', 'text/plain', undefined, 'application/json; profile=x'])
      expect(await nameIn({ ...(type !== undefined && { type }), body: windows, node })).toBe('Müller – 5 €');
    expect(await nameIn({ type: 'text/csv', body: Buffer.from('name\nM\xfcller', 'latin1'), path: '[0].name', node })).toBe('Müller');
    expect(await nameIn({ type: 'text/xml', body: Buffer.from('<name>M\xfcller</name>', 'latin1'), node })).toBe('Müller');
    expect(
      await nameIn({ type: 'text/plain', body: Buffer.from('M\xfcller', 'latin1'), path: '$body', node: `${node}, answer: text` }),
    ).toBe('Müller');
    const { failures } = await answered({ body: Buffer.from('ung\xfcltig', 'latin1'), node }, { status: 400 });
    expect(failures).toMatchObject([{ message: 'the server answered 400: ungültig' }]);
  });

  test('does not apply to answers that state one, or to JSON in UTF-8', async () => {
    const node = ', charset: windows-1252';
    expect(await nameIn({ type: 'application/json; charset=utf-8', body: utf8, node })).toBe('Müller – 5 €');
    expect(await nameIn({ type: 'application/json', body: utf8, node })).toBe('Müller – 5 €');
    expect(await nameIn({ type: 'text/csv; charset=utf-8', body: 'name\nMüller', path: '[0].name', node })).toBe('Müller');
    expect(await nameIn({ type: 'text/xml', body: '<?xml version="1.0" encoding="utf-8"?><name>Müller</name>', node })).toBe('Müller');
  });

  test('can be set in a connection, and a node overrides it', async () => {
    const connection = ', charset: windows-1252';
    expect(await nameIn({ type: 'application/json', body: windows, connection })).toBe('Müller – 5 €');
    expect(
      await nameIn({
        type: 'application/json',
        body: Buffer.from('{"name":"\xa4"}', 'latin1'),
        connection,
        node: ', charset: iso-8859-15',
      }),
    ).toBe('€');
    expect(await nameIn({ type: 'application/json', body: windows, connection, node: ', charset: utf-8' })).toContain('not valid utf-8');
    const saved = { api: { type: 'http', base_url: 'https://api.example.com', charset: 'latin1' } };
    const yaml = 'nodes:\n  - { type: http, connection: api, url: /x, map: { name: name } }\n';
    const { rows } = await runFlow(yaml, [{ id: 1 }], { savedConnections: saved, http: () => ({ body: windows }) });
    expect(rows).toEqual([{ id: 1, name: 'Müller – 5 €' }]);
  });

  test('applies to pages, batches and cached answers', async () => {
    const node = ', charset: latin1, paginate: { type: page, param: page, items: names }';
    const page = (name: string) => Buffer.from(`{"names":["${name}"]}`, 'latin1');
    const pages = await runFlow(
      `nodes:\n  - { type: http, url: "https://api.example.com/", map: { name: "names[]" }${node} }\n`,
      [{ id: 1 }],
      { http: (_, index) => ({ body: [page('\xe4'), page('\xf6'), Buffer.from('{"names":[]}')][index] }) },
    );
    expect(pages.rows.map(({ name }) => name)).toEqual(['ä', 'ö']);
    const batch =
      ', charset: latin1, method: POST, body: { ids: "{{items}}" }, batch: { size: 2, items: "{{id}}", match: { path: id, field: id } }';
    const csv = Buffer.from('id,name\n1,\xe4\n2,\xf6\n', 'latin1');
    const batches = await runFlow(
      `nodes:\n  - { type: http, url: "https://api.example.com/", map: { name: "[].name" }${batch.replace('path: id', 'path: "[].id"')} }\n`,
      [{ id: '1' }, { id: '2' }],
      { http: () => ({ body: csv, headers: { 'content-type': 'text/csv' } }) },
    );
    expect([batches.failures, batches.rows.map(({ name }) => name)]).toEqual([[], ['ä', 'ö']]);
    const cached = await runFlow(
      'nodes:\n  - { type: http, url: "https://api.example.com/", charset: latin1, cache: 1h, map: { name: name } }\n',
      [{ id: 1 }, { id: 2 }],
      { http: () => ({ body: windows }) },
    );
    expect([cached.requests.length, cached.rows.map(({ name }) => name)]).toEqual([1, ['Müller – 5 €', 'Müller – 5 €']]);
  });

  test.each([
    ['windows-1225', 'no charset "windows-1225"; did you mean "windows-1252"?'],
    ['latin-1', 'no charset "latin-1"; did you mean "latin1"?'],
    ['utf_8', 'no charset "utf_8"; did you mean "utf-8"?'],
    ['klingon', 'no charset "klingon"; expected a charset such as utf-8, windows-1252, iso-8859-15 or shift_jis'],
    ['1252', 'expected the name of a charset, such as windows-1252, found 1252'],
  ])('is a problem of the flow if no charset has this name: %s', (name, message) => {
    const yaml = `connections:\n  api: { type: http, base_url: "https://a.com", charset: ${name} }\nnodes:\n  - type: http\n    url: https://a.com/\n    charset: ${name}\n`;
    expect(flowProblems(yaml)).toMatchObject([
      { line: 2, column: 58, message },
      { line: 6, column: 14, message },
    ]);
  });
});
