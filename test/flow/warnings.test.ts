import { describe, expect, test } from 'vitest';
import { planFor, shown } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const warnings = (yaml: string) => planFor(yaml).warnings();

test('a text that looks like a reference is warned of at its place, with the way out', () => {
  const found = warnings('nodes:\n  - type: http\n    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}\n');
  expect(found.map(shown)).toEqual([
    [
      '3:31 {{first-name}} is not a reference and stays text; a name holds only letters, digits and underscores',
      '    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}',
      '                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^',
    ].join('\n'),
    [
      '3:48 {{ email }} is not a reference and stays text; a name holds only letters, digits and underscores',
      '    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}',
      '                                               ^^^^^^^^^^^',
    ].join('\n'),
  ]);
  expect(found.map(({ message }) => message.split('\n')[1])).toEqual([
    'rename the field with a set node first: rename: { "first-name": first_name }',
    'drop the spaces: {{email}}',
  ]);
});

test('a reference of another tool in a URL is warned of with the form of this one', () => {
  const found = warnings(`nodes:\n  - type: http\n    url: https://a.com/{id}/\${name}/<größe>/{{id}}?q={}&r={a b}&s={{{id}}}\n`);
  expect(found.map(({ column, message }) => `${column} ${message.replace('\n', ' · ')}`)).toEqual([
    '24 {id} is not a reference and stays text; a reference has two braces · write {{id}}',
    `29 \${name} is not a reference and stays text; a reference has two braces · write {{name}}`,
    '37 <größe> is not a reference and stays text; a reference has two braces · write {{größe}}',
  ]);
  expect(warnings(`nodes: [{ type: http, method: POST, url: https://a.com, body: '{"a": "{b} <c> \${d}"}' }]`)).toEqual([]);
});

test('a path in braces is warned of with a map that gives it a name', () => {
  const [first] = warnings('nodes: [{ type: set, fields: { a: "{{user.names[0]}}" } }]');
  expect(first?.message.split('\n').slice(1)).toEqual([
    'if it is a value inside a field, take it out with a set node first: fields: { user_names_0: { cel: "user.names[0]" } }',
    'if a map adds it, name it there: map: { user_names_0: "user.names[0]" }',
    'if a column has this name, rename the field with a set node first: rename: { "user.names[0]": user_names_0 }',
  ]);
});

test.each([
  ['{{ $json.id }}', ['write {{id}}']],
  ['{{$json["id"]}}', ['write {{id}}']],
  ['{{.id}}', ['write {{id}}']],
  ['={{ $json.id }}', ['write {{id}}, and no = in front']],
  ["{{ $json['first name'] }}", ['rename the field with a set node first: rename: { "first name": first_name }']],
  [
    '{{ $json.user.id }}',
    [
      'if it is a value inside a field, take it out with a set node first: fields: { user_id: { cel: "user.id" } }',
      'if a map adds it, name it there: map: { user_id: "user.id" }',
      'if a column has this name, rename the field with a set node first: rename: { "user.id": user_id }',
    ],
  ],
  ['{{ user. }}', ['rename the field with a set node first: rename: { "user.": user }']],
])('the syntax of another tool is translated: %s', (text, advice) => {
  const [first] = warnings(`nodes: [{ type: set, fields: { a: '${text.replaceAll("'", "''")}' } }]`);
  expect(first?.message.split('\n').slice(1)).toEqual(advice);
});

test.each([
  ['headers', 'nodes: [{ type: http, url: "https://a.com", headers: { X: "{{a.b}}" } }]', '{{a.b}}'],
  ['a body', 'nodes: [{ type: http, url: "https://a.com", method: POST, body: { a: ["{{ a }}"] } }]', '{{ a }}'],
  ['a name in a body', 'nodes: [{ type: http, url: "https://a.com", method: POST, body: { "{{ a }}": 1 } }]', '{{ a }}'],
  ['set', 'nodes: [{ type: set, fields: { a: "{{first name}}" } }]', '{{first name}}'],
  ['a URL, unclosed', 'nodes: [{ type: http, url: "https://a.com/{{id" }]', '{{id'],
  ['a text, half closed', 'nodes: [{ type: set, fields: { a: "{{id} {{id}}" } }]', '{{id}'],
  [
    'a connection',
    'connections: { a: { type: http, base_url: "https://a.com", headers: { X: "{{ a }}" } } }\nnodes: [{ type: set }]',
    '{{ a }}',
  ],
])('a near reference is warned of in %s', (_where, yaml, text) => {
  expect(warnings(yaml).map(({ message }) => message.split(' is not a reference')[0])).toEqual([text]);
});

test('references and other braces cause no warning', () => {
  expect(
    warnings('nodes: [{ type: http, url: "https://a.com/{{id}}?a={b:1}&c={}", method: POST, body: { "{{id}}": "{{id}}", a: { b: {} } } }]'),
  ).toEqual([]);
});

test.each([
  ['when: age == 18', '1:51', 'age'],
  ['when: "has(age) && 18 != age"', '1:70', 'age'],
  ['when: 1.5 == age', '1:58', 'age'],
])('a CSV cell never equals a number: %s', (more, place, field) => {
  const found = warnings(`nodes: [{ type: http, url: "https://a.com", ${more} }]`);
  expect(found.map(({ line, column, message }) => [`${line}:${column}`, message])).toEqual([
    [place, `a CSV cell is a text and never equals a number\nconvert it: int(${field}) or double(${field})`],
  ]);
});

test.each([
  ['type: set, fields: { next: { cel: "age + 1" } }', '1:46'],
  ['type: set, fields: { next: { cel: "2.5 * age" } }', '1:52'],
  ['type: set, when: "age >= 18"', '1:29'],
])('a CSV cell fails in an operation with a number: %s', (node, place) => {
  expect(warnings(`nodes: [{ ${node} }]`).map(({ line, column, message }) => [`${line}:${column}`, message])).toEqual([
    [place, 'a CSV cell is a text: with a number this fails\nconvert it: int(age) or double(age)'],
  ]);
});

test.each([
  'when: int(age) == 18',
  'when: age == "18"',
  'when: int(age) > 18',
  'when: age > "18"',
  'when: size(age) == 2',
  'when: data.age == 18',
  'when: "[1, 2].exists(n, n == 1)"',
])('%s needs no warning', (more) => {
  expect(warnings(`nodes: [{ type: http, url: "https://a.com", ${more} }]`)).toEqual([]);
});

test('a field from an answer or an expression may equal a number', () => {
  const yaml = `nodes:
  - { type: http, url: https://a.com, map: [status] }
  - { type: set, fields: { age: { cel: int(age) }, ok: { cel: status == 200 } } }
  - { type: set, when: age == 18, fields: { bad: { cel: id == 1 } } }
`;
  expect(warnings(yaml).map(({ line, column }) => `${line}:${column}`)).toEqual(['4:57']);
});

test('a renamed CSV cell never equals a number', () => {
  const yaml = `nodes:
  - { type: http, url: https://a.com, map: [status] }
  - { type: set, rename: { status: code, id: no }, fields: { ok: { cel: code == 200 }, bad: { cel: no == 1 } } }
  - { type: set, when: code == 200 && no == 1 }
`;
  expect(warnings(yaml).map(({ line, column }) => `${line}:${column}`)).toEqual(['3:100', '4:39']);
});

test('paths into an answer that is read as text find nothing', () => {
  expect(warnings('nodes: [{ type: http, url: "https://a.com", response: text, map: { all: $body, s: $status } }]')).toEqual([]);
  const [warning] = warnings('nodes: [{ type: http, url: "https://a.com", response: text, map: { a: a.b, all: $body } }]');
  expect(warning && shown(warning).split('\n')[0]).toBe(
    '1:66 the answer is read as text: only $body, $status and $headers.NAME find something in it',
  );
  const placesOf = (more: string) =>
    warnings(`nodes: [{ type: http, url: "https://a.com", response: text, map: { all: $body }, ${more} }]`).map(({ column }) => column);
  expect(placesOf('paginate: { type: page, items: a }')).toEqual([92]);
  expect(placesOf('paginate: { type: cursor, path: a, param: b }')).toEqual([92]);
  expect(placesOf('paginate: { type: cursor, path: $headers.next, param: b }')).toEqual([]);
  expect(placesOf('method: POST, body: ["{{items}}"], batch: { items: "{{id}}", match: { field: id, path: "a[].b" } }')).toEqual([124]);
});

test.each([
  ['{{url}}', ['this credential is never sent']],
  ['https://a.com{{path}}', ['this credential is never sent']],
  ['https://a.com/{{path}}', []],
])('a credential that no request would get: %s', (url, expected) => {
  const node = (url: string) => `{ type: http, url: "${url}", auth: { type: bearer, credential: key } }`;
  const starts = (yaml: string) => warnings(yaml).map(({ message }) => message.split(':')[0]);
  expect(starts(`nodes: [${node(url)}]`)).toEqual(expected);
  expect(starts(`nodes: [${node(url)}, { type: http, url: "https://a.com/{{id}}" }]`)).toEqual([]);
});

describe('a carried field is a CSV cell if the input has that column', () => {
  const loop = (nodes: string, before = '') => planFor(`nodes: [${before}{ type: loop, while: n < 3, carry: [n], nodes: [${nodes}] }]`);
  const counting = '{ type: set, fields: { n: { cel: "has(n) ? n + 1 : 1" } } }';

  test.each([
    ['an expression', counting],
    ['a condition', '{ type: http, url: "https://a.com", when: "!has(n) || n > 0", map: [n] }'],
    ['an expression of a loop inside', `{ type: loop, while: m < 3, nodes: [${counting}, { type: set, fields: { m: 3 } }] }`],
    ['an expression under a new name', '{ type: set, rename: { n: k }, fields: { n: { cel: "has(k) ? k + 1 : 1" } } }'],
  ])('%s', (_, nodes) => {
    const plan = loop(nodes);
    expect(plan.warnings()).toEqual([]);
    expect(plan.warnings(['id'])).toEqual([]);
    expect(plan.warnings(['id', 'n'])).toEqual([expect.objectContaining({ message: expect.stringContaining('a CSV cell is a text') })]);
  });

  test('a removed field is not a CSV cell', () => {
    for (const before of ['rename: { n: old }', 'remove: [n]'])
      expect(loop(counting, `{ type: set, ${before} }, `).warnings(['id', 'n'])).toEqual([]);
    expect(loop(counting, '{ type: set, when: id == "1", remove: [n] }, ').warnings(['id', 'n'])).toHaveLength(1);
  });

  test('a field without a column is not a CSV cell', () => {
    const plan = planFor('nodes: [{ type: set, when: cuont == 1, fields: { a: 1 } }]');
    expect([plan.warnings().length, plan.warnings(['count']), plan.warnings(['cuont']).length]).toEqual([1, [], 1]);
  });

  test('a field made of CSV cells is a text: it is warned of', () => {
    expect(loop(counting, '{ type: set, fields: { n: "{{t}}" } }, ').warnings(['t'])).toHaveLength(1);
    expect(loop(counting, '{ type: set, fields: { n: 0 } }, ').warnings(['n'])).toEqual([]);
  });
});

test.each([
  ['?page=5&x=1', 'type: page, items: i', 'paginate replaces page=5 with page=1\nunder paginate, start says which page is the first'],
  [
    '?x=1&page={{id}}',
    'type: page, items: i',
    'paginate replaces page={{id}} with page=1\nunder paginate, start says which page is the first',
  ],
  [
    '?p=1',
    'type: page, param: p, start: 0, items: i',
    'paginate replaces p=1 with p=0\nunder paginate, start says which page is the first',
  ],
  [
    '?page=1&page=2',
    'type: page, items: i',
    'paginate replaces page=1&page=2 with page=1\nunder paginate, start says which page is the first',
  ],
  [
    '?my%5Bpage%5D=2',
    'type: page, param: "my[page]", items: i',
    'paginate replaces my%5Bpage%5D=2 with my[page]=1\nunder paginate, start says which page is the first',
  ],
  ['?offset=50', 'type: offset, size: 10, items: i', 'paginate replaces offset=50 with offset=0\nan offset starts at 0, the first item'],
])('pages that the URL counts from elsewhere: %s, %s', (query, paginate, message) => {
  const flow = `nodes: [{ type: http, url: "https://a.com/${query}", paginate: { ${paginate} }, map: [x] }]`;
  expect(warnings(flow).map((warning) => warning.message)).toEqual([message]);
});

test.each([
  ['?page=1', 'type: page, items: i'],
  ['?page=5', 'type: page, start: 5, items: i'],
  ['?mypage=5', 'type: page, items: i'],
  ['#page=5', 'type: page, items: i'],
  ['?x=1#?page=5', 'type: page, items: i'],
  ['?page=5', 'type: offset, size: 10, items: i'],
  ['?cursor=x', 'type: cursor, path: next, param: cursor'],
])('pages that the URL counts as paginate does, or not at all: %s, %s', (query, paginate) => {
  expect(warnings(`nodes: [{ type: http, url: "https://a.com/${query}", paginate: { ${paginate} }, map: [x] }]`)).toEqual([]);
});

test('the way out for {{nested.k}} works: a set node takes the value out of its field', async () => {
  const [warning] = planFor('nodes: [{ type: http, url: "https://a.com/{{nested.k[0]}}" }]').warnings();
  const fields = /fields: (\{.*\})$/m.exec(warning?.message ?? '')?.[1];
  const yaml = `nodes: [{ type: set, fields: ${fields} }, { type: http, url: "https://a.com/{{nested_k_0}}" }]`;
  expect((await runFlow(yaml, [{ nested: { k: ['v'] } }])).requests.map(({ url }) => url)).toEqual(['https://a.com/v']);
});
