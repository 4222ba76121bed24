import { describe, expect, test } from 'vitest';
import { onOneLine, planFor } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - { type: http, ${more} }\n`;

/** The request that is sent for a record. */
async function sent(yaml: string, record: Record<string, unknown>, csv = false) {
  const { requests, failures } = await runFlow(yaml, [record], { csv });
  expect(failures).toEqual([]);
  expect(requests).toHaveLength(1);
  return requests[0] as (typeof requests)[0];
}

describe('what is sent', () => {
  test('a GET, by default with nothing else', async () => {
    const request = await sent(node('url: "https://api.example.com/users/{{id}}?q={{name}}"'), { id: 'a/b', name: 'Ann & Bob' });
    expect(request).toMatchObject({
      method: 'GET',
      url: 'https://api.example.com/users/a%2Fb?q=Ann%20%26%20Bob',
      headers: {},
      timeoutMs: 30_000,
      maxBodyBytes: 10_000_000,
      followAny: false,
    });
    expect(request.body).toBeUndefined();
    expect(request.auth).toBeUndefined();
    expect(request.hostFromData).toBeUndefined();
  });

  test.each(['POST', 'PUT', 'PATCH'])('%s with a body that is JSON', async (method) => {
    const request = await sent(node(`method: ${method}, url: "https://a.com", body: { id: "{{id}}", name: "Hi {{name}}" }`), {
      id: 7,
      name: '"Ann"',
    });
    expect(request).toMatchObject({ method, headers: { 'Content-Type': 'application/json' }, body: '{"id":7,"name":"Hi \\"Ann\\""}' });
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s without a body', async (method) => {
    const request = await sent(node(`method: ${method}, url: "https://a.com"`), {});
    expect(request.headers).toEqual({});
    expect(request.body).toBeUndefined();
  });

  test('a body as text: a CSV cell is a literal outside quotes', async () => {
    const body = '\'{"id": {{id}}, "ok": {{ok}}, "name": "{{name}}"}\'';
    expect((await sent(node(`method: POST, url: "https://a.com", body: ${body}`), { id: '42', ok: 'true', name: 'x"y' }, true)).body).toBe(
      '{"id": 42, "ok": true, "name": "x\\"y"}',
    );
  });

  test('a text from an answer or an expression is no CSV cell', async () => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, map: { note: note } }
  - { type: set, fields: { label: { cel: '"no " + id' }, copy: "{{id}}" } }
  - { type: http, method: POST, url: https://b.com, body: '[{{note}}, {{label}}, {{id}}, {{copy}}]' }
`;
    const { requests } = await runFlow(yaml, [{ id: '42' }], { csv: true, http: () => ({ body: { note: '7 up' } }) });
    expect(requests[1]?.body).toBe('["7 up", "no 42", 42, 42]');
  });

  test('nor is it one under another name, or copied', async () => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, map: { note: note, n: n } }
  - { type: set, rename: { note: text, n: m, id: no }, fields: { copy: "{{text}}", m: "{{no}}" } }
  - { type: http, method: POST, url: https://b.com, body: '[{{text}}, {{copy}}, {{no}}, {{m}}]' }
`;
    const { requests } = await runFlow(yaml, [{ id: '42' }], { csv: true, http: () => ({ body: { note: '7 up', n: 1 } }) });
    expect(requests[1]?.body).toBe('["7 up", "7 up", 42, 42]');
  });

  test('a body keeps the digits that were written', async () => {
    expect(
      (await sent(node('method: POST, url: "https://a.com", body: { id: 12345678901234567890, price: 1.50, hex: 0x10 }'), {})).body,
    ).toBe('{"id":12345678901234567890,"price":1.50,"hex":16}');
  });

  test('names such as __proto__ are data', async () => {
    const yaml = node('method: POST, url: "https://a.com", body: { __proto__: { a: "{{__proto__}}" } }, map: { __proto__: a }');
    const { rows, requests } = await runFlow(yaml, [[['__proto__', 5]]], { http: () => ({ body: { a: 6 } }) });
    expect(requests[0]?.body).toBe('{"__proto__":{"a":5}}');
    expect(rows.map((row) => Object.entries(row))).toEqual([[['__proto__', 6]]]);
  });

  test("headers: the node's over the connection's, whatever their case, as they were written", async () => {
    const yaml = `connections:
  a: { type: http, base_url: https://a.com/v2, headers: { Accept: text/csv, X-Tenant: "{{tenant}}", content-type: text/x } }
nodes:
  - { type: http, connection: a, method: POST, url: /x, body: {}, headers: { accept: application/json, X-Version: 1.10, X-On: True } }
`;
    expect((await sent(yaml, { tenant: 't1' })).headers).toEqual({
      accept: 'application/json',
      'X-Tenant': 't1',
      'content-type': 'text/x',
      'X-Version': '1.10',
      'X-On': 'True',
    });
  });

  test('options go along', async () => {
    expect(await sent(node('url: "https://a.com", timeout: 5s, max_body: 5kb, follow: any'), {})).toMatchObject({
      timeoutMs: 5000,
      maxBodyBytes: 5000,
      followAny: true,
    });
  });

  test.each([
    ['[2xx, 302]', [302]],
    ['[2xx, 301, 304]', [301]],
    ['[2xx, 3xx]', [301, 302, 303, 307, 308]],
  ])('redirects that count as success: %s are not to be followed', async (success, unfollowed) => {
    expect(await sent(node(`url: "https://a.com", success: ${success}`), {})).toMatchObject({ unfollowed });
    expect((await sent(node('url: "https://a.com"'), {})).unfollowed).toBeUndefined();
  });
});

describe('what cannot be sent fails the record, costs nothing, and is not tried again', () => {
  test.each([
    ['a missing field', 'url: "https://a.com/{{name}}"', { id: 1 }, 'template', 'the record has no field "name"'],
    ['a missing field in a header', 'url: "https://a.com", headers: { X: "{{name}}" }', {}, 'template', 'the record has no field "name"'],
    [
      'a missing field in a body',
      'method: POST, url: "https://a.com", body: ["{{name}}"]',
      {},
      'template',
      'the record has no field "name"',
    ],
    [
      'a line break in a header',
      'url: "https://a.com", headers: { X: "{{v}}" }',
      { v: 'a\r\nY: 1' },
      'request',
      'the header "X" must not hold',
    ],
    ['a dot segment', 'url: "https://a.com/{{v}}"', { v: '..' }, 'request', 'a path segment must not be'],
    ['no URL', 'url: "{{v}}"', { v: 'nonsense' }, 'request', 'expected an absolute https URL, found "nonsense"'],
    ['plain HTTP', 'url: "{{v}}"', { v: 'http://a.com' }, 'request', 'expected an https URL, found http://a.com'],
    [
      'a body that is no JSON',
      'method: POST, url: "https://a.com", body: \'{{{v}}: 1}\'',
      { v: 1 },
      'request',
      'the body is not JSON after rendering',
    ],
  ])('%s', async (_what, more, record, kind, message) => {
    const { failures, requests, credits, rows } = await runFlow(node(more), [record]);
    expect(failures).toMatchObject([{ record: 1, node: 'http-1', class: kind, status: undefined, attempts: 0 }]);
    expect(failures[0]?.message).toContain(message);
    expect({ requests, credits, rows }).toEqual({ requests: [], credits: 0, rows: [] });
  });

  test('null is empty in URL and header, and null in a body', async () => {
    const request = await sent(node('method: POST, url: "https://a.com/{{v}}?v={{v}}", headers: { X: "[{{v}}]" }, body: ["{{v}}"]'), {
      v: null,
    });
    expect(request).toMatchObject({ path: '/?v=', headers: { X: '[]' }, body: '[null]' });
  });

  test('an empty CSV cell is the empty text', async () => {
    const request = await sent(node('method: POST, url: "https://a.com/{{v}}", headers: { X: "{{v}}" }, body: ["{{v}}"]'), { v: '' }, true);
    expect(request).toMatchObject({ path: '/', headers: { X: '' }, body: '[""]' });
  });
});

describe('credentials', () => {
  const flow = (url: string, more = '') => `connections:
  crm: { type: http, base_url: https://crm.example.com/v2, auth: { type: bearer, credential: crm-token } }
nodes:
  - { type: http, connection: crm, url: "${url}"${more} }
`;

  test('are named in the request, never there themselves', async () => {
    expect((await sent(flow('/users'), {})).auth).toEqual({ type: 'bearer', credential: 'crm-token' });
  });

  test("the node's own replaces the connection's; none takes it away", async () => {
    expect((await sent(flow('/x', ', auth: { type: api_key, header: X-Key, credential: k }'), {})).auth).toEqual({
      type: 'api_key',
      header: 'X-Key',
      credential: 'k',
    });
    expect((await sent(flow('/x', ', auth: none'), {})).auth).toBeUndefined();
    expect((await sent(flow('/x', ', auth: { type: none }'), {})).auth).toBeUndefined();
  });

  test.each([
    ['{ type: basic, credential: k }', { type: 'basic', credential: 'k' }],
    ['{ type: basic, username: u, credential: k }', { type: 'basic', username: 'u', credential: 'k' }],
    ['{ type: api_key, query: key, credential: k }', { type: 'api_key', query: 'key', credential: 'k' }],
    [
      '{ type: oauth2_client_credentials, token_url: "https://id.example.com/token", client_id: c, credential: k, scopes: [a, b] }',
      {
        type: 'oauth2_client_credentials',
        tokenUrl: 'https://id.example.com/token',
        clientId: 'c',
        credential: 'k',
        scopes: ['a', 'b'],
      },
    ],
  ])('%s', async (auth, expected) => {
    expect((await sent(node(`url: "https://a.com", auth: ${auth}`), {})).auth).toEqual(expected);
  });

  test.each([
    ['https://crm.example.com/v2/next?page=2', true],
    ['https://crm.example.com:443/v2', true],
    ['https://crm.example.com:8443/v2', false],
    ['https://evil.example.com/v2', false],
    ['https://crm.example.com.evil.example.com/', false],
  ])('to %s from a record: %s', async (next, isSigned) => {
    const request = await sent(flow('{{next}}'), { next });
    expect(request.auth !== undefined).toBe(isSigned);
    expect(request.hostFromData).toEqual({ allowHosts: [] });
  });

  test('a host from the record is no literal origin, but the base URL is one', async () => {
    expect((await sent(flow('https://{{host}}/x'), { host: 'crm.example.com' })).auth).toEqual({ type: 'bearer', credential: 'crm-token' });
    expect((await sent(flow('https://{{host}}/x'), { host: 'evil.example.com' })).auth).toBeUndefined();
  });

  test('an origin that a later node names literally counts, too', async () => {
    const yaml = `nodes:
  - { type: http, url: "{{url}}", auth: { type: bearer, credential: k } }
  - { type: http, url: https://later.example.com/x, when: "false" }
`;
    expect((await sent(yaml, { url: 'https://later.example.com/y' })).auth).toBeDefined();
  });

  test('a 401 from a host that got no credential says so', async () => {
    const { failures } = await runFlow(flow('{{next}}'), [{ next: 'https://evil.example.com/' }], { http: () => ({ status: 401 }) });
    expect(failures[0]?.message).toBe('the server answered 401 (no credential was sent: the flow does not name this origin literally)');
  });

  test("the hosts inside the network that the flow allows go along with a record's host", async () => {
    const request = await sent(`allow_hosts: [intranet.example.com, 10.0.0.7]\n${node('url: "{{url}}"')}`, { url: 'https://10.0.0.7/x' });
    expect(request.hostFromData).toEqual({ allowHosts: ['intranet.example.com', '10.0.0.7'] });
    expect(request.redirectHosts).toBeUndefined();
  });

  test('and with redirects to other origins, where they are followed', async () => {
    const request = await sent(`allow_hosts: [10.0.0.7]\n${node('url: https://a.com/, follow: any')}`, {});
    expect([request.redirectHosts, request.hostFromData]).toEqual([['10.0.0.7'], undefined]);
  });

  test('the plan knows every credential and where it is named', () => {
    const plan = planFor(`${flow('/x')}  - { type: http, url: "https://a.com", auth: { type: bearer, credential: other } }\n`);
    expect(plan.credentials.map(({ name, problem }) => [name, onOneLine(problem('missing'))])).toEqual([
      ['crm-token', '4:31 missing'],
      ['other', '5:75 missing'],
    ]);
  });
});

describe('idempotency_key', () => {
  test('one for each record and node, the same for every retry', async () => {
    const yaml = `nodes:
  - { type: http, id: a, method: POST, url: "https://a.com", idempotency_key: true }
  - { type: http, id: b, method: POST, url: "https://b.com", idempotency_key: true }
`;
    const { requests } = await runFlow(yaml, [{}, {}], { http: (_request, index) => ({ status: index < 3 ? 500 : 200 }) });
    const keys = requests.map(({ origin, headers }) => `${origin} ${headers['Idempotency-Key']}`);
    expect(new Set(keys)).toEqual(
      new Set(['https://a.com uuid of 1/a/0', 'https://a.com uuid of 2/a/0', 'https://b.com uuid of 1/b/0', 'https://b.com uuid of 2/b/0']),
    );
    expect(keys).toHaveLength(7);
  });

  test('output records of one record have their own', async () => {
    const yaml = `nodes:
  - { type: http, id: a, url: "https://a.com", map: { n: "list[]" } }
  - { type: http, id: b, method: POST, url: "https://b.com/{{n}}", idempotency_key: true }
`;
    const { requests } = await runFlow(yaml, [{}], {
      http: ({ origin }) => (origin === 'https://a.com' ? { body: { list: [1, 2] } } : {}),
    });
    expect(requests.slice(1).map(({ headers }) => headers['Idempotency-Key'])).toEqual(['uuid of 1/b/0', 'uuid of 1/b/1']);
  });

  test('a key that the flow sends itself stays', async () => {
    const yaml = node('method: POST, url: "https://a.com", idempotency_key: true, headers: { idempotency-key: "order-{{id}}" }');
    expect((await sent(yaml, { id: 7 })).headers).toEqual({ 'idempotency-key': 'order-7' });
  });

  test('not sent unless wanted', async () => {
    expect((await sent(node('method: POST, url: "https://a.com"'), {})).headers).toEqual({});
  });
});
