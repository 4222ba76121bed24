import { get } from 'node:http';
import { describe, expect, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

const upstream = () => httpServer(({ path }, response) => json(response, { name: `n${path}` }));

describe("a server's list of flows", () => {
  test('contains the nodes, fields and credits of each flow that the key is allowed to use', async () => {
    const { origin } = await upstream();
    const { key, send } = await serving({ one: askingFlow(origin), two: askingFlow(origin), wrong: 'nodes: [{ type: htp }]' });
    const all = (await (await send('/v1/flows', { key: key() })).json()) as { flows: { id: string; state: string; problems: unknown }[] };
    expect(all.flows.map(({ id, state }) => [id, state])).toEqual([
      ['one', 'valid'],
      ['two', 'valid'],
      ['wrong', 'invalid'],
    ]);
    expect(all.flows[0]).toMatchObject({
      name: 'one',
      nodes: [{ id: 'ask', type: 'http', connection: null }],
      fields: ['id'],
      adds: ['name'],
      credits_per_record: { least: 1, most: 1 },
    });
    expect(all.flows[2]?.problems).toEqual([{ line: 1, column: 17, message: expect.stringContaining('no node type "htp"') }]);
    const limited = key({ name: 'limited', flows: ['two'] });
    expect(((await (await send('/v1/flows', { key: limited })).json()) as { flows: unknown[] }).flows).toHaveLength(1);
    expect((await send('/v1/flows/one', { key: limited })).status).toBe(404);
    expect((await send('/v1/flows/two', { key: limited })).status).toBe(200);
  });

  test('lists fields that conditions read as required fields', async () => {
    const flow =
      'nodes: [{ type: set, fields: { b: "1" }, when: \'plan == "pro"\' }, { type: set, fields: { c: "1" }, when: \'b == "1"\' }]';
    const { key, send } = await serving({ f: flow });
    expect(await (await send('/v1/flows/f', { key: key() })).json()).toMatchObject({ fields: ['plan'] });
  });

  test('is read from disk for each request', async () => {
    const { origin } = await upstream();
    const { key, send, place } = await serving({ one: askingFlow(origin) });
    const first = key();
    await place.write('flows/new.yml', askingFlow(origin));
    expect((await send('/v1/flows/new', { key: first })).status).toBe(200);
    await place.write('flows/new.yml', 'nodes: 7');
    expect(await (await send('/v1/flows/new', { key: first })).json()).toMatchObject({ state: 'invalid' });
    const answer = await send('/v1/flows/new/calls', { key: first, ...posting({ id: 1 }) });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ type: '/problems/flow-invalid', errors: [{ line: 1 }] });
  });
});

describe('a call to a flow', () => {
  test('returns the rows of one record, with all digits of numbers', async () => {
    const { origin, requests } = await upstream();
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const answer = await send('/v1/flows/ask/calls', { key: key(), ...posting('{"b": 1.10, "7": 12345678901234567890, "id": 3}') });
    expect(await answer.text()).toBe('{"records":[{"b":1.10,"7":12345678901234567890,"id":3,"name":"n/3"}],"credits":1}');
    expect(answer.status).toBe(200);
    expect(requests).toHaveLength(1);
  });

  test('can begin with a byte order mark', async () => {
    const { origin } = await upstream();
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const answer = await send('/v1/flows/ask/calls', { key: key(), ...posting('\ufeff{"b": 1, "7": 2, "id": 3}') });
    expect([answer.status, await answer.text()]).toEqual([200, '{"records":[{"b":1,"7":2,"id":3,"name":"n/3"}],"credits":1}']);
  });

  test('reuses the HTTP connection of earlier calls', async () => {
    const server = await upstream();
    const { key, send } = await serving({ ask: askingFlow(server.origin) });
    const one = key();
    for (let id = 0; id < 20; id++) expect((await send('/v1/flows/ask/calls', { key: one, ...posting({ id }) })).status).toBe(200);
    expect(server.connections()).toBe(1);
  });

  test('gets a 422 with the failure if its record fails, and is charged', async () => {
    const { origin } = await httpServer((_request, response) => response.writeHead(404).end('no such person'));
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const answer = await send('/v1/flows/ask/calls', { key: key(), ...posting({ id: 1 }) });
    expect(answer.status).toBe(422);
    expect(answer.headers.get('content-type')).toMatch('application/problem+json');
    const problem = await answer.json();
    expect(problem).toMatchObject({
      type: '/problems/record-failed',
      instance: `/requests/${answer.headers.get('x-request-id')}`,
      credits: 1,
      error: { node: 'ask', class: 'http', status: 404, attempts: 1, message: expect.stringContaining('404') },
    });
  });

  test("gets a 504 if the client's maximum wait is over, and a repeated call sends nothing", async () => {
    const { origin, requests } = await httpServer((_request, response) => void response.on('close', () => undefined));
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const one = key();
    const call = () => send('/v1/flows/ask/calls', { key: one, ...posting({ id: 1 }, { prefer: 'wait=1', 'idempotency-key': 'k1' }) });
    const [first, second] = [await call(), await call()];
    expect([first.status, second.status]).toEqual([504, 504]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await second.text()).toBe(await first.text());
    expect(requests).toHaveLength(1);
  });

  test('is executed only once if it is repeated with the same idempotency key', async () => {
    const { origin, requests } = await upstream();
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const one = key();
    const call = (id: number, name = 'k1') => send('/v1/flows/ask/calls', { key: one, ...posting({ id }, { 'idempotency-key': name }) });
    const [first, second, other, wrong] = [await call(1), await call(1), await call(2), await call(1, 'with space')];
    expect([first, second, other, wrong].map(({ status }) => status)).toEqual([200, 200, 422, 400]);
    expect(await second.text()).toBe(await first.text());
    expect(await other.json()).toMatchObject({ type: '/problems/idempotency-key-reused' });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['not JSON', '{', 400],
    ['a list', '[{"id": 1}]', 400],
    ['empty', '', 400],
    ['sent with an invalid wait preference', '{"id": 1}', 400, { prefer: 'wait=61' }],
    ['of an unsupported type', 'id\n1\n', 415, { 'content-type': 'text/csv' }],
    ['larger than a megabyte', `{"id": "${'x'.repeat(1024 * 1024)}"}`, 413],
  ])('is refused before anything is sent if its body is %s', async (_, body, status, headers: Record<string, string> = {}) => {
    const { origin, requests } = await upstream();
    const { key, send } = await serving({ ask: askingFlow(origin) });
    expect((await send('/v1/flows/ask/calls', { key: key(), ...posting(body, headers) })).status).toBe(status);
    expect(requests).toHaveLength(0);
  });

  test("gets a 503 that names the credential if the flow's credential does not exist", async () => {
    const { origin } = await upstream();
    const flow = askingFlow(origin, ', auth: { type: bearer, credential: crm-key }');
    const { key, send } = await serving({ ask: flow });
    const answer = await send('/v1/flows/ask/calls', { key: key(), ...posting({ id: 1 }) });
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
    expect(await answer.json()).toMatchObject({ type: '/problems/credential-missing', credential: 'crm-key' });
  });
});

describe('calls to a flow with serial_by', () => {
  const flow = (origin: string, more = '') => `serial_by: email
open_vars: [team]
vars: { team: a }
nodes:
  - { type: http, url: "${origin}/find/{{email}}/{{vars.team}}", map: { name: name } }
  - { type: http, url: "${origin}/create/{{email}}/{{vars.team}}", map: { name: name } }${more}
`;

  /** Starts an upstream that answers the first request only when `release` is called. */
  async function held() {
    let release: (() => void) | undefined;
    let begin: (() => void) | undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { origin, requests } = await httpServer(async ({ path }, response) => {
      if (requests.length === 1) {
        begin?.();
        await released;
      }
      json(response, { name: path });
    });
    return { origin, first, release: () => release?.(), paths: () => requests.map(({ path }) => path) };
  }

  test('go one after another if the value is the same, even with other variables and keys', async () => {
    const { origin, release, first, paths } = await held();
    const { key, send } = await serving({ one: flow(origin) });
    const keys = [key(), key({ name: 'other' })] as const;
    const call = (email: string, team: string, by: 0 | 1 = 0) =>
      send(`/v1/flows/one/calls?var.team=${team}`, { key: keys[by], ...posting({ email }) });
    const one = call('a', 'a');
    await first;
    const two = call('a', 'b', 1);
    const gone = new AbortController();
    const three = send('/v1/flows/one/calls', { key: keys[0], ...posting({ email: 'a' }), signal: gone.signal }).catch(() => undefined);
    expect((await call('c', 'a')).status).toBe(200);
    gone.abort();
    await three;
    expect((await call('', 'x')).status).toBe(200);
    release();
    expect([(await one).status, (await two).status, (await call('a', 'd')).status]).toEqual([200, 200, 200]);
    expect(paths().filter((path) => path.includes('/a/'))).toEqual([
      ...['/find/a/a', '/create/a/a', '/find/a/b', '/create/a/b', '/find/a/d', '/create/a/d'],
    ]);
  });
});

describe('an HTTP request to the server', () => {
  test('needs an API key in exactly one header', async () => {
    const { key, send } = await serving({ ask: askingFlow('http://127.0.0.1:9') });
    const one = key();
    const statuses = await Promise.all(
      [
        send('/v1/flows'),
        send('/v1/flows', { key: 'amk_wrong' }),
        send('/v1/flows', { key: one, headers: { 'x-api-key': one } }),
        send(`/v1/flows?key=${one}`, { key: one }),
        send('/v1/flows', { headers: { 'x-api-key': one } }),
      ].map(async (answer) => [(await answer).status, ((await (await answer).json()) as { type?: string }).type]),
    );
    expect(statuses).toEqual([
      [401, '/problems/key-missing'],
      [401, '/problems/key-invalid'],
      [400, '/problems/bad-request'],
      [400, '/problems/key-in-query'],
      [200, undefined],
    ]);
  });

  test("needs a key whose scopes include the route's scope", async () => {
    const { key, send } = await serving({ ask: askingFlow('http://127.0.0.1:9') });
    const reader = key({ scopes: ['read'] });
    const answer = await send('/v1/flows/ask/calls', { key: reader, ...posting({ id: 1 }) });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ type: '/problems/scope-missing', scope: 'run' });
    expect((await send('/v1/runs', { key: reader })).status).toBe(200);
  });

  test('gets a response with a request id, the rate limit and a header that forbids caching', async () => {
    const { key, send } = await serving({ ask: askingFlow('http://127.0.0.1:9') });
    const one = key({ rate: '2/min' });
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await send('/v1/flows', { key: one, headers: { 'x-request-id': `mine-${i}` } }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Object.fromEntries((answers[1] as Response).headers)).toMatchObject({
      'x-request-id': 'mine-1',
      'cache-control': 'no-store',
      'ratelimit-policy': '"key";q=2;w=60',
      ratelimit: expect.stringMatching(/^"key";r=0;t=\d+$/),
    });
    expect((answers[2] as Response).headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('gets a 405 with the supported methods if its method is not supported', async () => {
    const { key, send } = await serving({});
    const answer = await send('/v1/flows', { key: key(), method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await send('/v1/flows', { key: key({ name: 'b' }), method: 'HEAD' })).status).toBe(200);
  });

  test("needs a Host header with the server's name", async () => {
    const { address, send } = await serving({}, { args: ['--allow-host', 'flows.example'] });
    const { port } = new URL(address);
    const statusOf = (host: string) =>
      new Promise<number | undefined>((resolve) =>
        get(`${address}/healthz`, { headers: { host } }, (answer) => resolve(answer.resume().statusCode)),
      );
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `localhost:${port}`,
      `[::1]:${port}`,
      'FLOWS.example',
      `flows.example:99`,
    ];
    expect(await Promise.all(hosts.map(statusOf))).toEqual([421, 421, 421, 200, 200, 200, 200]);
    expect(await (await send('/readyz')).json()).toEqual({ status: 'ok' });
  });
});

test("the server's OpenAPI 3.1 description contains exactly the routes of /v1", async () => {
  const { key, send } = await serving({});
  const api = (await (await send('/v1/openapi.json', { key: key() })).json()) as {
    openapi: string;
    paths: Record<string, object>;
    components: { responses: object };
  };
  expect(api.openapi).toBe('3.1.0');
  expect(Object.keys(api.paths).every((path) => path.startsWith('/v1/'))).toBe(true);
  expect(Object.keys(api.paths)).toEqual(
    expect.arrayContaining(['/v1/flows', '/v1/flows/{flow}/calls', '/v1/flows/{flow}/runs', '/v1/runs/{id}/events', '/v1/usage']),
  );
  expect(JSON.stringify(api.paths['/v1/runs'])).toContain('next_cursor');
  const operation = (path: string, method: string) =>
    (api.paths[path] as Record<string, { requestBody?: { content: object }; parameters?: { name: string; in: string }[] }>)[method];
  const headersOf = (path: string, method: string) =>
    operation(path, method)?.parameters?.flatMap(({ in: place, name }) => (place === 'header' ? [name] : []));
  for (const kind of ['runs', 'plans'])
    expect(Object.keys(operation(`/v1/flows/{flow}/${kind}`, 'post')?.requestBody?.content ?? {})).toEqual([
      ...['text/csv', 'text/tab-separated-values', 'application/json', 'application/x-ndjson', 'application/jsonl'],
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ]);
  expect(headersOf('/v1/flows/{flow}/runs', 'post')).toEqual(['Idempotency-Key', 'Prefer', 'Content-Encoding']);
  expect(headersOf('/v1/flows/{flow}/calls', 'post')).toEqual(['Idempotency-Key', 'Prefer']);
  expect(headersOf('/v1/runs/{id}/events', 'get')).toEqual(['Last-Event-ID']);
  const problem = { $ref: '#/components/responses/Problem' };
  for (const path of Object.values(api.paths))
    for (const { responses } of Object.values(path) as { responses: object }[])
      expect(responses).toMatchObject({ '4XX': problem, '5XX': problem });
  expect(api.components.responses).toMatchObject({ Problem: { content: { 'application/problem+json': {} } } });
});
