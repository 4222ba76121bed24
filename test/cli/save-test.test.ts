import { mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import type { SeenRequest } from '../helpers/http-server.ts';

/** Prepares `test-request --save-test` with a server that sends these responses. */
async function saved(
  nodes: (origin: string) => string,
  answer: (request: SeenRequest, index: number) => ServerAnswer,
  files: Readonly<Record<string, string>> = {},
) {
  const server = await answeringServer(answer);
  const place = await workplace({ 'flow.yaml': `nodes:\n${nodes(server.origin)}\n`, 'rows.csv': 'id\n1\n2\n', ...files });
  const run = (name: string, ...more: string[]) =>
    place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--save-test', name, ...more]);
  return { server, place, run };
}

/** Returns the flow tests in a file, and the result of running them. */
async function testsIn(place: Workplace) {
  const ran = await place.automate(['test']);
  return { ...(parse(await place.read('flow.test.yaml')) as { flow: string; tests: object[] }), code: ran.code, stdout: ran.stdout };
}

const user = (origin: string) => `  - { id: user, type: http, url: "${origin}/users/{{id}}", map: { name: data.name } }`;

describe('automate test-request --save-test', () => {
  test('saves a passing test that contains the response and the rows of the record', async () => {
    const { server, place, run } = await saved(user, () => ({ body: { data: { name: 'Ada' } } }));
    const { code, stdout, stderr } = await run('a customer who exists', '--record', '2');
    expect([code, stdout]).toEqual([0, expect.stringContaining(`GET ${server.origin}/users/2\n`)]);
    expect(stderr).toBe(
      '1 request sent, 1 credit spent\nwrote the test "a customer who exists" with 1 answer and 1 row into flow.test.yaml\n  automate test flow.test.yaml\n',
    );
    expect(server.requests).toHaveLength(1);
    expect(await testsIn(place)).toEqual({
      flow: 'flow.yaml',
      tests: [
        {
          name: 'a customer who exists',
          record: { id: '2' },
          answers: [{ request: `GET ${server.origin}/users/2`, body: { data: { name: 'Ada' } } }],
          rows: [{ name: 'Ada' }],
        },
      ],
      code: 0,
      stdout: 'ok    flow.test.yaml: 1 test\n1 passed, 0 failed\n',
    });
  });

  test('shows the facts of the real answer, and saves those that the test gives', async () => {
    const facts = (origin: string) => `  - { type: http, url: "${origin}/{{id}}", map: { at: $at, ms: $ms, n: $attempts } }
  - { type: http, url: "${origin}/b", map: { at_b: $at, ms_b: $ms } }`;
    const { place, run } = await saved(facts, () => ({ body: {} }));
    const beforeMs = Date.now();
    const { code, stdout } = await run('facts', '--json');
    const [{ at, ms }] = JSON.parse(stdout).map;
    expect([code, ms >= 0 && ms < 10_000]).toEqual([0, true]);
    expect(Date.parse(at)).toBeGreaterThanOrEqual(beforeMs - 1000);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now() + 1000);
    const { tests, code: tested } = await testsIn(place);
    const start = '2026-01-01T00:00:00.000Z';
    expect([tested, tests]).toEqual([0, [expect.objectContaining({ rows: [{ at: start, ms: 0, n: 1, at_b: start, ms_b: 0 }] })]]);
  });

  test('sends the requests of all nodes once, and says what they cost', async () => {
    const two = (origin: string) =>
      `${user(origin)}\n  - { id: more, type: http, url: "${origin}/names/{{name}}", credits: 4, map: { age: age } }`;
    const { server, place, run } = await saved(two, ({ path }) => ({
      body: path.startsWith('/users') ? { data: { name: 'Ada' } } : { age: 36 },
    }));
    expect((await run('both')).stderr).toContain('2 requests sent, 5 credits spent\n');
    expect(server.requests.map(({ path }) => path)).toEqual(['/users/1', '/names/Ada']);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [{ name: 'Ada', age: 36 }] }] });
  });

  test('saves every page of a response with several pages', async () => {
    const pages = (origin: string) =>
      `  - { type: http, url: "${origin}/list", paginate: { type: cursor, path: next, param: after }, map: { x: "data[].x" } }`;
    const { place, run } = await saved(pages, (_, index) => ({ body: { data: [{ x: index }], next: index === 0 ? 'b' : null } }));
    expect((await run('pages')).code).toBe(0);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [{ x: 0 }, { x: 1 }] }] });
  });

  test('saves the characters of a response in another charset, and reads them again', async () => {
    const names = (origin: string) => `  - { type: http, url: "${origin}/", map: { name: "[0].name" } }`;
    const body = Buffer.from('name\nM\xfcller 5 \x80\n', 'latin1');
    const { place, run } = await saved(names, () => ({ body, headers: { 'content-type': 'text/csv; charset=windows-1252' } }));
    expect((await run('umlauts')).code).toBe(0);
    const { code, tests } = await testsIn(place);
    expect([code, tests]).toMatchObject([0, [{ answers: [{ body: 'name\nMüller 5 €\n' }], rows: [{ name: 'Müller 5 €' }] }]]);
  });

  test('saves a test that expects the failure of the record, including its retries', async () => {
    const { place, run } = await saved(
      (origin) => user(origin).replace('map:', 'retry: { max: 1, backoff: 1ms }, map:'),
      () => ({ status: 503, headers: { 'x-other': '1' }, body: 'busy' }),
    );
    expect(await run('busy')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('with 2 answers and a failure into flow.test.yaml'),
    });
    const { code, tests } = await testsIn(place);
    expect([code, tests]).toMatchObject([
      0,
      [{ fails: { node: 'user', class: 'http', status: 503, message: 'the server answered 503: busy' } }],
    ]);
    expect(await place.read('flow.test.yaml')).not.toContain('x-other');
  });

  const retried = (origin: string) => user(origin).replace('map:', 'retry: { max: 1, backoff: 1ms }, map:');
  const onceBusy = (_: SeenRequest, index: number): ServerAnswer => (index === 0 ? { status: 503 } : { body: { data: { name: 'Ada' } } });

  test('exits with 0 if a retry succeeds, and shows the last response', async () => {
    const { server, place, run } = await saved(retried, onceBusy);
    const { code, stdout, stderr } = await run('once busy');
    expect([code, server.requests.length]).toEqual([0, 2]);
    expect(stderr).not.toContain('failed');
    expect(stderr).toMatch(/^user: the server answered 503; asks again after \d+ ms\n/);
    expect(stderr).toContain('2 requests sent, 1 credit spent\nwrote the test "once busy" with 2 answers and 1 row into flow.test.yaml\n');
    expect(stdout).toMatch(/\n200 in [\s\S]*\nmap yields\n {4}name {2}Ada\n/);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [{ name: 'Ada' }] }] });
  });

  test('exits with 0 if the flow keeps the record despite its failure', async () => {
    const { place, run } = await saved(
      (origin) => user(origin).replace('map:', 'on_error: keep, map:'),
      () => ({ status: 404 }),
    );
    const { code, stderr } = await run('kept');
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed:')]);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [{ _error: { status: 404 } }] }] });
  });

  test('sends nothing and exits with 0 if the node is skipped', async () => {
    const { server, place, run } = await saved(
      (origin) => user(origin).replace('map:', 'when: id == "9", map:'),
      () => ({}),
    );
    const { code, stdout, stderr } = await run('skipped');
    expect([code, stdout, server.requests]).toEqual([0, '\n'.slice(1), []]);
    expect(stderr).toContain('a run skips user for this record, because its `when` is false\n0 requests sent, 0 credits spent\n');
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [{ id: '1' }] }] });
  });

  test('saves `rows: []` and exits with 0 if the flow drops the record', async () => {
    const dropping = (origin: string) =>
      `${user(origin)}\n  - { type: filter, where: name == "Eve" }\n  - { id: more, type: http, url: "${origin}/more" }`;
    const { place, run } = await saved(dropping, () => ({ body: { data: { name: 'Ada' } } }));
    expect((await run('dropped', '--node', 'more')).code).toBe(0);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ rows: [] }] });
  });

  test('saves the failure and exits with 4 if the record fails before a later request', async () => {
    const lacking = (origin: string) => `${user(origin)}\n  - { id: more, type: http, url: "{{link}}" }`;
    const { place, run } = await saved(
      (origin) => lacking(origin).replace('map: {', 'map: { link: data.link,'),
      () => ({ body: { data: { name: 'Ada', link: 'nowhere' } } }),
    );
    const { code, stderr } = await run('lacking', '--node', 'more');
    expect([code, stderr]).toEqual([4, expect.stringContaining('failed: more: ')]);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ fails: { node: 'more', class: 'request' } }] });
  });

  test.each(['/a+b/', '/[/'])('expects the value %s as it is, although it looks like a pattern', async (name) => {
    const { place, run } = await saved(user, () => ({ body: { data: { name } } }));
    expect((await run('slashes')).code).toBe(0);
    expect((await testsIn(place)).code).toBe(0);
    await place.write('flow.test.yaml', (await place.read('flow.test.yaml')).replace(`name: ${name}`, 'name: aab'));
    expect((await testsIn(place)).code).toBe(1);
  });

  test('replaces the current time in requests with the fixed time of tests', async () => {
    const since = (origin: string) => `  - { type: set, fields: { at: { cel: string(now()) } } }
  - { id: a, type: http, method: POST, url: "${origin}/a?since={{at}}", body: { at: { cel: string(now()) } }, map: { x: x } }
  - { id: b, type: http, method: POST, url: "${origin}/a?since={{at}}", body: { at: { cel: string(now()) } }, map: { "y": x } }`;
    const { server, place, run } = await saved(since, (_, index) => ({ body: { x: index } }));
    expect((await run('since')).code).toBe(0);
    expect(server.requests).toHaveLength(2);
    expect(await testsIn(place)).toMatchObject({
      code: 0,
      tests: [{ answers: [{ request: expect.stringContaining('/a?since=2026-01-01') }, {}], rows: [{ x: 0, y: 1 }] }],
    });
  });

  test('adds to an existing flow.test.yml', async () => {
    const { place, run } = await saved(user, () => ({ body: { data: { name: 'Ada' } } }), {
      'flow.test.yml': 'flow: flow.yaml\r\ntests:\r\n  - { name: a, record: { id: "1" }, fails: {} }\r\n',
    });
    expect((await run('b')).stderr).toContain('into flow.test.yml\n  automate test flow.test.yml\n');
    expect(await place.files()).toEqual(['flow.test.yml', 'flow.yaml', 'rows.csv']);
    expect((await place.read('flow.test.yml')).replaceAll('\r\n', '')).not.toContain('\n');
  });
  test('saves a simulated network fault if the server is unreachable', async () => {
    const { place, run } = await saved(
      () => '  - { type: http, url: "http://127.0.0.1:1/x", retry: { max: 0 } }',
      () => ({}),
    );
    expect((await run('nobody there')).code).toBe(4);
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ answers: [{ fault: 'refused' }], fails: { class: 'network' } }] });
  });

  test('saves a mapped header, a text body, and all digits of numbers', async () => {
    const { place, run } = await saved(
      (origin) => `  - { type: http, url: "${origin}/{{id}}", map: { limit: $headers.x-limit, all: $body } }`,
      ({ path }) => ({
        headers: { 'x-limit': '7', 'content-type': path === '/1' ? 'text/plain' : 'application/json' },
        body: path === '/1' ? 'hi: "x"' : '[12345678901234567891, 1.50, "a"]',
      }),
    );
    await run('text');
    await run('digits', '--record', '2');
    const { code, tests } = await testsIn(place);
    expect([code, tests]).toMatchObject([0, [{ rows: [{ limit: '7', all: 'hi: "x"' }] }, { rows: [{ limit: '7' }] }]]);
    expect(await place.read('flow.test.yaml')).toContain('[12345678901234567891, 1.50, "a"]');
  });

  test("keeps a file's comments and tests when it adds a test", async () => {
    const before =
      '# tests of users\nflow: flow.yaml # the flow\ntests:\n  # the first\n  - name: first\n    record: { id: "9" }\n    fails: {} # no answer\n';
    const { place, run } = await saved(user, () => ({ body: { data: { name: 'Ada' } } }), { 'flow.test.yaml': before });
    expect((await run('second')).code).toBe(0);
    const text = await place.read('flow.test.yaml');
    expect(text.startsWith(before)).toBe(true);
    expect((await testsIn(place)).tests).toHaveLength(2);
  });

  test('saves no secret: secrets are masked in responses, and replaced by test-NAME in requests', async () => {
    const secret = 'canary-4711-secret';
    const signed = (origin: string) =>
      `  - { type: http, url: "${origin}/a", auth: { type: api_key, query: key, credential: crm }, map: { echo: echo } }`;
    const { server, place } = await saved(signed, () => ({ body: { echo: `your key is ${secret}` } }));
    const env = { AUTOMATE_CREDENTIAL_CRM: secret };
    const { code, stdout, stderr } = await place.automate(['test-request', 'flow.yaml', '--save-test', 'signed'], { env });
    expect([code, server.requests[0]?.path]).toEqual([0, `/a?key=${secret}`]);
    expect(stdout + stderr + (await place.read('flow.test.yaml'))).not.toContain(secret);
    expect(await testsIn(place)).toMatchObject({
      code: 0,
      tests: [
        {
          answers: [{ request: `GET ${server.origin}/a?key=test-crm`, body: { echo: 'your key is ***' } }],
          rows: [{ echo: 'your key is ***' }],
        },
      ],
    });
  });

  test('saves the variables and the environment of the test request', async () => {
    const flow = (origin: string) => `  - { type: http, url: "${origin}/{{vars.path}}" }\nvars: { path: { default: a, staging: b } }`;
    const { place, run } = await saved(flow, () => ({ body: {} }));
    await run('staging', '--env', 'staging');
    await run('given', '--var', 'path=c');
    expect(await testsIn(place)).toMatchObject({ code: 0, tests: [{ env: 'staging' }, { options: { var: { path: 'c' } } }] });
  });

  test('refuses a test file that cannot be written, before anything is sent', async () => {
    const { server, place, run } = await saved(user, () => ({}));
    await mkdir(place.path('flow.test.yaml'));
    expect(await run('a')).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('flow.test.yaml: the file of tests cannot be read: it is a folder'),
    });
    expect(server.requests).toEqual([]);
  });

  test('refuses a record that cannot be read, before anything is sent', async () => {
    const { server, place, run } = await saved(user, () => ({}), { 'rows.csv': 'id\n1,2,3\n' });
    expect(await run('a')).toEqual({ code: 6, stdout: '', stderr: expect.stringContaining('rows.csv: ') });
    expect([server.requests, await place.files()]).toEqual([[], ['flow.yaml', 'rows.csv']]);
  });

  test("prints a command that can be copied, and the test's name on one line", async () => {
    const { place, server } = await saved(user, () => ({ body: { data: { name: 'Ada' } } }));
    await place.write('my flow.yaml', `nodes:\n${user(server.origin)}\n`);
    const { stderr } = await place.automate(['test-request', 'my flow.yaml', '--set', 'id=1', '--save-test', 'a\n  b']);
    expect(stderr).toContain(`wrote the test "a b" with 1 answer and 1 row into my flow.test.yaml\n  automate test 'my flow.test.yaml'\n`);
  });

  test.each([
    [['--curl'], 'so leave out --curl'],
    [['--no-send'], 'so leave out --no-send'],
    [['--write', 'all'], 'so leave out --write'],
    [['--node', 'user'], 'the flow sends more requests after "user"'],
  ])('cannot be combined with %s', async (options, message) => {
    const { server, run } = await saved(
      (origin) => `${user(origin)}\n  - { id: b, type: http, url: "${origin}/b" }`,
      () => ({}),
    );
    const { code, stderr } = await run('a', ...options);
    expect([code, stderr, server.requests]).toEqual([2, expect.stringContaining(message), []]);
  });

  test.each([
    ['flow: flow.yaml\ntests:\n  - { name: a, record: {} }\n', 2, 'flow.test.yaml has a test "a" already'],
    ['flow: other.yaml\ntests:\n  - { name: b, record: {} }\n', 2, 'flow.test.yaml has the tests of a different flow, other.yaml'],
    ['flow: flow.yaml\ntest: []\n', 3, 'flow.test.yaml:2:1: unknown key "test"'],
  ])('leaves an unsuitable test file unchanged, and sends nothing: %j', async (text, code, message) => {
    const { server, place, run } = await saved(user, () => ({}), { 'flow.test.yaml': text });
    expect(await run('a')).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect([server.requests, await place.read('flow.test.yaml')]).toEqual([[], text]);
  });
});
