import { describe, expect, test } from 'vitest';
import { costOf } from '../../src/nodes/calling.ts';
import { toResponse } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';

const flow = (connection: string, url = '/x') =>
  `connections:\n  crm: { type: http, ${connection} }\nnodes:\n  - { type: http, connection: crm, url: "${url}" }\n`;

const problems = (connection: string, url?: string) => flowProblems(flow(connection, url)).map(onOneLine);

describe('a connection in a flow', () => {
  test.each([
    ['base_url: crm.example.com', '2:32 expected an absolute URL such as https://api.example.com/..., found "crm.example.com"'],
    ['base_url: "https://{{host}}/v2"', "2:32 a base_url cannot have references; put them into the nodes' url"],
    ['base_url: "https://a.com/{{tenant}}"', "2:32 a base_url cannot have references; put them into the nodes' url"],
    ['base_url: "https://a.com/?v=2"', "2:32 a base_url ends with its path; put the query into the nodes' url"],
    ['base_url: http://crm.example.com', '2:32 expected an https URL, found http://crm.example.com'],
    ['base_url: ftp://crm.example.com', '2:32 expected an https URL, found the scheme "ftp"'],
    ['base_url: 5', '2:32 expected a string, found 5'],
    ['rate: 1/s', '2:8 the key "base_url" is missing'],
    ['base_url: https://a.com, headers: { X: "a\\tb" }', '2:61 the header "X" must not contain a line break or another control character'],
    ['base_url: https://a.com, auth: { type: api_key, header: "X Y", credential: k }', '2:78 expected a header name such as X-Request-Id'],
    [
      'base_url: https://a.com, auth: { type: api_key, header: Content-Length, credential: k }',
      '2:78 the header "Content-Length" is set by automate; use a different header for the key',
    ],
    [
      'base_url: https://a.com, auth: { type: oauth2_client_credentials, token_url: /token, client_id: x, credential: k }',
      '2:99 expected an absolute https URL as the token_url',
    ],
  ])('is refused with the options %s', (connection, problem) => {
    expect(problems(connection)).toEqual([problem]);
  });

  test('that does not exist is reported with the most similar name, or with all names', () => {
    const unknown = (name: string) =>
      flowProblems(
        `connections: { crm: { type: http, base_url: "https://a.com" } }\nnodes: [{ type: http, connection: ${name}, url: /x }]`,
      );
    expect(unknown('cmr').map(onOneLine)).toEqual(['2:35 no connection "cmr"; did you mean "crm"?']);
    expect(unknown('billing').map(onOneLine)).toEqual(['2:35 no connection "billing"; available: crm']);
  });

  test('is refused if its type is unknown', () => {
    expect(flowProblems('connections: { a: { type: ftp, base_url: "https://a.com" } }\nnodes: [{ type: set }]').map(onOneLine)).toEqual([
      '1:27 no connection type "ftp"; expected http or mcp',
    ]);
  });

  test.each([
    ['base_url: "https://a.com"', '1:19 the key "type" is missing'],
    ['base_url: "https://a.com", type: 5', '1:54 expected the connection type http or mcp, found 5'],
  ])('is refused if its type is missing: %s', (options, problem) => {
    expect(flowProblems(`connections: { a: { ${options} } }\nnodes: [{ type: set }]`).map(onOneLine)).toEqual([problem]);
  });

  test('is refused if its name has invalid characters, but its other problems are still reported', () => {
    expect(
      flowProblems('connections: { "a b": { type: http, base_url: "https://a.com" }, c: 5 }\nnodes: [{ type: set }]').map(onOneLine),
    ).toEqual(['1:16 expected a name of letters, digits, dots, dashes and underscores', '1:69 expected a mapping, found 5']);
  });

  test('that is invalid causes no additional problems in the nodes that use it', () => {
    expect(problems('base_url: nonsense', '/users/{{id}}')).toHaveLength(1);
  });
});

test('a node inherits the options of its connection, unless it sets them itself', () => {
  const connection =
    'base_url: https://a.com, auth: { type: bearer, credential: k }, rate: 1/s, concurrency: 2, credits: 3, cost: $headers.x-a';
  const actionOf = (more: string) => {
    const { steps, credentials } = planFor(flow(connection, `/x", ${more}, method: "GET`));
    const { action } = steps[0]?.node ?? {};
    const { status, header } = toResponse({ headers: { 'x-a': '5', 'x-b': '7' } });
    const cost = costOf({ cost: action?.cost }, { status, header, body: undefined });
    return [credentials.map(({ name }) => name), action?.intervalMs, action?.limit.max, action?.price.credits, cost];
  };
  expect(actionOf('timeout: 5s')).toEqual([['k'], 1000, 2, 3, 5]);
  expect(actionOf('auth: none, rate: 10/s, concurrency: 4, credits: 1, cost: $headers.x-b')).toEqual([[], 100, 4, 1, 7]);
});

describe('a URL with http:// instead of https://', () => {
  const refused = /expected an https URL, found http:\/\/api\.example\.com/;

  test('is refused in a node or a connection, and the message mentions the options that allow http', () => {
    const [inNode] = flowProblems('nodes: [{ type: http, url: "http://api.example.com/x" }]');
    expect(inNode?.message).toMatch(refused);
    expect(inNode?.message.split('\n')[1]).toBe('to allow plain HTTP, set allow_http: true on the connection');
    expect(problems('base_url: "http://api.example.com"')).toEqual([expect.stringMatching(refused)]);
  });

  test('is allowed for loopback addresses, with allow_http, and with --allow-http', () => {
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:3000']) {
      expect(flowProblems(`nodes: [{ type: http, url: "http://${host}/x" }]`)).toEqual([]);
    }
    expect(problems('allow_http: true, base_url: "http://api.example.com"')).toEqual([]);
    expect(flowProblems('nodes: [{ type: http, url: "http://api.example.com/x" }]', { allowHttp: true })).toEqual([]);
  });
});
