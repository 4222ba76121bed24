import { describe, expect, test } from 'vitest';
import { flowProblems, planFor, shown } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

function flow(auth: string): string {
  return `nodes:\n  - type: http\n    url: https://a.com/\n    auth: ${auth}\n`;
}

const keys = '[{ type: bearer, credential: token }, { type: api_key, header: X-Key, credential: key }]';

describe('a list of several credentials in the auth option', () => {
  test('signs a request with every credential in the list', async () => {
    const { requests } = await runFlow(flow(keys), [{}]);
    expect(requests[0]?.auth).toEqual([
      { type: 'bearer', credential: 'token' },
      { type: 'api_key', header: 'X-Key', credential: 'key' },
    ]);
  });

  test('reports each credential under its own position in the flow', () => {
    const { credentials } = planFor(flow(keys));
    expect(credentials.map(({ name, origins, problem }) => [name, origins, problem('x').column])).toEqual([
      ['token', ['https://a.com'], 40],
      ['key', ['https://a.com'], 93],
    ]);
  });

  test('sends the credentials only to origins that the flow contains literally', async () => {
    const { requests } = await runFlow(`nodes: [{ type: http, url: "{{url}}", auth: ${keys} }]`, [{ url: 'https://other.com/' }]);
    expect(requests[0]?.auth).toBeUndefined();
  });

  test('makes its calls pause separately from other calls to the same server', async () => {
    const yaml = `connections: { a: { base_url: https://a.com, type: http, auth: ${keys} } }
nodes:
  - { type: http, connection: a, url: /, when: has(first) }
  - { type: http, url: "https://a.com/", auth: { type: bearer, credential: token }, when: "!has(first)" }
`;
    const { requests } = await runFlow(yaml, [{ first: 1 }, {}, { first: 2 }], {
      concurrency: 1,
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : {}),
    });
    expect(requests.map(({ auth, atMs }) => [auth?.length, atMs])).toEqual([
      [2, 0],
      [1, 0],
      [2, 7000],
      [2, 7000],
    ]);
  });

  test('can put two credentials into different query parameters', () => {
    const two = '[{ type: api_key, query: id, credential: a }, { type: api_key, query: key, credential: b }]';
    expect(flowProblems(flow(two))).toEqual([]);
  });

  test.each([
    ['[]', '4:11 expected one to four ways to sign a request, found an empty list'],
    [
      '[{ type: bearer, credential: a }, { type: basic, credential: b }]',
      '4:45 another entry of the list also sets the header "Authorization"',
    ],
    [
      '[{ type: api_key, query: k, credential: a }, { type: api_key, query: k, credential: b }]',
      '4:56 another entry of the list also sets the query parameter "k"',
    ],
    [
      '[{ type: api_key, header: X-A, credential: a }, { type: api_key, header: x-a, credential: b }]',
      '4:59 another entry of the list also sets the header "x-a"',
    ],
    [
      `[${[1, 2, 3, 4, 5].map((n) => `{ type: api_key, header: X-${n}, credential: k }`).join(', ')}]`,
      '4:11 expected at most 4 ways to sign a request, found 5',
    ],
    ['[none]', '4:12 expected a mapping'],
    ['[{ type: none }]', '4:20 expected the type bearer, api_key, basic, oauth2_client_credentials'],
    ['[{ type: bearer, credentail: a }]', '4:28 unknown key "credentail"; did you mean "credential"?'],
    [
      '[{ type: oauth2_client_credentials, token_url: x, client_id: c, credential: k }]',
      '4:58 expected an absolute https URL as the token_url',
    ],
  ])('is refused if it is invalid: %s', (auth, message) => {
    const [problem] = flowProblems(flow(auth));
    expect(problem && shown(problem)).toContain(message);
  });
});

describe('the Host header of a request with a credential', () => {
  const problemsOf = (options: string, connection = '') =>
    flowProblems(`connections: { c: { type: http, base_url: "https://a.com"${connection} } }\nnodes: [{ type: http, ${options} }]\n`).map(
      ({ message }) => message,
    );
  const auth = 'auth: { type: bearer, credential: token }';
  const refused = [expect.stringMatching(/^expected a Host header without \{\{host\}\}: the request sends a credential/)];

  test('cannot come from a record', () => {
    expect(problemsOf(`url: "https://a.com/", headers: { Host: "{{host}}" }, ${auth}`)).toEqual(refused);
    expect(problemsOf(`url: "https://a.com/", headers: { hOST: "x.{{host}}" }, ${auth}`)).toEqual(refused);
    expect(problemsOf('connection: c, url: /, headers: { Host: "{{host}}" }', `, ${auth}`)).toEqual(refused);
    expect(problemsOf('connection: c, url: /', `, headers: { Host: "{{host}}" }, ${auth}`)).toEqual(refused);
  });

  test('can be written in the flow, and can come from a record without a credential', () => {
    expect(problemsOf(`url: "https://a.com/", headers: { Host: b.com, X-Name: "{{host}}" }, ${auth}`)).toEqual([]);
    expect(problemsOf('url: "https://a.com/", headers: { Host: "{{host}}" }')).toEqual([]);
  });
});
