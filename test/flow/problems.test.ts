import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';
import { nodeTypes } from '../helpers/node-types.ts';

const names = nodeTypes.map(({ name }) => name);

/** All node types, as messages list them. */
const types = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** Returns the problems of an HTTP node with these lines, which begin at line 4 of the flow. */
const ofNode = (...lines: string[]) =>
  flowProblems(`nodes:\n  - type: http\n    url: https://api.example.com/\n${lines.map((line) => `    ${line}\n`).join('')}`);

describe('the reported position of a problem in a flow', () => {
  test('is shown with line, column, the line itself and a caret', () => {
    expect(ofNode('timeout: soon').map(shown)).toEqual([
      [
        '4:14 expected a duration such as 250ms, 1s, 5m, 24h, 7d, or an integer of ms, found "soon"',
        '    timeout: soon',
        '             ^^^^',
      ].join('\n'),
    ]);
  });

  test('is the position of an unknown key', () => {
    expect(ofNode('metod: POST').map(shown)).toEqual([
      ['4:5 unknown key "metod"; did you mean "method"?', '    metod: POST', '    ^^^^^'].join('\n'),
    ]);
  });

  test('is the position of the mapping in which a key is missing', () => {
    expect(flowProblems('nodes:\n  - type: http\n    id: a\n').map(shown)).toEqual([
      ['2:5 the key "url" is missing', '  - type: http', '    ^^^^^^^^^^'].join('\n'),
    ]);
  });

  test('is exact even deep inside a list', () => {
    expect(ofNode('retry: { on: [429, 4yy, 999] }').map(shown)).toEqual([
      [
        '4:24 expected a status such as 429, a class such as 5xx, timeout or network, found "4yy"',
        '    retry: { on: [429, 4yy, 999] }',
        '                       ^^^',
      ].join('\n'),
      ['4:29 expected at most 599, found 999', '    retry: { on: [429, 4yy, 999] }', '                            ^^^'].join('\n'),
    ]);
  });

  test.each([
    ['when: a ==', '4:15'],
    ['when: "a =="', '4:16'],
    ["when: 'a == \"x'", '4:17'],
    ["when: 'a == ''x'' b'", '4:23'],
    ['when: "a == \\"x\\" b"', '4:23'],
    ['when: foo(a)', '4:11'],
    ['when: a == 1 && foo(b)', '4:21'],
    ['when: >\n      a == 1 &&\n      b ==', '6:11'],
    ['when: |\n      a == 1 &&\n      foo(b)', '6:7'],
    ['when: a == 1 &&\n      b c', '5:9'],
  ])('is exact inside the expression %j', (line, place) => {
    expect(ofNode(line).map((problem) => `${problem.line}:${problem.column}`)).toEqual([place]);
  });

  test('is exact after Windows line endings, tabs and wide characters', () => {
    expect(
      flowProblems('# größe 😀\r\nname: x\r\nnodes:\r\n  - type: http\r\n    url: https://a.com\r\n    timeot:\t5\r\n').map(shown),
    ).toEqual([['6:5 unknown key "timeot"; did you mean "timeout"?', '    timeot:\t5', '    ^^^^^^'].join('\n')]);
  });
});

describe('the check of a flow', () => {
  test('reports all problems in connections and nodes at once, in the order of the file', () => {
    const problems = flowProblems(`nmae: x
connections:
  crm:
    type: http
    base_url: crm.example.com
    rte: 10/s
  other:
    type: http
    base_url: https://other.example.com
    concurrency: 0
nodes:
  - id: a
    type: http
    connection: cmr
    url: /x
    map: [a..b]
  - id: a
    type: http
    conection: other
    url: /y
    timeout: soon
    body: {}
    map: ["a[].x", "b[].y"]
  - type: htp
  - type: set
    fields: { n: { cel: "int(" } }
    remove: tmp
`);
    expect(problems.map(onOneLine)).toEqual([
      '1:1 unknown key "nmae"; did you mean "name"?',
      '5:15 expected an absolute URL such as https://api.example.com/..., found "crm.example.com"',
      '6:5 unknown key "rte"; did you mean "rate"?',
      '10:18 expected at least 1, found 0',
      '14:17 no connection "cmr"; did you mean "crm"?',
      expect.stringMatching(/^16:11 expected a path such as .*, found "a\.\.b"/),
      '17:9 two nodes have the id "a"',
      '19:5 unknown key "conection"; did you mean "connection"?',
      expect.stringMatching(/^21:14 expected a duration/),
      '22:11 a GET request has no body; expected a method such as POST, PUT or PATCH',
      '23:10 "b[].y" and "a[].x" expand different arrays; a node can expand only one (nested) array',
      '24:11 no node type "htp"; did you mean "http"?',
      '26:30 not a CEL expression: expected a value, found the end',
      '27:13 expected a list, found "tmp"',
    ]);
  });

  test('says what a missing credential is', () => {
    expect(ofNode('auth: { type: bearer }')).toMatchObject([
      { message: 'the key "credential" is missing\nexpected the name under which the secret is stored, such as credential: my-token' },
    ]);
  });

  test('does not also report a misspelt key as missing', () => {
    expect(ofNode('metod: POST', 'body: {}').map(onOneLine)).toEqual(['4:5 unknown key "metod"; did you mean "method"?']);
    expect(ofNode('method: FETCH', 'body: {}').map(onOneLine)).toEqual([
      '4:13 expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND, found "FETCH"',
    ]);
    expect(
      flowProblems('conections: { a: { type: http, base_url: "https://a.com" } }\nnodes: [{ type: http, connection: a, url: /x }]').map(
        onOneLine,
      ),
    ).toEqual(['1:1 unknown key "conections"; did you mean "connections"?']);
  });

  test('reports the other problems in a node whose method is unknown', () => {
    const problems = ofNode('method: post', 'body: { a: "{{b}}" }', 'map: ["a[].x", "b[].y"]', 'when: a ="');
    expect(problems.map(onOneLine)).toEqual([
      '4:13 expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND, found "post"; did you mean "POST"?',
      '6:10 "b[].y" and "a[].x" expand different arrays; a node can expand only one (nested) array',
      '7:13 not a CEL expression: expected == to compare, found =',
    ]);
  });

  test.each([
    ['a loop with an invalid condition', '{ type: loop, while: "a =",', '2:29 not a CEL expression: unexpected character: ='],
    ['a poll without a condition', '{ type: poll,', '2:5 the key "until" is missing'],
    ['a node with a misspelt type', '{ type: lop,', '2:13 no node type "lop"; did you mean "loop"?'],
  ])('reports problems in the inner nodes of %s', (_name, head, problem) => {
    expect(flowProblems(`nodes:\n  - ${head}\n    nodes: [\n    { type: htp },\n    { type: http, url: /x }]}`).map(onOneLine)).toEqual([
      problem,
      '4:13 no node type "htp"; did you mean "http"?',
      '5:24 expected an absolute URL such as https://api.example.com/..., found "/x"',
    ]);
  });

  test('reports a problem inside the value of a misspelt key', () => {
    expect(flowProblems('node:\n  - type: http\n    url: /x\n').map(onOneLine)).toEqual([
      '1:1 unknown key "node"; did you mean "nodes"?',
      '3:10 expected an absolute URL such as https://api.example.com/..., found "/x"',
    ]);
  });
});

describe('an unknown key at any level', () => {
  test.each([
    [
      'the flow',
      'connectoins: {}\nnodes: [{ type: http, url: "https://a.com" }]',
      '1:1 unknown key "connectoins"; did you mean "connections"?',
    ],
    [
      'a connection',
      'connections: { a: { type: http, base_url: "https://a.com", allowhttp: true } }\nnodes: [{ type: set }]',
      '1:60 unknown key "allowhttp"; did you mean "allow_http"?',
    ],
    ['a node', 'nodes: [{ type: http, url: "https://a.com", heders: {} }]', '1:45 unknown key "heders"; did you mean "headers"?'],
    [
      'a node that has its name in other tools',
      'nodes: [{ type: http, method: POST, url: "https://a.com", json: { a: 1 } }]',
      '1:59 unknown key "json"; did you mean "body"?',
    ],
    [
      'a node for the parameters of its URL',
      'nodes: [{ type: http, url: "https://a.com", params: { a: 1 } }]',
      '1:45 unknown key "params"; parameters belong into the url: "...?name={{field}}"',
    ],
    [
      'a set node with the name of a body',
      'nodes: [{ type: set, data: {} }]',
      '1:22 unknown key "data"; expected one of type, id, when, on_error, rename, fields, remove, keep',
    ],
    ['a set node', 'nodes: [{ type: set, field: {} }]', '1:22 unknown key "field"; did you mean "fields"?'],
    [
      'retry',
      'nodes: [{ type: http, url: "https://a.com", retry: { maxwait: 1s } }]',
      '1:54 unknown key "maxwait"; did you mean "max_wait"?',
    ],
    [
      'backoff',
      'nodes: [{ type: http, url: "https://a.com", retry: { backoff: { inital: 1s } } }]',
      '1:65 unknown key "inital"; did you mean "initial"?',
    ],
    [
      'auth',
      'nodes: [{ type: http, url: "https://a.com", auth: { type: bearer, credential: x, credentials: y } }]',
      '1:82 unknown key "credentials"; did you mean "credential"?',
    ],
    ['a computed field', 'nodes: [{ type: set, fields: { a: { cel: "1", cell: 2 } } }]', '1:47 unknown key "cell"; did you mean "cel"?'],
    [
      'a mapping of which another variant has the key',
      'nodes: [{ type: http, method: POST, url: "https://a.com", form: { f: { file: a.txt, cel: 5 } } }]',
      '1:85 the key "cel" does not go together with the other keys here',
    ],
    [
      'auth, if only other auth types have the key',
      'nodes: [{ type: http, url: "https://a.com", auth: { type: none, credential: x } }]',
      '1:65 unknown key "credential"; expected one of type',
    ],
    [
      'paginate, if only other pagination types have the key',
      'nodes: [{ type: http, url: "https://a.com", map: [a], paginate: { type: cursor, path: a, param: b, size: 5 } }]',
      '1:100 unknown key "size"; expected one of type, path, param, from, in, max, until, items',
    ],
  ])('is reported in %s', (_where, yaml, problem) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual([problem]);
  });

  test('is reported with all valid keys if no valid key is similar', () => {
    expect(flowProblems('nodes: [{ type: set }]\nbanana: 1').map(onOneLine)).toEqual([
      '2:1 unknown key "banana"; expected one of name, description, connections, vars, open_vars, allow_hosts, columns, serial_by, nodes',
    ]);
  });

  test('can be __proto__', () => {
    expect(ofNode('__proto__: {}').map(onOneLine)[0]).toMatch(/^4:5 unknown key "__proto__"/);
  });
});

describe('a value of the wrong kind in a flow', () => {
  test.each([
    ['retry: 5', '4:12 expected a mapping such as retry: { max: 5 }, found 5'],
    ['retry: { max: -1 }', '4:19 expected at least 0, found -1'],
    ['retry: { max: many }', '4:19 expected a number, found "many"'],
    ['retry: { on: 5xx }', '4:18 expected a list, found "5xx"'],
    [
      'retry: { backoff: [1s] }',
      '4:23 expected a duration such as 1s, or { initial: 1s, factor: 2, max: 60s, jitter: true }, found a list',
    ],
    ['retry: { backoff: { factor: 0.5 } }', '4:33 expected at least 1, found 0.5'],
    ['timeout: 0', '4:14 expected a timeout from 1ms to 24d'],
    ['timeout: 30d', '4:14 expected a timeout from 1ms to 24d'],
    ['rate: 10', '4:11 expected a rate such as 10/s, 600/min, 5000/h, found 10'],
    ['rate: fast', '4:11 expected a rate such as 10/s, 600/min, 5000/h, found "fast"'],
    ['concurrency: .inf', '4:18 expected a whole number from 1 to 10000, or auto, found Infinity'],
    ['concurrency: 1.5', '4:18 expected a whole number from 1 to 10000, or auto, found 1.5'],
    ['success: 200', '4:14 expected a list, found 200'],
    ['success: []', '4:14 expected at least one, found an empty list'],
    ['success: [2yy]', '4:15 expected a status such as 200, or a class such as 2xx, found "2yy"'],
    ['response: xml', '4:15 expected auto, json or text, found "xml"'],
    [
      'method: get',
      '4:13 expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND, found "get"; did you mean "GET"?',
    ],
    [
      'method: PROPFIN',
      '4:13 expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND, found "PROPFIN"; did you mean "PROPFIND"?',
    ],
    ['method: TRACE', '4:13 expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND, found "TRACE"'],
    ['success: ""', '4:14 expected a list, found ""'],
    ['max_body: 10XB', '4:15 expected a size such as 10MB, found "10XB"'],
    ['idempotency_key: yes', '4:22 expected true, false or text with {{field}}, found "yes"'],
    ['on_error: ignore', '4:15 expected reject, keep or stop, found "ignore"'],
    ['when_empty: skip', '4:17 expected keep, drop or error, found "skip"'],
    ['when: 5', '4:11 expected a CEL expression such as status == "done", found 5'],
    ['when: 1 + 1', '4:11 expected a condition that is true or false, found one that gives int'],
    ['when: "{{id}} == 1"', '4:12 expected fields without braces, as in: id == 1'],
    ['when: loop == 1', '4:11 "loop" is a reserved word of CEL'],
    ['map: data.name', '4:10 expected a list of paths, or a mapping of field names to paths, found "data.name"'],
    ['map: { name: [a] }', '4:18 expected a path, or { path: P, required: true } or { path: P, default: V }, found a list'],
    ['map: { name: { path: a, required: yes } }', '4:39 expected true or false, found "yes"'],
    ['map: { name: { path: a, requird: true } }', '4:29 unknown key "requird"; did you mean "required"?'],
    ['map: { name: { required: true } }', '4:18 the key "path" is missing'],
    [
      'map: { name: { path: a, required: true, default: 1 } }',
      '4:54 expected required or default: a path with a default always finds something',
    ],
    [
      'map: { name: { path: ".a" } }',
      '4:26 expected a path such as data.user.name, results[0].value, items[].id or ["odd key"], found ".a"; did you mean a?',
    ],
    ['map: [{ path: a }]', '4:11 expected a path (a mapping of names to paths has no dashes), found a mapping'],
    ['map: { "": a }', '4:12 expected a field name, found an empty string'],
    ['headers: { "X Y": 1 }', '4:16 expected a header name such as X-Request-Id'],
    ['headers: { Content-Length: 5 }', '4:16 the header "Content-Length" is set by automate; leave it out'],
    ['headers: { transfer-encoding: chunked }', '4:16 the header "transfer-encoding" is set by automate; leave it out'],
    ['headers: { Keep-Alive: timeout=5 }', '4:16 the header "Keep-Alive" is set by automate; leave it out'],
    ['headers: { Upgrade: h2c }', '4:16 the header "Upgrade" is set by automate; leave it out'],
    ['headers: { Expect: 100-continue }', '4:16 the header "Expect" is set by automate; leave it out'],
    ['headers: { X-A: 1, x-a: 2 }', '4:24 the header "x-a" is given twice, also as "X-A"'],
    ['headers: { X-A: null }', '4:21 expected a string, a number, true or false, found nothing'],
    ['headers: { X-A: "a\\nb" }', '4:21 the header "X-A" must not contain a line break or another control character'],
    ['id: "a b"', '4:9 expected a name of letters, digits, dots, dashes and underscores'],
    ['body: 5', '4:11 expected a mapping, a list, or JSON text, found 5'],
    ['cache: often', expect.stringMatching(/^4:12 expected a duration/)],
    ['connection: crm', '4:17 no connection "crm"; the flow has none, and none is saved'],
  ])('is reported with what was expected: %s', (line, problem) => {
    expect(ofNode(line).map(onOneLine)).toEqual([problem]);
  });

  test.each([
    ['', '1:1 expected a flow with a list of nodes, found an empty file'],
    ['# nothing but a comment\n', '1:1 expected a flow with a list of nodes, found an empty file'],
    ['hello', '1:1 expected a flow: a mapping with the key nodes, found "hello"'],
    ['- type: http', '1:1 expected a flow: a mapping with the key nodes, found a list'],
    ['name: x', '1:1 the key "nodes" is missing'],
    ['name: 503\nnodes: [{ type: set, fields: { a: 1 } }]', '1:7 expected a string such as "503", with quotes, found 503'],
    ['name: true\nnodes: [{ type: set, fields: { a: 1 } }]', '1:7 expected a string such as "true", with quotes, found true'],
    ['nodes:', '1:7 expected a list of nodes, found nothing'],
    ['nodes: {}', '1:8 expected a list of nodes, found a mapping'],
    ['nodes: []', '1:8 expected at least one node, found an empty list'],
    ['nodes: [5]', `1:9 a node needs a type; expected ${types}`],
    ['nodes: [{ typ: http }]', '1:11 unknown key "typ"; did you mean "type"?'],
    ['nodes: [{ type: 5 }]', `1:9 a node needs a type; expected ${types}`],
    ['nodes: [{ type: webhook }]', `1:17 no node type "webhook"; expected ${types}`],
    ['name: [x]\nnodes: [{ type: set }]', '1:7 expected a string, found a list'],
    ['allow_hosts: intranet\nnodes: [{ type: set }]', '1:14 expected a list, found "intranet"'],
    ['allow_hosts: [https://a.com/]\nnodes: [{ type: set }]', '1:15 expected a host such as intranet.example.com or 10.0.0.7:8080'],
  ])('is reported if the whole file is %j', (yaml, problem) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual([problem]);
  });

  test.each(['GET', 'HEAD', 'DELETE'])('is reported if a node with the method %s has a body', (method) => {
    expect(ofNode(`method: ${method}`, 'body: { a: 1 }').map(onOneLine)).toEqual([
      `5:11 a ${method} request has no body; expected a method such as POST, PUT or PATCH`,
    ]);
  });

  test.each([
    ["'{'", "the body is not JSON: Expected property name or '}' in JSON at position 1"],
    ['"hello {{name}}"', 'the body is not JSON for any record: '],
    [
      `'{"id": {{customer_id}}, "name": "{{name}}",}'`,
      'the body is not JSON for any record: Expected double-quoted property name in JSON at position 43',
    ],
    ['{ a: .nan }', 'JSON has no number for infinity or "not a number"'],
  ])('is reported if the body %s can never become JSON', (body, message) => {
    expect(ofNode('method: POST', `body: ${body}`).map(onOneLine)).toEqual([expect.stringContaining(`5:11 ${message}`)]);
  });
});

describe('a flow', () => {
  test('creates default ids from the type and position of each node, as in http-2', () => {
    const plan = planFor('nodes: [{ type: set }, { type: http, url: "https://a.com" }, { type: set, id: tidy }, { type: set }]');
    expect(plan.steps.map(({ id }) => id)).toEqual(['set-1', 'http-2', 'tidy', 'set-4']);
  });

  test('is refused if two nodes have the same id, even a default id or the id of an invalid node', () => {
    expect(
      flowProblems(
        'nodes:\n  - { type: set, id: set-2 }\n  - { type: set }\n  - { type: set, id: a, x: 1 }\n  - { type: set, id: a }\n',
      ).map(onOneLine),
    ).toEqual([
      '3:5 two nodes have the id "set-2"',
      '4:25 unknown key "x"; expected one of type, id, when, on_error, rename, fields, remove, keep',
      '5:22 two nodes have the id "a"',
    ]);
  });

  test('has the name of its file unless it sets a name', () => {
    expect(planFor('name: mine\nnodes: [{ type: set }]').name).toBe('mine');
    expect(planFor('nodes: [{ type: set }]').name).toBe('flow');
  });
});

test.each([
  [
    '{ type: http, url: "https://a.com/", retri: { maxx: 3, on: [5x] } }',
    ['unknown key "retri"', 'unknown key "maxx"', 'expected a status'],
  ],
  [
    '{ type: http, url: "https://a.com/", retry: { maxx: 3, bakoff: { initail: 1s, factr: 0 } } }',
    ['unknown key "maxx"', 'unknown key "bakoff"', 'unknown key "initail"', 'unknown key "factr"', 'expected at least 1, found 0'],
  ],
  ['{ type: http, url: "https://a.com/", auth: { type: api_key, haeder: X, credential: k } }', ['unknown key "haeder"']],
  [
    '{ type: loop, whiel: "n <", carry: tok, nodes: [{ type: http, felds: 1, url: "https://a.com/{{tok}}" }] }',
    ['unknown key "whiel"', 'not a CEL expression', 'expected a list, found "tok"', 'unknown key "felds"'],
  ],
])('the value of a misspelt key is checked as if the key were correct: %s', (node, problems) => {
  const found = flowProblems(`nodes: [${node}]`, { header: ['id'] });
  expect(found.map(({ message }) => message)).toEqual(problems.map((problem) => expect.stringContaining(problem)));
});
