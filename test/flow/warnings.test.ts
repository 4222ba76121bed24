// biome-ignore-all lint/suspicious/noTemplateCurlyInString: flows contain text that looks like a reference
import { describe, expect, test } from 'vitest';
import { planFor, shown } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const warnings = (yaml: string) => planFor(yaml).warnings();

test('text that looks like a reference causes a warning at its position, with the correct form', () => {
  const found = warnings('nodes:\n  - type: http\n    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}\n');
  expect(found.map(shown)).toEqual([
    [
      '3:31 {{first-name}} is not a reference and stays text; a name can contain only letters, digits and underscores',
      '    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}',
      '                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^',
    ].join('\n'),
    [
      '3:48 {{ email }} is not a reference and stays text; a name can contain only letters, digits and underscores',
      '    url: https://a.com/{{id}}/{{first-name}}?q={{ email }}',
      '                                               ^^^^^^^^^^^',
    ].join('\n'),
  ]);
  expect(found.map(({ message }) => message.split('\n')[1])).toEqual([
    'give the column a name at the top of the flow:',
    'drop the spaces: {{email}}',
  ]);
});

test("a reference in a different tool's syntax in a URL causes a warning with the correct form", () => {
  const found = warnings(`nodes:\n  - type: http\n    url: https://a.com/{id}/\${name}/<größe>/{{id}}?q={}&r={a b}&s={{{id}}}\n`);
  expect(found.map(({ column, message }) => `${column} ${message.replace('\n', ' · ')}`)).toEqual([
    '24 {id} is not a reference and stays text; a reference has two braces · write {{id}}',
    `29 \${name} is not a reference and stays text; a reference has two braces · write {{name}}`,
    '37 <größe> is not a reference and stays text; a reference has two braces · write {{größe}}',
  ]);
  expect(warnings('nodes:\n  - type: http\n    url: https://a.com:8443/:id/x:run/:name?q=/:a-b\n').map(shown)).toEqual([
    expect.stringMatching(/^3:29 :id is not a reference .*/),
    expect.stringMatching(/^3:39 :name is not a reference .*/),
  ]);
  expect(warnings(`nodes: [{ type: http, method: POST, url: https://a.com, body: '{"a": "{b} <c> \${d}"}' }]`)).toEqual([]);
});

const shellVariable = `\${API_KEY}`;

test.each([`headers: { x: "${shellVariable}" }`, `body: { a: "b ${shellVariable}" }`, `text: "${shellVariable}"`])(
  'a variable of the shell in %s causes a warning, because a flow does not replace it',
  (option) => {
    const [found, ...others] = warnings(`nodes: [{ type: http, method: POST, url: https://a.com, ${option} }]`);
    expect(others).toEqual([]);
    expect(found?.message.split('\n')).toEqual([
      `${shellVariable} is not a reference and stays text; a reference has two braces`,
      'a flow does not see the variables of the shell',
      'declare it in the flow: vars: { api_key: VALUE }, and write {{vars.api_key}}',
      'or, for a field of the record, write {{API_KEY}}',
    ]);
  },
);

test('a path in double braces causes a warning that shows three ways to get the value', () => {
  const [first] = warnings('nodes: [{ type: set, fields: { a: "{{user.names[0]}}" } }]');
  expect(first?.message.split('\n').slice(1)).toEqual([
    'if it is a value inside a field, take it out with a set node first: fields: { user_names_0: { cel: "user.names[0]" } }',
    'if a map adds it, rename it there: map: { user_names_0: "user.names[0]" }',
    'if a column has this name, give the column a name at the top of the flow:',
    'columns:',
    '  user_names_0: "user.names[0]"',
  ]);
});

test.each([
  ['{{ $json.id }}', ['write {{id}}']],
  ['{{$json["id"]}}', ['write {{id}}']],
  ['{{.id}}', ['write {{id}}']],
  ['={{ $json.id }}', ['write {{id}}, and no = in front']],
  ["{{ $json['first name'] }}", ['give the column a name at the top of the flow:', 'columns:', '  first_name: first name']],
  [
    '{{ $json.user.id }}',
    [
      'if it is a value inside a field, take it out with a set node first: fields: { user_id: { cel: "user.id" } }',
      'if a map adds it, rename it there: map: { user_id: "user.id" }',
      'if a column has this name, give the column a name at the top of the flow:',
      'columns:',
      '  user_id: user.id',
    ],
  ],
  ['{{ secrets.TOKEN }}', ['name it in auth: { type: bearer, credential: NAME }; in a body or a form write { credential: NAME }']],
  ['{{ user. }}', ['give the column a name at the top of the flow:', 'columns:', '  user: user.']],
])('a warning translates the syntax of a different tool: %s', (text, advice) => {
  const [first] = warnings(`nodes: [{ type: set, fields: { a: '${text.replaceAll("'", "''")}' } }]`);
  expect(first?.message.split('\n').slice(1)).toEqual(advice);
});

test.each([
  ['{{record.id}}', 'if you mean the field "id", write {{id}}'],
  ['{{ steps.ask.id }}', 'if you mean the field "id", write {{id}}'],
  ['{{id.x}}', 'if it is a value inside a field, '],
  ['{{record.x}}', 'if it is a value inside a field, '],
  ['{{var.host}}', 'write {{vars.host}}'],
  ['{{variables.port}}', 'if it is a value inside a field, '],
])('a warning about %s knows the fields of the input and the variables', (text, advice) => {
  const plan = planFor(`vars: { host: a }\nnodes: [{ type: set, fields: { a: '${text} {{vars.host}}' } }]`, { variables: {} });
  const [first] = plan.warnings(['id', 'name']);
  expect(first?.message.split('\n')[1]).toContain(advice);
});

test.each([
  ['headers', 'nodes: [{ type: http, url: "https://a.com", headers: { X: "{{a.b}}" } }]', '{{a.b}}'],
  ['a body', 'nodes: [{ type: http, url: "https://a.com", method: POST, body: { a: ["{{ a }}"] } }]', '{{ a }}'],
  ['a name in a body', 'nodes: [{ type: http, url: "https://a.com", method: POST, body: { "{{ a }}": 1 } }]', '{{ a }}'],
  ['set', 'nodes: [{ type: set, fields: { a: "{{first name}}" } }]', '{{first name}}'],
  ['a URL with unclosed braces', 'nodes: [{ type: http, url: "https://a.com/{{id" }]', '{{id'],
  ['text with half-closed braces', 'nodes: [{ type: set, fields: { a: "{{id} {{id}}" } }]', '{{id}'],
  [
    'a connection',
    'connections: { a: { type: http, base_url: "https://a.com", headers: { X: "{{ a }}" } } }\nnodes: [{ type: set }]',
    '{{ a }}',
  ],
])('a misspelt reference causes a warning in %s', (_where, yaml, text) => {
  expect(warnings(yaml).map(({ message }) => message.split(' is not a reference')[0])).toEqual([text]);
});

test('valid references and other uses of braces cause no warning', () => {
  expect(
    warnings('nodes: [{ type: http, url: "https://a.com/{{id}}?a={b:1}&c={}", method: POST, body: { "{{id}}": "{{id}}", a: { b: {} } } }]'),
  ).toEqual([]);
});

test.each([
  ['when: age == 18', '1:51', 'age == "18"'],
  ['when: "has(age) && 18 != age"', '1:70', '"18" != age'],
  ['when: 1.5 == age', '1:58', '"1.5" == age'],
])('a comparison of a CSV cell with a number causes a warning, because it is never true: %s', (more, place, asText) => {
  const found = warnings(`nodes: [{ type: http, url: "https://a.com", ${more} }]`);
  expect(found.map(({ line, column, message }) => [`${line}:${column}`, message])).toEqual([
    [place, `a CSV cell is text, and never equals a number\nconvert it: int(age) or double(age)\nor compare it with text: ${asText}`],
  ]);
});

test.each([
  ['age in [17, 18]', 0, 'age in ["17", "18"]'],
  ['age in [17, "18"]', 0, 'age in ["17", "18"]'],
  ['!(age in [17, -18.5])', 2, 'age in ["17", "-18.5"]'],
  ['age in [int(id), size(id)]', 0, undefined],
  ['17 in [age]', 7, '"17" in [age]'],
  ['age != 17', 0, 'age != "17"'],
  ['age == -17', 0, 'age == "-17"'],
  ['age == 5u', 0, 'age == "5"'],
  ['age == int(id) + 1', 0, undefined],
  ['dyn(age) == 17', 4, 'dyn(age) == "17"'],
  ['age == (id == "1" ? 17 : 18)', 0, undefined],
  ['[17, 18].exists(x, x == age)', 24, undefined],
  ['[17, 18].all(x, age != x)', 16, undefined],
])('a comparison of a CSV cell with numbers causes a warning, because they are never equal: %s', (where, offset, asText) => {
  const found = warnings(`nodes:\n  - type: filter\n    where: '${where}'\n`);
  const text = asText === undefined ? '' : `\nor compare it with text: ${asText}`;
  expect(found.map(({ line, column, message }) => [line, column, message])).toEqual([
    [3, 13 + offset, `a CSV cell is text, and never equals a number\nconvert it: int(age) or double(age)${text}`],
  ]);
});

test.each([
  ['active == true', 0, 'active == "true"'],
  ['active == false', 0, 'active == "false"'],
  ['active != true', 0, 'active != "true"'],
  ['false != active', 9, '"false" != active'],
  ['active in [true, false]', 0, 'active in ["true", "false"]'],
  ['active == (id == "17")', 0, 'active == string(id == "17")'],
  ['[true].exists(x, x == active)', 22, 'string(x) == active'],
])('a comparison of a CSV cell with true or false causes a warning, because they are never equal: %s', (where, offset, asText) => {
  const found = warnings(`nodes:\n  - type: filter\n    where: '${where}'\n`);
  expect(found.map(({ line, column, message }) => [line, column, message])).toEqual([
    [3, 13 + offset, `a CSV cell is text, and never equals true or false\ncompare it with text: ${asText}`],
  ]);
  expect(warnings(`nodes:\n  - type: filter\n    where: '${asText}'\n`)).toEqual([]);
});

test.each([
  ['id == timestamp("2026-01-01T00:00:00Z")', 0, 'and never equals a timestamp\nconvert it: timestamp(id)'],
  ['id < now()', 0, 'so this operation with a timestamp fails\nconvert it: timestamp(id)'],
  ['id != duration("1h")', 0, 'and never equals a duration\nconvert it: duration(id)'],
  ['id == [17]', 0, 'and never equals a list\ncompare it with text: id in ["17"]'],
  ['["a", 17] == id', 13, 'and never equals a list\ncompare it with text: id in ["a", "17"]'],
  ['id != [17, 18]', 0, 'and never equals a list\ncompare it with text: !(id in ["17", "18"])'],
  ['id == null', 0, 'and never equals null\ncompare it with text: id == ""'],
  ['null != id', 8, 'and never equals null\ncompare it with text: "" != id'],
  ['id in [null, "x"]', 0, 'and never equals null\ncompare it with text: id in ["", "x"]'],
  ['type(id) == int', 5, 'and its type is always string\ntest its text: id.matches("^-?[0-9]+$")'],
  ['type(id) in [int, double]', 5, 'and its type is always string\ntest its text: id.matches("^-?[0-9]+$")'],
])('a use of a CSV cell that makes no sense for text causes a warning: %s', (where, offset, message) => {
  const found = warnings(`nodes:\n  - type: filter\n    where: '${where}'\n`);
  expect(found.map(({ line, column, message }) => [line, column, message])).toEqual([[3, 13 + offset, `a CSV cell is text, ${message}`]]);
});

test.each([
  ['has(name.first)', 4],
  ['!has(name.first)', 5],
  ['has(name.first.letter)', 4],
])('a test with has() for a member of a CSV cell causes a warning: %s', (where, offset) => {
  const found = warnings(`nodes:\n  - type: filter\n    where: '${where}'\n`);
  expect(found.map(({ line, column, message }) => [line, column, message])).toEqual([
    [
      3,
      13 + offset,
      'a CSV cell is text without members, so has() is false for every record\nremove the condition, or test the cell itself: has(name)',
    ],
  ]);
});

test('a comparison of a copied CSV cell with a number causes a warning', () => {
  const yaml = `nodes:
  - { type: set, fields: { same: { cel: id }, number: { cel: int(id) } } }
  - { type: filter, where: same == 17 || number == 17 }
`;
  expect(warnings(yaml).map(({ message }) => message.split('\n').at(-1))).toEqual(['or compare it with text: same == "17"']);
});

test.each([
  ['fail_when: "record.age == 17 || status == 404"', 'age', '1:72'],
  ['retry_when: "record.age in [17]"', 'age', '1:73'],
  ['paginate: { type: link_header, until: record.age == 17 }', 'age', '1:98'],
])('a condition about an answer causes a warning if it compares a cell of the record with a number: %s', (more, field, place) => {
  const found = warnings(`nodes: [{ type: http, url: "https://a.com", map: { a: b }, ${more} }]`);
  expect(found.map(({ line, column, message }) => [`${line}:${column}`, message.split('\n')[1]])).toEqual([
    [place, `convert it: int(record.${field}) or double(record.${field})`],
  ]);
});

test.each([
  '{ type: loop, while: n == 1, nodes: [{ type: set }] }',
  '{ type: poll, until: n == true, nodes: [{ type: set }] }',
  '{ type: poll, until: n == "1", fail_when: "n in [1]", nodes: [{ type: set }] }',
  '{ type: set, when: n == true }',
  '{ type: set, fields: { a: { cel: "n in [1]" } } }',
  '{ type: http, method: POST, url: "https://a.com", body: { a: { cel: "n == true" } } }',
])('a comparison of a CSV cell causes a warning in every node: %s', (node) => {
  expect(warnings(`nodes: [${node}]`)).toHaveLength(1);
});

test.each([
  ['type: set, fields: { next: { cel: "age + 1" } }', '1:46'],
  ['type: set, fields: { next: { cel: "2.5 * age" } }', '1:52'],
  ['type: set, when: "age >= 18"', '1:29'],
])('arithmetic with a CSV cell and a number causes a warning, because it always fails: %s', (node, place) => {
  expect(warnings(`nodes: [{ ${node} }]`).map(({ line, column, message }) => [`${line}:${column}`, message])).toEqual([
    [place, 'a CSV cell is text, so this operation with a number fails\nconvert it: int(age) or double(age)'],
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
  `when: 'age in ["17", "18"]'`,
  `when: 'age in [17, "17"]'`,
  `when: 'type(age) == string'`,
  'when: "age in []"',
  'when: age in ages',
  'when: active == "true"',
  'when: bool(active) == true',
  'when: "has(active) == true"',
  `when: 'age == null || age == ""'`,
  `when: 'age in [null, ""]'`,
  'when: "ages.exists(age, age == 1)"',
  'fail_when: "body.age == 17 || status in [404]"',
  'fail_when: "body.all(record, record.age == 17)"',
])('an expression such as %s causes no warning', (more) => {
  expect(warnings(`nodes: [{ type: http, url: "https://a.com", ${more} }]`)).toEqual([]);
});

test('a comparison of a number with a field from a response or an expression causes no warning', () => {
  const yaml = `nodes:
  - { type: http, url: https://a.com, map: [status] }
  - { type: set, fields: { age: { cel: int(age) }, ok: { cel: status == 200 } } }
  - { type: set, when: age == 18, fields: { bad: { cel: id == 1 } } }
`;
  expect(warnings(yaml).map(({ line, column }) => `${line}:${column}`)).toEqual(['4:57']);
});

test('a comparison of a renamed CSV cell with a number causes a warning', () => {
  const yaml = `nodes:
  - { type: http, url: https://a.com, map: [status] }
  - { type: set, rename: { status: code, id: no }, fields: { ok: { cel: code == 200 }, bad: { cel: no == 1 } } }
  - { type: set, when: code == 200 && no == 1 }
`;
  expect(warnings(yaml).map(({ line, column }) => `${line}:${column}`)).toEqual(['3:100', '4:39']);
});

test('paths into a response that is read as text cause a warning, because they find nothing', () => {
  expect(warnings('nodes: [{ type: http, url: "https://a.com", response: text, map: { all: $body, s: $status } }]')).toEqual([]);
  const [warning] = warnings('nodes: [{ type: http, url: "https://a.com", response: text, map: { a: a.b, all: $body } }]');
  expect(warning && shown(warning).split('\n')[0]).toBe(
    '1:66 the answer is read as text: only $body, $status, $headers.NAME and facts such as $url find something in it',
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
])('a credential causes a warning if no request would send it: %s', (url, expected) => {
  const node = (url: string) => `{ type: http, url: "${url}", auth: { type: bearer, credential: key } }`;
  const starts = (yaml: string) => warnings(yaml).map(({ message }) => message.split(':')[0]);
  expect(starts(`nodes: [${node(url)}]`)).toEqual(expected);
  expect(starts(`nodes: [${node(url)}, { type: http, url: "https://a.com/{{id}}" }]`)).toEqual([]);
});

describe('a field that a loop carries', () => {
  const loop = (nodes: string, before = '') => planFor(`nodes: [${before}{ type: loop, while: n < 3, carry: [n], nodes: [${nodes}] }]`);
  const counting = '{ type: set, fields: { n: { cel: "has(n) ? n + 1 : 1" } } }';

  test.each([
    ['an expression', counting],
    ['a condition', '{ type: http, url: "https://a.com", when: "!has(n) || n > 0", map: [n] }'],
    ['an expression in a nested loop', `{ type: loop, while: m < 3, nodes: [${counting}, { type: set, fields: { m: 3 } }] }`],
    ['an expression over the renamed field', '{ type: set, rename: { n: k }, fields: { n: { cel: "has(k) ? k + 1 : 1" } } }'],
  ])('counts as a CSV cell only if the input has a column of that name: %s', (_, nodes) => {
    const plan = loop(nodes);
    expect(plan.warnings()).toEqual([]);
    expect(plan.warnings(['id'])).toEqual([]);
    expect(plan.warnings(['id', 'n'])).toEqual([expect.objectContaining({ message: expect.stringContaining('a CSV cell is text') })]);
  });

  test('does not count as a CSV cell if an earlier node removes or renames the field', () => {
    for (const before of ['rename: { n: old }', 'remove: [n]'])
      expect(loop(counting, `{ type: set, ${before} }, `).warnings(['id', 'n'])).toEqual([]);
    expect(loop(counting, '{ type: set, when: id == "1", remove: [n] }, ').warnings(['id', 'n'])).toHaveLength(1);
  });

  test('like any other field, does not count as a CSV cell if the input lacks the column', () => {
    const plan = planFor('nodes: [{ type: set, when: cuont == 1, fields: { a: 1 } }]');
    expect([plan.warnings().length, plan.warnings(['count']), plan.warnings(['cuont']).length]).toEqual([1, [], 1]);
  });

  test('causes a warning in arithmetic if a set node filled it from a template, which makes it a string', () => {
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
])('a page number in the URL that differs from the page number in paginate causes a warning: %s, %s', (query, paginate, message) => {
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
])('a page number in the URL that equals the page number in paginate, or is missing, causes no warning: %s, %s', (query, paginate) => {
  expect(warnings(`nodes: [{ type: http, url: "https://a.com/${query}", paginate: { ${paginate} }, map: [x] }]`)).toEqual([]);
});

test('the warning about a path in double braces suggests a set node that works', async () => {
  const [warning] = planFor('nodes: [{ type: http, url: "https://a.com/{{nested.k[0]}}" }]').warnings();
  const fields = /fields: (\{.*\})$/m.exec(warning?.message ?? '')?.[1];
  const yaml = `nodes: [{ type: set, fields: ${fields} }, { type: http, url: "https://a.com/{{nested_k_0}}" }]`;
  expect((await runFlow(yaml, [{ nested: { k: ['v'] } }])).requests.map(({ url }) => url)).toEqual(['https://a.com/v']);
});

describe('a duration below 1,000 without a unit', () => {
  const ofNode = (options: string) => warnings(`nodes: [{ type: http, url: "https://a.com", ${options} }]`).map(({ message }) => message);

  test.each([
    ['timeout: 30', 'timeout: 30'],
    ['timeout: "999"', 'timeout: 999'],
    ['cache: 60', 'cache: 60'],
    ['retry: { backoff: 5, max_wait: 60000 }', 'backoff: 5'],
    ['retry: { backoff: { initial: 1, max: 10s } }', 'initial: 1'],
    ['retry: { max_wait: 300 }', 'max_wait: 300'],
  ])('is in ms, of which %s warns', (options, written) => {
    const [, found = ''] = /: (\d+)/.exec(written) ?? [];
    expect(ofNode(options)).toEqual([`${written} is ${found} ms\nwrite ${written}s for seconds, or ${written}ms if that is meant`]);
  });

  test('is pointed at, also in a poll', () => {
    const yaml =
      'nodes:\n  - type: poll\n    every: 5\n    until: done == "yes"\n    nodes: [{ type: http, url: "https://a.com", timeout: 30 }]\n';
    expect(warnings(yaml).map(({ line, column, message }) => [line, column, message.split('\n')[0]])).toEqual([
      [3, 12, 'every: 5 is 5 ms'],
      [5, 58, 'timeout: 30 is 30 ms'],
    ]);
  });

  test.each(['timeout: 1000', 'timeout: 30ms', 'timeout: 0.5s', 'cache: 0', 'retry: { backoff: 0 }', 'retry: { max: 3 }'])(
    'is not meant by %s',
    (options) => expect(ofNode(options)).toEqual([]),
  );
});
