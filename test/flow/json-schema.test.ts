import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { flowJsonSchema } from '../../src/flow/json-schema.ts';
import { hasExpressions } from '../../src/run/flow-file.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { breaches, type Schema } from '../helpers/json-schema.ts';
import { nodeTypes } from '../helpers/node-types.ts';

const schema = flowJsonSchema(nodeTypes) as unknown as Schema;
const examples = new URL('../../examples/', import.meta.url);
const flows = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml') && !/^workers.(?!flow)/.test(name),
);

/** A flow that uses every option. */
const everything = `name: everything
vars: { api: { default: https://a.example.com, staging: null }, pace: 5, slow: true, region: null }
open_vars: [slow]
allow_hosts: [intranet.example.com]
connections:
  crm:
    type: http
    base_url: https://crm.example.com/v2
    auth: { type: bearer, credential: crm-token }
    headers: { X-Tenant: "{{tenant}}", X-Version: 2, X-Debug: false }
    rate: 600/min
    concurrency: 4
    allow_http: false
  public: { type: http, base_url: https://public.example.com, auth: none }
  paced: { type: http, base_url: "{{vars.api}}/v2", rate: "{{vars.pace}}/s", concurrency: "{{vars.pace}}" }
nodes:
  - id: profile
    type: http
    connection: crm
    auth: { type: api_key, query: key, credential: k }
    method: PATCH
    url: /users/{{id}}
    headers: { Accept: application/json }
    body: { id: "{{id}}", list: [1, { a: null }], n: 1.5 }
    timeout: 30s
    retry: { max: 5, on: [429, 5xx, timeout, network], backoff: { initial: 1s, factor: 1.5, max: 60s, jitter: true }, max_wait: 10m }
    rate: 0.5/s
    concurrency: 2
    success: [2xx, 404]
    follow: any
    response: json
    max_body: 5MB
    idempotency_key: true
    map: { name: data.name, lines: "orders[].lines[].sku" }
    when_empty: drop
    cache: 24h
    when: id != ""
    on_error: keep
  - { type: http, url: https://a.com, method: POST, body: "[{{id}}]", timeout: 5000, retry: { backoff: 250ms }, max_body: 1000, map: [a, $status] }
  - { type: http, url: https://a.com, auth: { type: basic, username: u, credential: k } }
  - { type: http, url: "https://a.com/{{vars.slow}}/{{vars.region}}", timeout: "{{vars.pace}}s", rate: "{{vars.pace}}/s", concurrency: "{{vars.pace}}" }
  - { type: http, url: https://a.com, auth: { type: api_key, header: X-API-Key, credential: k } }
  - type: http
    url: https://a.com
    auth: { type: oauth2_client_credentials, token_url: https://a.com/token, client_id: x, credential: k, scopes: [read] }
  - type: set
    rename: { first-name: first_name }
    fields: { a: "{{b}}", n: 5, big: 12345678901234567890, t: true, e: null, c: { cel: int(a) } }
    remove: [tmp]
  - { type: http, url: https://a.com/1, map: [a], paginate: { type: next_url, path: links.next, max: 5 } }
  - { type: http, url: https://a.com/2, map: [a], paginate: { type: cursor, path: "$headers.x-next", param: cursor } }
  - { type: http, url: https://a.com/3, map: [a], paginate: { type: page, param: p, start: 0, items: "results[]" } }
  - { type: http, url: https://a.com/4, map: [a], paginate: { type: page, items: data.results, max: 1000000 } }
  - { type: http, url: https://a.com/5, map: [a], paginate: { type: offset, param: skip, size: 100, items: results } }
  - { type: http, url: https://a.com/6, map: [a], paginate: { type: link_header } }
  - { type: http, method: POST, url: https://a.com/7, body: ["{{items}}"], batch: { items: "{{id}}" } }
  - type: http
    method: PUT
    url: https://a.com/8
    body: '{ "ids": {{items}} }'
    batch: { size: 50, max_bytes: 1MB, items: { id: "{{id}}", kind: x, n: 5, t: true, none: null }, match: { field: id, path: "r[].id" }, missing: keep }
    map: { name: "r[].name" }
  - type: loop
    id: outer
    max: 5
    while: x != null
    carry: [x]
    emit: last
    when: id != ""
    on_error: keep
    nodes:
      - { type: set, fields: { x: null } }
      - type: poll
        every: { initial: 1s, factor: 1.5, max: 30s }
        timeout: 10m
        until: x == null
        fail_when: x == "failed"
        nodes:
          - { id: deep, type: http, method: POST, url: https://a.com/9, body: { ids: "{{items}}" }, batch: { items: "{{id}}" } }
          - { type: loop, while: x != null, nodes: [{ type: http, url: https://a.com, map: [x], paginate: { type: link_header, max: 2 } }] }
      - { type: poll, until: x == null, every: 250ms, nodes: [{ type: set }] }
`;

describe('the JSON Schema of flow files', () => {
  test.each(flows)('accepts examples/%s', (name) => {
    expect(breaches(schema, parse(readFileSync(new URL(name, examples), 'utf8')))).toEqual([]);
  });

  test('accepts a flow with every option', () => {
    expect(flowProblems(everything, { variables: { given: new Map([['region', 'eu']]) } })).toEqual([]);
    expect(breaches(schema, parse(everything))).toEqual([]);
  });

  test.each([
    'nodes: []',
    'nodes: [{ type: htp, url: "https://a.com" }]',
    'nodes: [{ type: http }]',
    'nodes: [{ type: http, url: "https://a.com", metod: GET }]',
    'nodes: [{ type: http, url: "https://a.com", method: get }]',
    'nodes: [{ type: http, url: "https://a.com", timeout: soon }]',
    'nodes: [{ type: http, url: "https://a.com", timeout: 0 }]',
    'nodes: [{ type: http, url: "https://a.com", timeout: 0s }]',
    'nodes: [{ type: http, url: "https://a.com", timeout: 2147483648 }]',
    'nodes: [{ type: http, url: "https://a.com", rate: 10 }]',
    'nodes: [{ type: http, url: "https://a.com", rate: 0/s }]',
    'nodes: [{ type: http, url: "https://a.com", max_body: 0MB }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: api_key, credential: k } }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: api_key, header: X-Key, query: key, credential: k } }]',
    'nodes: [{ type: http, url: "https://a.com", retry: { max: -1 } }]',
    'nodes: [{ type: http, url: "https://a.com", retry: { on: [6xx] } }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: bearer } }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: bearer, token: x } }]',
    'nodes: [{ type: http, url: "https://a.com", headers: { "X Y": a } }]',
    'nodes: [{ type: http, url: "https://a.com", map: a.b }]',
    'nodes: [{ type: http, url: "https://a.com", max_body: 10XB }]',
    'nodes: [{ type: set, fields: { a: [1] } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: pages } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: {} }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: next_url }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: next_url } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: next_url, path: a, param: b } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: cursor, path: a } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: page } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: page, items: a, start: -1 } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: offset, items: a } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: offset, items: a, size: 0 } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: link_header, max: 0 } }]',
    'nodes: [{ type: http, url: "https://a.com", paginate: { type: link_header, path: a } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: {} }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: [a] } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: { a: [1] } } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", size: 0 } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", size: 10001 } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", max_bytes: 0 } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", missing: drop } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", match: { field: id } } }]',
    'nodes: [{ type: http, method: POST, url: "https://a.com", body: ["{{items}}"], batch: { items: "{{id}}", siez: 5 } }]',
    'nodes: [{ type: loop, nodes: [{ type: set }] }]',
    'nodes: [{ type: loop, while: a == 1, nodes: [] }]',
    'nodes: [{ type: loop, while: a == 1 }]',
    'nodes: [{ type: loop, while: a == 1, nodes: { type: set } }]',
    'nodes: [{ type: loop, while: a == 1, max: 0, nodes: [{ type: set }] }]',
    'nodes: [{ type: loop, while: a == 1, emit: all, nodes: [{ type: set }] }]',
    'nodes: [{ type: loop, while: a == 1, nodes: [{ type: htp }] }]',
    'nodes: [{ type: loop, while: a == 1, nodes: [{ type: http }] }]',
    'nodes: [{ type: loop, while: a == 1, nodes: [{ type: set, filds: {} }] }]',
    'nodes: [{ type: poll, nodes: [{ type: set }] }]',
    'nodes: [{ type: poll, until: a == 1, every: soon, nodes: [{ type: set }] }]',
    'nodes: [{ type: poll, until: a == 1, timeout: 0, nodes: [{ type: set }] }]',
    'nodes: [{ type: poll, until: a == 1, nodes: [{ type: loop, while: a == 1, nodes: [{ type: http, url: "https://a.com", method: get }] }] }]',
    'nodes: [{ type: set }]\nconnections: { "a b": { type: http, base_url: "https://a.com" } }',
    'nodes: [{ type: set }]\nconnections: { a: { type: http } }',
    'nodes: [{ type: set }]\nbanana: 1',
    'nodes: [{ type: set }]\nvars: { a: [1] }',
    'nodes: [{ type: set }]\nvars: { a: { default: { b: 1 } } }',
    'nodes: [{ type: set }]\nvars: { a-b: 1 }',
    'nodes: [{ type: set }]\nvars: { a: 1 }\nopen_vars: a',
    'nodes: [{ type: http, url: "https://a.com", concurrency: "5" }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: jwt, credential: k, lasts: soon } }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: jwt, credential: k, claims: admin } }]',
    'nodes: [{ type: http, url: "https://a.com", auth: { type: hmac, credential: k, of: "{body}", headers: "X: {signature}" } }]',
    'nodes: [{ type: join, file: owners.csv, on: id, map: [name] }]',
  ])('refuses a flow that the flow compiler refuses: %s', (yaml) => {
    expect(flowProblems(yaml)).not.toEqual([]);
    expect(breaches(schema, parse(yaml))).not.toEqual([]);
  });

  test('contains every default as a user would write it in YAML', () => {
    const options = nodeOptions('http');
    expect(options.timeout).toMatchObject({ default: '30s' });
    expect(options.max_body).toMatchObject({ default: '10MB' });
    expect(options.retry).toMatchObject({ default: { max: 3, on: [429, '5xx', 'timeout', 'network'], backoff: '1s', max_wait: '5m' } });
    for (const [name, option] of Object.entries(options)) {
      if (option.default !== undefined) expect(breaches(option, option.default, name)).toEqual([]);
    }
  });

  test("describes inner nodes with a reference to the schema of the flow's nodes", () => {
    const [loop, poll] = [nodeOptions('loop').nodes, nodeOptions('poll').nodes];
    expect(loop).toMatchObject({ type: 'array', minItems: 1, items: { $ref: '#/properties/nodes/items' } });
    expect(poll).toEqual(loop);
  });

  function nodeOptions(type: string): Record<string, Schema> {
    const { properties } = schema as unknown as { properties: { nodes: { items: { anyOf: { properties: Record<string, Schema> }[] } } } };
    return properties.nodes.items.anyOf.find((node) => node.properties.type?.const === type)?.properties ?? {};
  }
});

test('a flow with an expression is recognized by the name of the option', () => {
  const names = new Set<string>();
  const visit = (part: unknown, name = ''): void => {
    if (typeof part !== 'object' || part === null) return;
    if ('title' in part && /^(?:condition|expression)$/.test(String(part.title))) names.add(name);
    for (const [key, inner] of Object.entries(part)) visit(inner, /^(?:anyOf|oneOf|additionalProperties|\d+)$/.test(key) ? name : key);
  };
  visit(schema);
  expect(names.size).toBeGreaterThan(5);
  for (const name of [...names, 'cel', 'wh\\x65n']) expect(hasExpressions(`${name}: a`), name).toBe(true);
  expect(hasExpressions('nodes: [{ type: set, fields: { b: "{{a}}" } }]')).toBe(false);
});
