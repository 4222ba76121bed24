import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - { type: http, ${more} }\n`;

/** Returns the request that the flow sends for a record. */
async function sent(yaml: string, record: Record<string, unknown>, csv = false) {
  const { requests, failures } = await runFlow(yaml, [record], { csv });
  expect(failures).toEqual([]);
  expect(requests).toHaveLength(1);
  return requests[0] as (typeof requests)[0];
}

describe('the request of an http node', () => {
  test('is a GET without headers and body by default', async () => {
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

  test.each(['POST', 'PUT', 'PATCH', 'PROPFIND', 'REPORT', 'QUERY', 'OPTIONS', 'VERSION-CONTROL'])(
    'can have a JSON body with the method %s',
    async (method) => {
      const request = await sent(node(`method: ${method}, url: "https://a.com", body: { id: "{{id}}", name: "Hi {{name}}" }`), {
        id: 7,
        name: '"Ann"',
      });
      expect(request).toMatchObject({ method, headers: { 'Content-Type': 'application/json' }, body: '{"id":7,"name":"Hi \\"Ann\\""}' });
    },
  );

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND', 'MKCOL'])(
    'can be sent without a body with the method %s',
    async (method) => {
      const request = await sent(node(`method: ${method}, url: "https://a.com"`), {});
      expect(request.headers).toEqual({});
      expect(request.body).toBeUndefined();
    },
  );

  test('contains a CSV cell as a JSON literal if the field is outside quotes', async () => {
    const body = '\'{"id": {{id}}, "ok": {{ok}}, "name": "{{name}}"}\'';
    expect((await sent(node(`method: POST, url: "https://a.com", body: ${body}`), { id: '42', ok: 'true', name: 'x"y' }, true)).body).toBe(
      '{"id": 42, "ok": true, "name": "x\\"y"}',
    );
  });

  test('contains a value from a response or an expression as a string, even outside quotes', async () => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, map: { note: note } }
  - { type: set, fields: { label: { cel: '"no " + id' }, copy: "{{id}}" } }
  - { type: http, method: POST, url: https://b.com, body: '[{{note}}, {{label}}, {{id}}, {{copy}}]' }
`;
    const { requests } = await runFlow(yaml, [{ id: '42' }], { csv: true, http: () => ({ body: { note: '7 up' } }) });
    expect(requests[1]?.body).toBe('["7 up", "no 42", 42, 42]');
  });

  test('contains a renamed or copied value with the type of the original', async () => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, map: { note: note, n: n } }
  - { type: set, rename: { note: text, n: m, id: no }, fields: { copy: "{{text}}", m: "{{no}}" } }
  - { type: http, method: POST, url: https://b.com, body: '[{{text}}, {{copy}}, {{no}}, {{m}}]' }
`;
    const { requests } = await runFlow(yaml, [{ id: '42' }], { csv: true, http: () => ({ body: { note: '7 up', n: 1 } }) });
    expect(requests[1]?.body).toBe('["7 up", "7 up", 42, 42]');
  });

  test('keeps all digits of numbers in its body', async () => {
    expect(
      (await sent(node('method: POST, url: "https://a.com", body: { id: 12345678901234567890, price: 1.50, hex: 0x10 }'), {})).body,
    ).toBe('{"id":12345678901234567890,"price":1.50,"hex":16}');
  });

  test('treats field names such as __proto__ as data', async () => {
    const yaml = node('method: POST, url: "https://a.com", body: { __proto__: { a: "{{__proto__}}" } }, map: { __proto__: a }');
    const { rows, requests } = await runFlow(yaml, [[['__proto__', 5]]], { http: () => ({ body: { a: 6 } }) });
    expect(requests[0]?.body).toBe('{"__proto__":{"a":5}}');
    expect(rows.map((row) => Object.entries(row))).toEqual([[['__proto__', 6]]]);
  });

  test("prefers the node's header to the connection's header, even if the names differ in case", async () => {
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

  test("contains the node's timeout, maximum response size and redirect rules", async () => {
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
  ])('does not follow redirects whose status counts as success: %s', async (success, unfollowed) => {
    expect(await sent(node(`url: "https://a.com", success: ${success}`), {})).toMatchObject({ unfollowed });
    expect((await sent(node('url: "https://a.com"'), {})).unfollowed).toBeUndefined();
  });
});

describe('the values in a request', () => {
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
      'the header "X" must not contain',
    ],
    ['a dot segment in the path', 'url: "https://a.com/{{v}}"', { v: '..' }, 'request', 'a path segment must not be'],
    ['a URL that is not absolute', 'url: "{{v}}"', { v: 'nonsense' }, 'request', 'expected an absolute https URL, found "nonsense"'],
    ['a plain HTTP URL', 'url: "{{v}}"', { v: 'http://a.com' }, 'request', 'expected an https URL, found http://a.com'],
    [
      'a body that is not JSON',
      'method: POST, url: "https://a.com", body: \'{{{v}}: 1}\'',
      { v: 1 },
      'request',
      'the body is not JSON after rendering',
    ],
  ])('make the record fail, at no cost and without a retry, if there is %s', async (_what, more, record, kind, message) => {
    const { failures, requests, credits, rows } = await runFlow(node(more), [record]);
    expect(failures).toMatchObject([{ record: 1, node: 'http-1', class: kind, status: undefined, attempts: 0 }]);
    expect(failures[0]?.message).toContain(message);
    expect({ requests, credits, rows }).toEqual({ requests: [], credits: 0, rows: [] });
  });

  test('can be null, which becomes an empty string in a URL and null in a JSON body', async () => {
    const request = await sent(node('method: POST, url: "https://a.com/{{v}}?v={{v}}", headers: { X: "[{{v}}]" }, body: ["{{v}}"]'), {
      v: null,
    });
    expect(request).toMatchObject({ path: '/?v=', headers: { X: '[]' }, body: '[null]' });
  });

  test('can be empty CSV cells, which become empty strings', async () => {
    const request = await sent(node('method: POST, url: "https://a.com/{{v}}", headers: { X: "{{v}}" }, body: ["{{v}}"]'), { v: '' }, true);
    expect(request).toMatchObject({ path: '/', headers: { X: '' }, body: '[""]' });
  });
});

describe('the credential of a request', () => {
  const flow = (url: string, more = '') => `connections:
  crm: { type: http, base_url: https://crm.example.com/v2, auth: { type: bearer, credential: crm-token } }
nodes:
  - { type: http, connection: crm, url: "${url}"${more} }
`;

  test('is referred to only by name, without the secret', async () => {
    expect((await sent(flow('/users'), {})).auth).toEqual([{ type: 'bearer', credential: 'crm-token' }]);
  });

  test('comes from the node rather than from the connection; auth: none removes it', async () => {
    expect((await sent(flow('/x', ', auth: { type: api_key, header: X-Key, credential: k }'), {})).auth?.[0]).toEqual({
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
  ])('is passed on with its type and options: %s', async (auth, expected) => {
    expect((await sent(node(`url: "https://a.com", auth: ${auth}`), {})).auth).toEqual([expected]);
  });

  test.each([
    ['https://crm.example.com/v2/next?page=2', true],
    ['https://crm.example.com:443/v2', true],
    ['https://crm.example.com:8443/v2', false],
    ['https://evil.example.com/v2', false],
    ['https://crm.example.com.evil.example.com/', false],
  ])("is sent to a URL from the record only with the connection's origin: %s (sent: %s)", async (next, isSigned) => {
    const request = await sent(flow('{{next}}'), { next });
    expect(request.auth !== undefined).toBe(isSigned);
    expect(request.hostFromData).toEqual({ allowHosts: [] });
  });

  test('is sent to the base URL, but not to a host from a record', async () => {
    expect((await sent(flow('https://{{host}}/x'), { host: 'crm.example.com' })).auth).toEqual([
      { type: 'bearer', credential: 'crm-token' },
    ]);
    expect((await sent(flow('https://{{host}}/x'), { host: 'evil.example.com' })).auth).toBeUndefined();
  });

  test('is sent to an origin that the flow contains literally, even in a different node', async () => {
    const yaml = `nodes:
  - { type: http, url: "{{url}}", auth: { type: bearer, credential: k } }
  - { type: http, url: https://later.example.com/x, when: "false" }
`;
    expect((await sent(yaml, { url: 'https://later.example.com/y' })).auth).toBeDefined();
  });

  test('is mentioned in the message of a 401 if it was not sent', async () => {
    const { failures } = await runFlow(flow('{{next}}'), [{ next: 'https://evil.example.com/' }], { http: () => ({ status: 401 }) });
    expect(failures[0]?.message).toBe(
      'the server answered 401 (no credential was sent, because this origin is not written literally in the flow)',
    );
  });

  test('is sent to a host from the record if the flow lists the host as allowed', async () => {
    const request = await sent(`allow_hosts: [intranet.example.com, 10.0.0.7]\n${node('url: "{{url}}"')}`, { url: 'https://10.0.0.7/x' });
    expect(request.hostFromData).toEqual({ allowHosts: ['intranet.example.com', '10.0.0.7'] });
    expect(request.redirectHosts).toBeUndefined();
  });

  test('is sent after a redirect if the flow lists the new host as allowed', async () => {
    const request = await sent(`allow_hosts: [10.0.0.7]\n${node('url: https://a.com/, follow: any')}`, {});
    expect([request.redirectHosts, request.hostFromData]).toEqual([['10.0.0.7'], undefined]);
  });

  test('is listed in the plan with every position at which the flow uses it', () => {
    const plan = planFor(`${flow('/x')}  - { type: http, url: "https://a.com", auth: { type: bearer, credential: other } }\n`);
    expect(plan.credentials.map(({ name, problem }) => [name, onOneLine(problem('missing'))])).toEqual([
      ['crm-token', '2:94 missing'],
      ['other', '5:75 missing'],
    ]);
  });
});

describe('the idempotency_key option', () => {
  test('creates a key for each record and node, and every retry has the same key', async () => {
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

  test('creates different keys for the rows of one record', async () => {
    const yaml = `nodes:
  - { type: http, id: a, url: "https://a.com", map: { n: "list[]" } }
  - { type: http, id: b, method: POST, url: "https://b.com/{{n}}", idempotency_key: true }
`;
    const { requests } = await runFlow(yaml, [{}], {
      http: ({ origin }) => (origin === 'https://a.com' ? { body: { list: [1, 2] } } : {}),
    });
    expect(requests.slice(1).map(({ headers }) => headers['Idempotency-Key'])).toEqual(['uuid of 1/b/0', 'uuid of 1/b/1']);
  });

  test('does not replace a key that the flow sends in a header', async () => {
    const yaml = node('method: POST, url: "https://a.com", idempotency_key: true, headers: { idempotency-key: "order-{{id}}" }');
    expect((await sent(yaml, { id: 7 })).headers).toEqual({ 'idempotency-key': 'order-7' });
  });

  test('accepts text with fields, which makes the key the same in every run', async () => {
    const yaml = node('method: POST, url: "https://a.com", idempotency_key: "order-{{id}}"');
    const { requests } = await runFlow(yaml, [{ id: 7 }, { id: 'ä' }], {
      http: (_request, index) => ({ status: index === 0 ? 500 : 200 }),
    });
    expect(requests.map(({ headers }) => headers['Idempotency-Key']).sort()).toEqual(['order-7', 'order-7', 'order-ä']);
  });

  test('adds the page number to a key from text with fields', async () => {
    const more =
      'method: POST, url: "https://a.com", idempotency_key: "o-{{id}}", map: [a], paginate: { type: cursor, path: next, param: c }';
    const http: FlowOptions['http'] = (_request, index) => ({ body: { next: index < 2 ? index : null } });
    const { requests } = await runFlow(node(more), [{ id: 7 }], { http });
    expect(requests.map(({ headers }) => headers['Idempotency-Key'])).toEqual(['o-7', 'o-7-page-2', 'o-7-page-3']);
  });

  test('makes the record fail before anything is sent if its field is missing or invalid', async () => {
    const yaml = node('method: POST, url: "https://a.com", idempotency_key: "order-{{id}}"');
    const { requests, failures } = await runFlow(yaml, [{ other: 1 }, { id: 'a\nb' }]);
    expect(requests).toEqual([]);
    expect(failures).toMatchObject([
      { class: 'template', message: 'the record has no field "id"' },
      { class: 'request', message: expect.stringContaining('the header "Idempotency-Key" must not contain a line break') },
    ]);
  });

  test('lets equal requests share a cached response even if their keys differ', async () => {
    const yaml = node('url: "https://a.com", idempotency_key: "order-{{id}}", cache: 1h, map: [a]');
    const { requests } = await runFlow(yaml, [{ id: 1 }, { id: 2 }]);
    expect(requests.length).toBe(1);
  });

  test('cannot be text with fields in a node with batches', () => {
    const yaml = node('method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}" }, idempotency_key: "o-{{id}}"');
    expect(flowProblems(yaml).map(({ message }) => message)).toEqual([
      'a batch has one request for all its records; expected true, which makes one key for all of them',
    ]);
  });

  test('is off by default', async () => {
    expect((await sent(node('method: POST, url: "https://a.com"'), {})).headers).toEqual({});
  });
});
