import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';

/** The problems of the nodes for a table with these columns. */
const check = (header: string, ...nodes: string[]) =>
  flowProblems(`nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`, { header: header.split(',') }).map(onOneLine);

const http = (more: string) => `{ type: http, url: https://a.com/x, ${more} }`;

describe("references against a table's header", () => {
  test('a reference to an unknown field is reported at its place, with the nearest name', () => {
    const [problem] = flowProblems('nodes:\n  - type: http\n    url: https://a.com/users/{{user_id}}/{{emial}}\n', {
      header: ['user_id', 'email'],
    });
    expect(problem && shown(problem)).toBe(
      [
        '3:42 no record has a field "emial" here; did you mean "email"?',
        '    url: https://a.com/users/{{user_id}}/{{emial}}',
        '                                         ^^^^^^^^^',
      ].join('\n'),
    );
  });

  test.each([
    ['{ type: http, url: "https://a.com/{{x}}" }', '{{x}}'],
    [http('headers: { X-A: "a {{x}} {{id}}" }'), '{{x}} '],
    [http('method: POST, body: { a: [1, { b: "{{x}}" }] }'), '{{x}}'],
    [http('method: POST, body: { "{{x}}": 1 }'), '{{x}}'],
    [http('method: POST, body: \'{"a": {{x}}}\''), '{{x}}}'],
    [http('when: id == x'), 'x }'],
    [http('when: "max == id && x == 1"'), 'x == 1'],
    ['{ type: set, fields: { a: "{{id}}{{x}}" } }', '{{x}}'],
    ['{ type: set, fields: { a: { cel: "int(x) + 1" } } }', 'x)'],
    ['{ type: set, rename: { x: id } }', 'x: id'],
    ['{ type: set, remove: [id, x] }', 'x]'],
  ])('%s', (node, place) => {
    const [{ message, line, column = 0 } = { message: '' }] = flowProblems(`nodes:\n  - ${node}\n`, { header: ['id', 'max'] });
    expect(message).toBe('no record has a field "x" here; there are id, max');
    expect(line).toBe(2);
    expect(`  - ${node}`.slice(column - 1).startsWith(place)).toBe(true);
  });

  test.each([
    ['id,x y', ''],
    ['id;max', `\nif ";" separates the cells: --delimiter ';'`],
    ['id|max', `\nif "|" separates the cells: --delimiter '|'`],
    ['id\tmax', '\nif tabs separate the cells: --delimiter tab'],
    ['order\nnumber', ''],
    [' number', ''],
    ['number ', ''],
  ])('a name that could be misread is quoted: %j', (name, advice) => {
    const [problem] = flowProblems('nodes:\n  - { type: http, url: "https://a.com/{{id}}" }\n', { header: [name] });
    expect(problem && messageWithAdvice(problem)).toBe(`no record has a field "id" here; there are ${JSON.stringify(name)}${advice}`);
  });

  test.each([
    [http('headers: { A: "{{mail}}" }'), '\nrename the field with a set node first: rename: { " mail": mail }'],
    [http(`when: "mail == 'x'"`), '\nrename the field with a set node first: rename: { " mail": mail }'],
    ['{ type: set, rename: { mail: to } }', ''],
    ['{ type: set, remove: [mail] }', ''],
  ])('the nearest name cannot be referred to: %s', (node, advice) => {
    const [problem] = flowProblems(`nodes:\n  - ${node}\n`, { header: ['id', ' mail'] });
    expect(problem?.message).toBe(`no record has a field "mail" here; did you mean " mail"?${advice}`);
  });

  test('headers of the connection are checked unless the node replaces them', () => {
    const flow = (headers: string) => `connections:
  a: { type: http, base_url: https://a.com, headers: { X-Tenant: "{{tenant}}" } }
nodes:
  - { type: http, connection: a, url: /x${headers} }
`;
    expect(flowProblems(flow(''), { header: ['id'] }).map(onOneLine)).toEqual(['4:31 no record has a field "tenant" here; there are id']);
    expect(flowProblems(flow(', headers: { x-tenant: "1" }'), { header: ['id'] })).toEqual([]);
  });

  test.each([
    [http('fail_when: body.x == record.x'), 'record.x }'],
    [http(`retry_when: 'record["x"] == "1"'`), 'record["x"]'],
    ['{ type: mcp, connection: c, tool: t, fail_when: record.x == "1" }', 'record.x =='],
  ])('the fields of record in a condition over an answer: %s', (node, place) => {
    const connections = 'connections: { c: { type: mcp, url: https://a.com/mcp } }\n';
    const [{ message, source } = { message: '' }, ...more] = flowProblems(`${connections}nodes:\n  - ${node}\n`, { header: ['id'] });
    expect([message, more]).toEqual(['no record has a field "x" here; there are id', []]);
    expect(source?.text.slice(source.caret).startsWith(place)).toBe(true);
  });

  test('record.field needs no field where has() tests it, or where record is the name of an element', () => {
    expect(check('id', http('fail_when: "has(record.x) && record.x == body.x"'))).toEqual([]);
    expect(check('id', http('fail_when: "body.list.exists(record, record.x == 1)"'))).toEqual([]);
  });

  test('has(field) needs no field', () => {
    expect(check('id', http('when: "!has(x) || x == id"'))).toEqual([]);
  });

  test.each([
    ['a path that is none', http('map: { a: "b..c", d: e }')],
    ['a path that is no text', http('map: { a: 5, d: e }')],
    ['paths through two arrays', http('map: { a: "b[].c", d: "e[].f" }')],
    ['an expression that is none', '{ type: set, fields: { a: { cel: "id +" }, d: x } }'],
    ['a new name that is none', '{ type: set, rename: { id: 5 }, fields: { d: x } }'],
    ['a node inside', '{ type: loop, while: a == d, carry: [a], nodes: [{ type: set, fields: { a: [1], d: x } }] }'],
  ])('after %s the fields are unknown, and nothing is reported', (_name, node) => {
    expect(check('id', node, '{ type: http, url: "https://a.com/{{a}}/{{d}}/{{x}}" }')).toHaveLength(1);
  });

  test.each([
    ['a condition that is none', '{ type: set, remove: [id], when: "id =" }'],
    ['an on_error that there is not', '{ type: set, remove: [id], on_error: kep }'],
    ['such a node inside', '{ type: loop, while: id == id, nodes: [{ type: set, remove: [id], when: "id =" }] }'],
  ])('after %s the earlier fields may still exist', (_name, node) => {
    const problems = check('id', node, '{ type: http, url: "https://a.com/{{id}}/{{x}}" }');
    expect(problems).toEqual([expect.not.stringMatching('no record'), expect.stringMatching(/^3:.*"x"/)]);
  });

  test('a problem hides no other problem, and each is reported at its place', () => {
    expect(check('id', '{ type: set, fields: { a: { cel: "id +" }, b: "{{x}}" } }')).toEqual([
      '2:43 not a CEL expression: unexpected token: EOF',
      '2:52 no record has a field "x" here; there are id',
    ]);
    expect(check('id', '{ type: set, remove: [x, 5, id] }')).toEqual([
      '2:27 no record has a field "x" here; there are id',
      '2:30 expected a text, found 5',
    ]);
    expect(check('id', '{ type: set, remove: [5, id, x] }')).toEqual(['2:27 expected a text, found 5']);
  });

  test('a message lists at most 20 columns', () => {
    const columns = Array.from({ length: 300 }, (_, index) => `column${index}`).join(',');
    expect(check(columns, http('when: nothing_like_it == 1'))[0]).toMatch(/there are column0, .*, column19 and 280 more$/);
  });
});

describe('fields along the chain', () => {
  test('a mapped field exists after its node', () => {
    const lookup = http('map: { name: data.name }');
    const use = '{ type: set, fields: { hi: "Hi {{name}}" } }';
    expect(check('id', lookup, use)).toEqual([]);
    expect(check('id', use, lookup)).toEqual(['2:36 no record has a field "name" here; there are id']);
  });

  test('a list of paths names fields that only a set node can refer to', () => {
    expect(
      check('id', http('map: [data.name]'), '{ type: set, rename: { data.name: name } }', '{ type: set, fields: { a: "{{name}}" } }'),
    ).toEqual([]);
  });

  test('set knows both names inside, and only the new ones after it', () => {
    const set = '{ type: set, rename: { first-name: first_name }, fields: { hi: "{{first_name}}", old: { cel: "id" } }, remove: [id] }';
    expect(check('id,first-name', set, '{ type: set, fields: { a: "{{first_name}}{{hi}}{{old}}" } }')).toEqual([]);
    expect(check('id,first-name', set, '{ type: set, fields: { a: "{{id}}" }, remove: [first-name] }')).toEqual([
      '3:32 no record has a field "id" here; there are first_name, hi, old',
      '3:52 no record has a field "first-name" here; did you mean "first_name"?',
    ]);
  });

  test('a field renamed over another one takes its own place', () => {
    const plan = planFor('nodes: [{ type: set, rename: { a: b, c: d, d: c } }]');
    expect(plan.columns(['b', 'x', 'a', 'c', 'd'])).toEqual(['x', 'b', 'd', 'c']);
  });

  test.each([
    ['when', '{ type: set, when: id != "1", rename: { last: surname }, remove: [n] }', []],
    ['on_error: keep', '{ type: set, on_error: keep, rename: { last: surname }, remove: [n] }', ['_error']],
    [
      'a node around it with when',
      '{ type: loop, when: id != "1", while: "false", nodes: [{ type: set, rename: { last: surname }, remove: [n] }] }',
      [],
    ],
    [
      'a node around it with on_error: keep',
      '{ type: poll, on_error: keep, until: "true", nodes: [{ type: set, rename: { last: surname }, remove: [n] }] }',
      ['_error'],
    ],
  ])('a node that a record may skip leaves the fields that it renames or removes: %s', (_, node, more) => {
    expect(check('id,last,n', node, '{ type: set, fields: { a: "{{last}}{{n}}{{surname}}" } }')).toEqual([]);
    expect(planFor(`nodes:\n  - ${node}\n`).columns(['id', 'last', 'n'])).toEqual(['id', 'last', 'n', 'surname', ...more]);
  });

  test('the conditions of a node see the fields that its inner nodes leave', () => {
    const poll = '{ type: poll, when: id != "1", until: last == "x", nodes: [{ type: set, remove: [last] }] }';
    expect(check('id,last', poll)).toEqual([expect.stringContaining('no record has a field "last" here; there are id')]);
  });

  test('on_error: keep adds the field _error', () => {
    const use = '{ type: set, fields: { why: { cel: "has(_error) ? string(_error.status) : \'\'", }, raw: "{{_error}}" } }';
    expect(check('id', http('on_error: keep'), use)).toEqual([]);
    expect(check('id', http('on_error: reject'), use)).toEqual([expect.stringContaining('no record has a field "_error" here')]);
  });

  test("the output's columns: the input's, then those that the flow adds, in its order", () => {
    const plan = planFor(`nodes:
  - ${http('map: [b, "a[0]"], on_error: keep')}
  - { type: set, rename: { x: renamed }, fields: { id: 1, new: 2 }, remove: [y, b] }
  - ${http('map: { z: z, new: n }')}
`);
    expect(plan.columns(['id', 'x', 'y'])).toEqual(['id', 'renamed', 'a[0]', '_error', 'new', 'z']);
    expect(plan.columns([])).toEqual(['a[0]', '_error', 'renamed', 'id', 'new', 'z']);
  });

  test('names that are numbers keep their written order', () => {
    const plan = planFor(`nodes:
  - ${http('map: { b: b, 2024: c, 2023: d, "1": e }')}
  - { type: set, rename: { y: renamed, 7: six }, fields: { new: 1, 20: 2, 10: 3 } }
`);
    expect(plan.columns(['id'])).toEqual(['id', 'b', '2024', '2023', '1', 'renamed', 'six', 'new', '20', '10']);
  });
});

describe('a removed or renamed field is unknown, whatever the input is', () => {
  const lost = (...nodes: string[]) => flowProblems(`nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`).map(onOneLine);
  const ask = (more: string) => `{ type: http, url: "https://a.com/{{a}}", ${more} }`;
  const any = 'any more: an earlier node removes or renames it';

  test.each([
    ['renamed', ['{ type: set, rename: { a: b } }', ask('map: [c]')], [`3:39 no record has a field "a" here ${any}`]],
    [
      'removed',
      ['{ type: set, remove: [a] }', ask('when: a == b')],
      ['3:39', '3:53'].map((at) => `${at} no record has a field "a" here ${any}`),
    ],
    ['removed twice', ['{ type: set, remove: [a] }', '{ type: set, remove: [a] }'], [`3:27 no record has a field "a" here ${any}`]],
    [
      'removed in a loop',
      ['{ type: loop, while: a != b, carry: [a], nodes: [{ type: set, remove: [a] }] }'],
      ['2:26', '2:42'].map((at) => `${at} no record has a field "a" here ${any}`),
    ],
    ['not always removed', ['{ type: set, when: b == "1", remove: [a] }', ask('map: [c]')], []],
    ['made again', ['{ type: set, remove: [a] }', '{ type: set, fields: { a: "{{b}}" } }', ask('map: [c]')], []],
    ['renamed back', ['{ type: set, rename: { a: b } }', '{ type: set, rename: { b: a } }', ask('map: [c]')], []],
  ])('%s', (_, nodes, problems) => {
    expect(lost(...nodes)).toEqual(problems);
  });
});

test.each([
  ['a, data.user.name', 'when: data.user.name == "x"', 'data.user.name'],
  ['first, first-name', 'when: first-name == "x"', 'first-name'],
])('an expression that takes the name of a field apart says how it can be named: %s, %s', (header, more, name) => {
  const [problem, none] = flowProblems(`nodes: [{ type: set, ${more} }]`, { header: header.split(', ') });
  expect(none).toBeUndefined();
  expect(problem?.message).toContain(
    `; did you mean "${name}"?\nrename the field with a set node first: rename: { "${name}": ${name.replace(/[^a-z]/g, '_')} }`,
  );
});
