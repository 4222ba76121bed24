import { describe, expect, test } from 'vitest';
import { compileMapping, type Found } from '../../src/core/answer/mapping.ts';
import { parseJson } from '../../src/core/value/json.ts';
import type { Value } from '../../src/core/value/value.ts';
import { structureOf } from '../../src/preview/structure.ts';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, type SeenRequest } from '../helpers/http-server.ts';
import { naughtyTexts } from '../helpers/naughty-texts.ts';
import { hasCurl, shell, unlessCurl } from '../helpers/shell.ts';

const person = {
  data: { user: { name: 'Ada', 'odd key': 1, tags: ['x', 'y'], address: { city: 'Oslo', zip: null } } },
  results: [
    { value: 1, lines: [{ sku: 'a' }] },
    { value: 'two', lines: [] },
  ],
  matrix: [[1, 2], [3]],
  total: 12345678901234567890n,
  ok: true,
  none: null,
};
const personJson = JSON.stringify(person, (_, value) => (typeof value === 'bigint' ? { digits: String(value) } : value)).replace(
  /\{"digits":"(\d+)"\}/,
  '$1',
);

/** Starts a server, and creates a workplace with a flow that sends requests to it. */
async function preview(
  flow: (origin: string) => string,
  answer: (request: SeenRequest, index: number) => ServerAnswer = () => ({ body: person }),
) {
  const server = await answeringServer((request, index) => {
    const answered = answer(request, index);
    return answered.body === person
      ? { ...answered, body: personJson, headers: { 'content-type': 'application/json', 'x-request-id': 'r1' } }
      : answered;
  });
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': 'id,city\n1,Oslo\n2,Rome\n' });
  return { server, place, ...place };
}

const people =
  (more = '') =>
  (origin: string) =>
    `nodes: [{ id: profile, type: http, url: "${origin}/users/{{id}}"${more} }]`;

/** Returns the paths in a printed structure. */
function printedPaths(stdout: string): string[] {
  const table = /^path +type[\s\S]*?(?=\n\n|\n$)/m.exec(stdout)?.[0] ?? '';
  const [header = '', ...rows] = table.split('\n');
  return rows.map((row) => row.slice(0, header.indexOf('type')).trimEnd());
}

/** True if a map finds a value at the path. */
function isFound(path: string, body: Value | undefined): boolean {
  const found: Found[] = [];
  compileMapping([path], 'keep').apply(new Map(), { status: 200, header: () => undefined, body }, found);
  return Boolean(found[0]);
}

describe('automate test-request', () => {
  test('shows the request, the response, its structure and the mapped fields', async () => {
    const { automate } = await preview(people(', map: { name: data.user.name, gone: data.nothing }'));
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/users\/1\n/);
    expect(stdout).toMatch(/\n200 in [\d.]+ m?s, \d+ bytes\n/);
    expect(stdout).toContain('\n  x-request-id: r1\n');
    expect(stdout).toMatch(/\npath +type +sample\n/);
    expect(stdout).toMatch(/\ndata\.user\.name +string +"Ada"\n/);
    expect(stdout).toMatch(/\nresults +array +2 elements\n/);
    expect(stdout).toMatch(/\nresults\[\]\.value +number or string +1\n/);
    expect(stdout).toMatch(/\ntotal +number +12345678901234567890\n/);
    expect(stdout).toMatch(/\nmap yields\n +name +Ada\n +gone\n {2}data\.nothing: found nothing here\n$/);
    expect(stderr).toBe('');
    expect((await automate(['credits', '--json'])).stdout).toContain('"spent": 1,');
  });

  test('shows the beginning of a long value, and the whole value with --json', async () => {
    const { automate } = await preview(people(', map: { csv: $body, id: $status }'), () => ({ body: 'a,b\n'.repeat(1000) }));
    const { stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(stdout).toMatch(/\nmap yields\n +csv {2}a,b a,b [a,b ]{1,200}\.\.\.\n +id +200\n$/);
    const { map } = JSON.parse((await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json'])).stdout);
    expect(map[0].csv).toHaveLength(4000);
  });

  test('prints paths that can be copied into a map', async () => {
    const { automate } = await preview(people());
    const paths = printedPaths((await automate(['test-request', 'flow.yaml', '--set', 'id=1'])).stdout);
    expect(paths).toContain('data.user["odd key"]');
    expect(paths).toContain('results[].lines[].sku');
    expect(paths).toContain('matrix[][]');
    expect(paths).toHaveLength(21);
    for (const path of paths) expect([path, isFound(path, parseJson(personJson))]).toEqual([path, true]);
  });

  test('lists the first 500 paths of a long answer, and says how many more there are', async () => {
    const keys = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`key${index}`, index]));
    const { automate } = await preview(people(', map: { a: key1199 }'), () => ({ body: keys }));
    const { stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(stdout).toMatch(/\nkey499 +number +499\nand 700 more paths; --json prints the whole body\n\nmap yields\n +a +1199\n$/);
    const { structure, more_paths, response } = JSON.parse(
      (await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json'])).stdout,
    );
    expect([structure.length, more_paths, response.body]).toEqual([500, 700, keys]);
  });

  test.each<[Value, number, number]>([
    [Array.from({ length: 90 }, (_, index) => ({ [`a${index}`]: { x: 1 }, same: [1] })), 183, 0],
    [Array.from({ length: 90 }, (_, index) => Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map((at) => [`a${index}_${at}`, at]))), 500, 131],
    [[{ a: 1 }, Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`b${index}`, 1]))], 500, 102],
    [{ a: Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`b${index}`, 1])), c: 1 }, 500, 102],
  ])('counts each path once: %#', (body, listed, more) => {
    const structure = structureOf(body);
    expect([structure.rows.length, structure.more]).toEqual([listed, more]);
  });

  test('prints usable paths for unusual names, without control characters', async () => {
    const odd = Object.fromEntries(naughtyTexts.map((text, index) => [text, index]));
    const { automate, write, server } = await preview(people(), () => ({ body: odd }));
    const { structure } = JSON.parse((await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json'])).stdout);
    const paths = structure.map(({ path }: { path: string }) => path);
    expect(paths).toHaveLength(new Set(naughtyTexts).size);
    await write('flow.yaml', `nodes: [{ type: http, url: "${server.origin}", map: ${JSON.stringify(paths)} }]`);
    const { stdout } = await automate(['test-request', 'flow.yaml']);
    expect(stdout).toContain('map yields');
    expect(stdout).not.toContain('found nothing here');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]/);
  });

  test.each<[Value | undefined, string[]]>([
    [[[{ a: 1 }]], ['[]', '[][]', '[][].a']],
    [[1, 'x'], ['[]']],
    ['text', ['$body']],
    [{}, ['$body']],
    [[], ['$body']],
    [null, ['$body']],
    [undefined, []],
  ])('for the response body %j lists the paths %j', (body, paths) => {
    expect(structureOf(body).rows.map(({ path }) => path)).toEqual(paths);
    for (const path of paths) expect([path, isFound(path, body)]).toEqual([path, true]);
  });

  test('shows the response and the reason if the request fails, and exits with 4', async () => {
    const { automate } = await preview(people(), () => ({ status: 403, body: { error: { reason: 'no' } } }));
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(code).toBe(4);
    expect(stdout).toMatch(/\n403 in/);
    expect(stdout).toMatch(/\nerror\.reason +string +"no"$/m);
    expect(stderr).toBe('failed: profile: http: the server answered 403: {"error":{"reason":"no"}}\n');
  });

  test('shows a redirect that counts as a success', async () => {
    const { automate, server } = await preview(people(', success: [3xx], map: { to: $headers.location }'), () => ({
      status: 302,
      headers: { location: 'https://files.example.com/1' },
    }));
    const { code, stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(stdout).toMatch(/\n302 in[\s\S]*\nmap yields\n +to +https:\/\/files\.example\.com\/1\n$/);
    expect(code).toBe(0);
    expect(server.requests).toHaveLength(1);
  });

  test('says that the connection was refused if no server is listening', async () => {
    const place = await workplace({ 'flow.yaml': people()('http://127.0.0.1:9') });
    const { code, stdout, stderr } = await place.automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(code).toBe(4);
    expect(stdout).toBe('GET http://127.0.0.1:9/users/1\n');
    expect(stderr).toMatch(/failed: profile: network: .*ECONNREFUSED/);
  });

  test('does not retry a failed request', async () => {
    const { automate, server } = await preview(people(), () => ({ status: 503 }));
    expect((await automate(['test-request', 'flow.yaml', '--set', 'id=1'])).code).toBe(4);
    expect(server.requests).toHaveLength(1);
  });
});

describe('automate test-request for a response body that cannot be read', () => {
  const deep = '['.repeat(1001) + ']'.repeat(1001);
  const secret = 'canary-7f3a';

  /** Runs test-request for a response with this body, and returns its output as text and as JSON. */
  async function previews(body: string | Buffer, more = '', status = 200) {
    const server = await httpServer((_request, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    const node = `type: http, id: a, url: "${server.origin}", auth: { type: bearer, credential: c }${more}`;
    const { automate } = await workplace({ 'flow.yaml': `nodes: [{ ${node} }]` });
    const env = { AUTOMATE_CREDENTIAL_C: secret };
    const shown = await automate(['test-request', 'flow.yaml'], { env });
    const printed = await automate(['test-request', 'flow.yaml', '--json'], { env });
    return { shown, printed: JSON.parse(printed.stdout) };
  }

  test.each<[string, string | Buffer, string, string]>([
    ['not JSON', `{"a": "${secret}`, 'the body is not valid JSON', '{"a": "***'],
    ['not UTF-8', Buffer.from('{"a":"é"}', 'latin1'), 'the body is not valid utf-8 (9 bytes of application/json)', '{"a":"\ufffd"}'],
    ['nested too deeply', deep, 'the body is nested more than 1000 deep', deep],
  ])('shows the body as text if it is %s', async (_name, body, reason, text) => {
    const { shown, printed } = await previews(body, ', map: { b: b }');
    const start = text.length > 200 ? `${text.slice(0, 200)}...` : text;
    expect(shown.stdout.endsWith(`\n\n${reason}; as text:\n  ${start}\n`)).toBe(true);
    expect(printed).toMatchObject({ response: { body: text, unread: reason }, structure: [], map: null, failure: { class: 'parse' } });
    expect(shown.code).toBe(4);
  });

  test('succeeds if the flow does not use the body', async () => {
    const { shown, printed } = await previews('{"a":');
    expect(shown.stdout).toMatch(/\nthe body is not valid JSON; as text:\n {2}\{"a":\n\nwithout map, no field is added\n$/);
    expect([shown.code, printed.failure]).toEqual([0, null]);
  });

  test('reports the error status rather than the unreadable body', async () => {
    const { shown, printed } = await previews('{"a":', ', map: { b: b }', 404);
    expect(shown.stderr).toContain('failed: a: http: the server answered 404: {"a":\n');
    expect(printed).toMatchObject({ response: { body: '{"a":' }, failure: { class: 'http', status: 404 } });
  });
});

describe('the record that test-request uses', () => {
  test('is the first record, or the one in --record, with the fields in --set', async () => {
    const { automate, server } = await preview((origin) => `nodes: [{ type: http, url: "${origin}/{{id}}/{{city}}" }]`);
    await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '2']);
    await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '2', '--set', 'city=a=b c']);
    await automate(['test-request', 'flow.yaml', '--set', 'id=7', '--set', 'city=']);
    await automate(['test-request', 'flow.yaml', '--in', '-', '--in-format', 'ndjson'], { stdin: '{"id":8,"city":"x"}\n' });
    expect(server.requests.map(({ path }) => path)).toEqual(['/1/Oslo', '/2/Rome', '/2/a%3Db%20c', '/7/', '/8/x']);
  });

  test('is refused if --record is greater than the number of records', async () => {
    const { automate } = await preview(people());
    const none = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '3']);
    expect(none).toMatchObject({
      code: 6,
      stdout: '',
      stderr: 'automate: rows.csv has no record 3, only 2 records (--record counts from 1)\n',
    });
  });

  test('is refused without a field that the flow uses, unless --set adds the field', async () => {
    const { automate, server } = await preview((origin) => `nodes: [{ type: http, url: "${origin}/{{ctiy}}" }]`);
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^flow\.yaml:1:\d+: no record has a field "ctiy" here; did you mean "city"\?\n/);
    expect(server.requests).toEqual([]);
    await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--set', 'ctiy=x']);
    expect(server.requests.map(({ path }) => path)).toEqual(['/x']);
  });

  test.each([
    ['rows.csv', ['--in', 'rows.csv']],
    ['<stdin>', ['--in', '-', '--in-format', 'csv']],
  ])('is reported with the name of its file if it cannot be read: %s', async (name, input) => {
    const { automate, write } = await preview(people());
    const ragged = 'id,city\n1,Oslo,x\n';
    await write('rows.csv', ragged);
    expect(await automate(['test-request', 'flow.yaml', ...input], { stdin: ragged })).toMatchObject({
      code: 6,
      stdout: '',
      stderr: `automate: ${name}: line 2: expected 2 cells, found 3 (extra: "x")\n`,
    });
  });

  test('can get a missing field from --set, as the message suggests', async () => {
    const { automate, server } = await preview(people());
    const { code, stderr } = await automate(['test-request', 'flow.yaml']);
    expect(code).toBe(3);
    expect(stderr).toContain('the record has no field "id"');
    expect(stderr).toContain('--set field=value');
    expect(server.requests).toEqual([]);
  });
});

/** More elements than a function can accept as arguments. */
const many = 150_000;

test('test-request can show a response with 150,000 paths, of which it lists 500', async () => {
  const users = Object.fromEntries(Array.from({ length: many }, (_, id) => [`u${id}`, id]));
  const { automate } = await preview(people(), () => ({ body: { users } }));
  const { code, stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
  expect([code, stdout.match(/^users\.u\d+ /gm)?.length]).toEqual([0, 499]);
  expect(stdout).toContain('\nand 149,501 more paths; --json prints the whole body\n');
});

describe('the node that test-request runs', () => {
  test('gets the first of 150,000 records from an earlier node', async () => {
    const { automate, server } = await preview(
      (origin) => `nodes:
  - { type: http, url: "${origin}/list", paginate: { type: next_url, path: next }, map: { id: "items[]" } }
  - { id: second, type: http, url: "${origin}/items/{{id}}" }`,
      ({ path }) => ({ body: path === '/list' ? { items: Array.from({ length: many }, (_, id) => id), next: null } : {} }),
    );
    await automate(['credits', 'limit', '100']);
    const { code, stderr } = await automate(['test-request', 'flow.yaml', '--node', 'second']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 credits spent')]);
    expect(server.requests.map(({ path }) => path)).toEqual(['/list', '/items/0']);
  });

  const two = (origin: string) => `nodes:
  - { id: first, type: http, url: "${origin}/first/{{id}}", map: { city: data.user.address.city } }
  - { type: set, fields: { place: "{{city}}!" } }
  - { id: second, type: http, url: "${origin}/second/{{place}}" }`;

  test('is the first node that sends a request, or the one in --node', async () => {
    const { automate, server } = await preview(two);
    await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    await automate(['credits', 'limit', '100']);
    const { stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--node', 'second']);
    expect(server.requests.map(({ path }) => path)).toEqual(['/first/1', '/first/1', '/second/Oslo!']);
    expect(stderr).toBe('running node "first" first\n2 credits spent\n');
  });

  test('runs after earlier nodes, which spend credits even if its own request cannot be built', async () => {
    const { automate } = await preview((origin) => `${two(origin)}\n  - { id: third, type: http, url: "${origin}/third/{{nobody}}" }`);
    await automate(['credits', 'limit', '100']);
    const { code, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--node', 'third']);
    expect(code).toBe(3);
    expect(stderr).toContain(' first\n2 credits spent\nautomate: the record has no field "nobody"');
  });

  test('gets only the first of the records from earlier nodes', async () => {
    const many = (origin: string) => `nodes:
  - { id: list, type: http, url: "${origin}/list", map: { n: "items[].n" } }
  - { id: pages, type: http, url: "${origin}/pages/{{n}}", paginate: { type: page, items: items, max: 1 }, on_error: keep, map: { m: "items[].n" } }
  - { id: one, type: http, url: "${origin}/one/{{n}}" }
  - { id: last, type: http, url: "${origin}/last/{{n}}" }`;
    const { automate, server } = await preview(many, () => ({ body: { items: [{ n: 1 }, { n: 2 }, { n: 3 }] } }));
    await automate(['credits', 'limit', '100']);
    const { stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--node', 'last']);
    expect(server.requests.map(({ path }) => path)).toEqual(['/list', '/pages/1?page=1', '/one/1', '/last/1']);
    expect(stderr).toContain('4 credits spent\n');
  });

  test('is not reached if an earlier node fails', async () => {
    const { automate } = await preview(two, () => ({ status: 404 }));
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--node', 'second']);
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toContain('failed: first: http: the server answered 404\n');
  });

  test('is tried even if a run would skip it, with a note that says so', async () => {
    const { automate } = await preview(people(`, when: "id == '2'"`));
    const { stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
    expect(stderr).toContain('a run skips profile for this record, because its `when` is false');
  });

  test('is reported as skipped by a run, even if its request cannot be built', async () => {
    const { automate } = await preview(people(', when: has(id)'));
    const { code, stderr } = await automate(['test-request', 'flow.yaml']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^a run skips profile for this record, because its `when` is false\nautomate: the record has no field "id"\n/);
  });

  test.each([
    ['sceond', 'no node "sceond" sends a request; did you mean "second"?'],
    ['set-2', 'no node "set-2" sends a request; expected first, second'],
  ])('cannot be specified with --node %s', async (node, message) => {
    const { automate } = await preview(two);
    expect(await automate(['test-request', 'flow.yaml', '--node', node])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `automate: ${message}\n`,
    });
  });

  test('must exist: a flow that sends no request is refused with exit code 2', async () => {
    const { automate } = await preview(() => 'nodes: [{ type: set, fields: { a: b } }]');
    expect((await automate(['test-request', 'flow.yaml'])).code).toBe(2);
  });
});

describe('automate test-request --json', () => {
  test('prints one JSON value to stdout, and nothing else', async () => {
    const { automate } = await preview(people(', map: ["results[].value"]'));
    const { stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json']);
    expect(stdout).toContain('12345678901234567890');
    expect(JSON.parse(stdout)).toMatchObject({
      request: { method: 'GET', url: expect.stringMatching(/\/users\/1$/), headers: {}, auth: null, body: null },
      response: { status: 200, ms: expect.any(Number), headers: { 'x-request-id': 'r1' }, body: { data: { user: { name: 'Ada' } } } },
      map: [{ 'results[].value': 1 }, { 'results[].value': 'two' }],
      failure: null,
    });
    expect(JSON.parse(stdout).structure).toContainEqual({ path: 'ok', type: 'boolean', sample: 'true' });
  });

  test('has the facts of an answer, also if the map reads none of them', async () => {
    const { automate, server } = await preview(people());
    const { response } = JSON.parse((await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json'])).stdout);
    const facts = { url: `${server.origin}/users/1`, at: expect.stringMatching(/Z$/), ms: expect.any(Number), attempts: 1, cached: false };
    expect(response.facts).toEqual(facts);
  });

  test('prints JSON even if the request fails or is not sent', async () => {
    const { automate } = await preview(people(), () => ({ status: 500, body: 'oops' }));
    const failed = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json']);
    expect(failed.code).toBe(4);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      map: null,
      failure: { node: 'profile', class: 'http', status: 500, message: 'the server answered 500: oops' },
    });
    const unsent = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json', '--no-send', '--curl']);
    expect(JSON.parse(unsent.stdout)).toMatchObject({
      curl: expect.stringMatching(/^curl http/),
      response: null,
      structure: null,
      map: null,
      failure: null,
    });
  });
});

describe('automate test-request --curl', () => {
  const secret = `canary:$HOME "7f3a" 'é' \\ %41+&=`;

  /** Sends a request with automate and with the curl command that it prints. Returns both requests as the server received them. */
  async function both(node: string, record: object = {}, connection = '') {
    const { automate, write, place, server } = await preview(
      (origin) => `${connection.replace('ORIGIN', origin)}nodes: [{ type: http, ${node.replace('ORIGIN', origin)} }]`,
    );
    await write('rows.ndjson', JSON.stringify(record));
    const env = { AUTOMATE_CREDENTIAL_C: secret };
    const args = ['test-request', 'flow.yaml', '--in', 'rows.ndjson'];
    const { code, stdout } = await automate([...args, '--curl']);
    expect([code, stdout.split('\n').length, server.requests.length]).toEqual([0, 2, 0]);
    await automate(args, { env });
    await shell(place, stdout, env);
    return server.requests.map(({ headers, ...request }) => {
      const { 'user-agent': _agent, 'accept-encoding': _encoding, connection: _connection, 'content-length': _length, ...others } = headers;
      // A space can be encoded as `+` or as `%20`, so the decoded paths are compared.
      return { ...request, path: decodeURIComponent(request.path.replaceAll('+', ' ')), headers: others };
    });
  }

  test.skipIf(!hasCurl).each([
    ['a GET', 'url: "ORIGIN/a/{{id}}?q={{q}}&filter[x]={1}", headers: { X-Note: "it\'s {{q}}", X-Empty: "{{empty}}" }'],
    ['a POST', 'method: POST, url: "ORIGIN/{{id}}", body: { q: "{{q}}", all: "{{odd}}" }'],
    ['a POST without a body', 'method: POST, url: "ORIGIN/{{id}}"'],
    ['a DELETE', 'method: DELETE, url: "ORIGIN/{{id}}$HOME"'],
    ['a bearer token', 'url: "ORIGIN/", auth: { type: bearer, credential: c }'],
    ['a key in a header', 'url: "ORIGIN/", auth: { type: api_key, header: X-Key, credential: c }'],
    ['a key in the query', 'url: "ORIGIN/?a=b", auth: { type: api_key, query: api key, credential: c }'],
    ['a key in the query of a POST', 'method: POST, url: "ORIGIN/", body: { a: 1 }, auth: { type: api_key, query: key, credential: c }'],
    ['a password', 'url: "ORIGIN/", auth: { type: basic, username: "$USER `id`", credential: c }'],
    ['a user and a password', 'url: "ORIGIN/", auth: { type: basic, credential: c }'],
  ])(`prints a curl command that sends the same request: %s${unlessCurl}`, async (_name, node) => {
    const [ours, curls] = await both(node, { id: "o'neil $HOME/..", q: '`"\\!', empty: '', odd: naughtyTexts.slice(0, -1) });
    if (curls?.method === 'POST' && curls.body === '') delete curls.headers['content-type'];
    expect(curls).toEqual(ours);
  });
});

describe('automate test-request --curl for a later node', () => {
  const two = (origin: string) => `nodes:
  - { type: http, url: "${origin}/a", map: { token: token } }
  - { id: second, type: http, url: "${origin}/b/{{token}}" }
`;

  test('requires the fields that earlier nodes would add', async () => {
    const { automate, server } = await preview(two);
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--node', 'second', '--set', 'id=1', '--curl']);
    expect([code, stdout, server.requests]).toEqual([2, '', []]);
    expect(stderr).toBe(
      'automate: the record has no field "token"\n  nothing is sent, so the earlier node "http-1" adds no fields; set them with --set field=value\n',
    );
    const set = await automate(['test-request', 'flow.yaml', '--node', 'second', '--set', 'token=7', '--curl']);
    expect(set).toEqual({ code: 0, stdout: `curl ${server.origin}/b/7\n`, stderr: '' });
  });
});

test('test-request --curl says on stderr that the printed command needs an access token', async () => {
  const { automate, server } = await preview(
    people(`, auth: { type: oauth2_client_credentials, token_url: "http://127.0.0.1:1/t", client_id: me, credential: c }`),
  );
  const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--curl']);
  expect([code, server.requests]).toEqual([0, []]);
  expect(stdout).toBe(`curl -H "Authorization: Bearer $ACCESS_TOKEN" ${server.origin}/users/1\n`);
  expect(stderr).toBe('curl does not request an access token: set ACCESS_TOKEN to one\n');
});

describe('automate test-request --no-send', () => {
  test('sends nothing and needs no credential', async () => {
    const { automate, server } = await preview(
      people(', auth: { type: api_key, query: key, credential: missing }, headers: { A: "{{id}}" }'),
    );
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--no-send']);
    expect(stdout).toBe(`GET ${server.origin}/users/1?key=***\nA: 1\n`);
    expect([code, stderr]).toEqual([0, '']);
    expect(server.requests).toEqual([]);
  });
});

test('test-request masks a secret that the response contains', async () => {
  const { automate } = await preview(people(', auth: { type: bearer, credential: c }, map: [token]'), ({ headers }) => ({
    body: { token: headers.authorization ?? '' },
  }));
  for (const options of [[], ['--json']]) {
    const { stdout, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', ...options], {
      env: { AUTOMATE_CREDENTIAL_C: 'canary-7f3a' },
    });
    expect(stdout).toContain('***');
    expect(stdout + stderr).not.toContain('canary-7f3a');
  }
});

test.each(['48151623', 'null', 'dy":', '"status'])('test-request --json prints valid JSON even if the secret is %s', async (secret) => {
  const { automate } = await preview(people(', auth: { type: bearer, credential: c }, map: { n: n }'), () => ({
    body: `{"n":48151623,"text":"a ${JSON.stringify(secret).slice(1, -1)}","exact":1.50}`,
    headers: { 'content-type': 'application/json' },
  }));
  const { code, stdout } = await automate(['test-request', 'flow.yaml', '--set', 'id=1', '--json'], {
    env: { AUTOMATE_CREDENTIAL_C: secret },
  });
  const n = secret === '48151623' ? '***' : 48151623;
  expect(JSON.parse(stdout)).toMatchObject({ response: { body: { n, text: 'a ***' } }, map: [{ n }] });
  expect(stdout).toContain('"exact":1.50');
  expect(code).toBe(0);
});

test('test-request reports a missing credential before it sends anything', async () => {
  const { automate, server } = await preview(people(', auth: { type: bearer, credential: crm }'));
  const { code, stderr } = await automate(['test-request', 'flow.yaml', '--set', 'id=1']);
  expect(code).toBe(7);
  expect(stderr).toContain('AUTOMATE_CREDENTIAL_CRM');
  expect(server.requests).toEqual([]);
});

test('test-request exits with 5, and sends nothing, if the credits do not suffice for earlier nodes', async () => {
  const { automate, server } = await preview(
    (origin) => `nodes:
  - { id: make, type: http, url: "${origin}/make/{{id}}", map: { job: data.user.name } }
  - { id: ask, type: http, url: "${origin}/ask/{{job}}" }
`,
  );
  expect((await automate(['credits', 'limit', '0'])).code).toBe(0);
  const { code, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--node', 'ask', '--allow-http']);
  expect([code, server.requests.length]).toEqual([5, 0]);
  expect(stderr).toMatch(/credit/);
  expect(stderr).not.toContain('bug');
});
