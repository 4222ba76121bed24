import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';

/** Returns the problems of the nodes if the input is a table with these columns. */
const check = (header: string, ...nodes: string[]) =>
  flowProblems(`nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`, { header: header.split(',') }).map(onOneLine);

const http = (more: string) => `{ type: http, url: https://a.com/x, ${more} }`;

describe('the check of a flow against the header of its input', () => {
  test('reports a reference to an unknown field with its position and the most similar name', () => {
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
  ])('reports an unknown field in %s', (node, place) => {
    const [{ message, line, column = 0 } = { message: '' }] = flowProblems(`nodes:\n  - ${node}\n`, { header: ['id', 'max'] });
    expect(message).toBe('no record has a field "x" here; available: id, max');
    expect(line).toBe(2);
    expect(`  - ${node}`.slice(column - 1).startsWith(place)).toBe(true);
  });

  test.each([
    ['id,x y', '\nif the header is in another line, or there is none: --header-line 4, or --no-header'],
    ['id;max', `\nif ";" separates the cells: --delimiter ';'`],
    ['id|max', `\nif "|" separates the cells: --delimiter '|'`],
    ['id\tmax', '\nif tabs separate the cells: --delimiter tab'],
    ['order\nnumber', '\nif the header is in another line, or there is none: --header-line 4, or --no-header'],
    [' number', ''],
    ['number ', ''],
  ])('quotes a column name that could be misread: %j', (name, advice) => {
    const [problem] = flowProblems('nodes:\n  - { type: http, url: "https://a.com/{{id}}" }\n', { header: [name] });
    expect(problem && messageWithAdvice(problem)).toBe(`no record has a field "id" here; available: ${JSON.stringify(name)}${advice}`);
  });

  test.each([
    [http('headers: { A: "{{mail}}" }'), '\ngive the column a name at the top of the flow:\ncolumns:\n  mail: " mail"'],
    [http(`when: "mail == 'x'"`), '\nwrite record[" mail"]'],
    ['{ type: set, rename: { mail: to } }', ''],
    ['{ type: set, remove: [mail] }', ''],
  ])('suggests a similar field, and to name the column if a template cannot use its name: %s', (node, advice) => {
    const [problem] = flowProblems(`nodes:\n  - ${node}\n`, { header: ['id', ' mail'] });
    expect(problem?.message).toBe(`no record has a field "mail" here; did you mean " mail"?${advice}`);
  });

  test("checks the connection's headers, unless the node replaces them", () => {
    const flow = (headers: string) => `connections:
  a: { type: http, base_url: https://a.com, headers: { X-Tenant: "{{tenant}}" } }
nodes:
  - { type: http, connection: a, url: /x${headers} }
`;
    expect(flowProblems(flow(''), { header: ['id'] }).map(onOneLine)).toEqual(['4:31 no record has a field "tenant" here; available: id']);
    expect(flowProblems(flow(', headers: { x-tenant: "1" }'), { header: ['id'] })).toEqual([]);
  });

  test.each([
    [http('fail_when: body.x == record.x'), 'record.x }'],
    [http(`retry_when: 'record["x"] == "1"'`), 'record["x"]'],
    ['{ type: mcp, connection: c, tool: t, fail_when: record.x == "1" }', 'record.x =='],
  ])('reports an unknown field of "record" in a condition about the response: %s', (node, place) => {
    const connections = 'connections: { c: { type: mcp, url: https://a.com/mcp } }\n';
    const [{ message, source } = { message: '' }, ...more] = flowProblems(`${connections}nodes:\n  - ${node}\n`, { header: ['id'] });
    expect([message, more]).toEqual(['no record has a field "x" here; available: id', []]);
    expect(source?.text.slice(source.caret).startsWith(place)).toBe(true);
  });

  test('reports has() of a field that no record can have', () => {
    const [problem, ...more] = flowProblems('nodes:\n  - { type: filter, where: has(emial) || id == "1" }\n', { header: ['id', 'email'] });
    expect([problem && shown(problem), problem?.message.split('\n')[1], more]).toEqual([
      '2:32 no record has a field "emial" here; did you mean "email"?\n  - { type: filter, where: has(emial) || id == "1" }\n                               ^^^^^^^^^^^^^^^^^^^',
      'so has() is false for every record: correct the name, or leave the test out',
      [],
    ]);
    const unknown = 'no record has a field "x" here; available: id';
    expect(check('id', http('when: "!has(x) || x == id"'))).toEqual([`2:53 ${unknown}`]);
    expect(check('id', http('fail_when: "has(record.x) && record.x == body.x"'))).toEqual([`2:57 ${unknown}`]);
    expect(check('id', '{ type: set, fields: { a: { cel: "has(x) ? x : id" } } }')).toEqual([`2:43 ${unknown}`]);
    expect(check('id', http('method: POST, body: { a: { cel: "has(x)" } }'))).toEqual([expect.stringContaining(unknown)]);
    expect(check('id', '{ type: poll, until: has(x), nodes: [{ type: set }] }')).toEqual([expect.stringContaining(unknown)]);
    expect(check('id', '{ type: set, remove: [x], when: has(x) }')).toHaveLength(1);
  });

  test('accepts has() of a field that an earlier node, a later pass of the loop, or an unknown record can have', () => {
    expect(check('id', http('map: [x]'), '{ type: filter, where: has(x) }')).toEqual([]);
    const loop = `{ type: loop, while: has(x), carry: [x], nodes: [${http('when: has(x), map: [x]')}] }`;
    expect(check('id', loop)).toEqual([]);
    const filter = 'nodes: [{ type: filter, where: has(x) }]';
    expect(planFor(filter).unknownFields(['id'], 'none of the first records')).toEqual([]);
    expect(planFor(filter).neededFields()).toEqual([]);
    expect(flowProblems(filter)).toEqual([]);
  });

  test('does not require a field if "record" is the variable of a macro', () => {
    expect(check('id', http('fail_when: "body.list.exists(record, record.x == 1)"'))).toEqual([]);
  });

  test.each([
    ['an invalid path', http('map: { a: "b..c", d: e }')],
    ['a path that is not a string', http('map: { a: 5, d: e }')],
    ['paths through two arrays', http('map: { a: "b[].c", d: "e[].f" }')],
    ['an invalid expression', '{ type: set, fields: { a: { cel: "id +" }, d: x } }'],
    ['an invalid new name', '{ type: set, rename: { id: 5 }, fields: { d: x } }'],
    ['an invalid node inside a loop', '{ type: loop, while: a == d, carry: [a], nodes: [{ type: set, fields: { a: [1], d: x } }] }'],
  ])('reports no unknown fields after %s, which could add any field', (_name, node) => {
    expect(check('id', node, '{ type: http, url: "https://a.com/{{a}}/{{d}}/{{x}}" }')).toHaveLength(1);
  });

  test.each([
    ['an invalid condition', '{ type: set, remove: [id], when: "id =" }'],
    ['an unknown on_error', '{ type: set, remove: [id], on_error: kep }'],
    ['an invalid condition inside a loop', '{ type: loop, while: id == id, nodes: [{ type: set, remove: [id], when: "id =" }] }'],
  ])('does not report a removed field as unknown if the set node has %s', (_name, node) => {
    const problems = check('id', node, '{ type: http, url: "https://a.com/{{id}}/{{x}}" }');
    expect(problems).toEqual([expect.not.stringMatching('no record'), expect.stringMatching(/^3:.*"x"/)]);
  });

  test('reports unknown fields as well as invalid values in the same node', () => {
    expect(check('id', '{ type: set, fields: { a: { cel: "id +" }, b: "{{x}}" } }')).toEqual([
      '2:43 not a CEL expression: expected a value, found the end',
      '2:52 no record has a field "x" here; available: id',
    ]);
    expect(check('id', '{ type: set, remove: [x, 5, id] }')).toEqual([
      '2:27 no record has a field "x" here; available: id',
      '2:30 expected a string, found 5',
    ]);
    expect(check('id', '{ type: set, remove: [5, id, x] }')).toEqual(['2:27 expected a string, found 5']);
  });

  test('lists at most 20 columns in a message', () => {
    const columns = Array.from({ length: 300 }, (_, index) => `column${index}`).join(',');
    expect(check(columns, http('when: nothing_like_it == 1'))[0]).toMatch(/available: column0, .*, column19 and 280 more$/);
  });
});

describe('the known fields at each node of a flow', () => {
  test('include a mapped field after its node', () => {
    const lookup = http('map: { name: data.name }');
    const use = '{ type: set, fields: { hi: "Hi {{name}}" } }';
    expect(check('id', lookup, use)).toEqual([]);
    expect(check('id', use, lookup)).toEqual(['2:36 no record has a field "name" here; available: id']);
  });

  test('include the names from a list of paths, such as data.name', () => {
    expect(
      check('id', http('map: [data.name]'), '{ type: set, rename: { data.name: name } }', '{ type: set, fields: { a: "{{name}}" } }'),
    ).toEqual([]);
  });

  test('include both names of a renamed field inside a set node, and only the new name after it', () => {
    const set = '{ type: set, rename: { first-name: first_name }, fields: { hi: "{{first_name}}", old: { cel: "id" } }, remove: [id] }';
    expect(check('id,first-name', set, '{ type: set, fields: { a: "{{first_name}}{{hi}}{{old}}" } }')).toEqual([]);
    expect(check('id,first-name', set, '{ type: set, fields: { a: "{{id}}" }, remove: [first-name] }')).toEqual([
      '3:32 no record has a field "id" here; available: first_name, hi, old',
      '3:52 no record has a field "first-name" here; did you mean "first_name"?',
    ]);
  });

  test('keep the position of a renamed field, even if its new name existed before', () => {
    const plan = planFor('nodes: [{ type: set, rename: { a: b, c: d, d: c } }]');
    expect(plan.columns(['b', 'x', 'a', 'c', 'd'])).toEqual(['x', 'b', 'd', 'c']);
  });

  test.each([
    ['when', '{ type: set, when: id != "1", rename: { last: surname }, remove: [n] }', []],
    ['on_error: keep', '{ type: set, on_error: keep, rename: { last: surname }, remove: [n] }', ['_error']],
    [
      'when of the outer node',
      '{ type: loop, when: id != "1", while: "false", nodes: [{ type: set, rename: { last: surname }, remove: [n] }] }',
      [],
    ],
    [
      'on_error: keep of the outer node',
      '{ type: poll, on_error: keep, until: "true", nodes: [{ type: set, rename: { last: surname }, remove: [n] }] }',
      ['_error'],
    ],
  ])('include the fields that a node renames or removes if records might skip the node: %s', (_, node, more) => {
    expect(check('id,last,n', node, '{ type: set, fields: { a: "{{last}}{{n}}{{surname}}" } }')).toEqual([]);
    expect(planFor(`nodes:\n  - ${node}\n`).columns(['id', 'last', 'n'])).toEqual(['id', 'last', 'n', 'surname', ...more]);
  });

  test('in the until of a poll exclude a field that an inner node removes', () => {
    const poll = '{ type: poll, when: id != "1", until: last == "x", nodes: [{ type: set, remove: [last] }] }';
    expect(check('id,last', poll)).toEqual([expect.stringContaining('no record has a field "last" here; available: id')]);
  });

  test('include _error if on_error is "keep"', () => {
    const use = '{ type: set, fields: { why: { cel: "has(_error) ? string(_error.status) : \'\'", }, raw: "{{_error}}" } }';
    expect(check('id', http('on_error: keep'), use)).toEqual([]);
    expect(check('id', http('on_error: reject'), use)).toEqual([expect.stringContaining('no record has a field "_error" here')]);
  });

  test("are the output's columns: the input's columns, then the added fields in flow order", () => {
    const plan = planFor(`nodes:
  - ${http('map: [b, "a[0]"], on_error: keep')}
  - { type: set, rename: { x: renamed }, fields: { id: 1, new: 2 }, remove: [y, b] }
  - ${http('map: { z: z, new: n }')}
`);
    expect(plan.columns(['id', 'x', 'y'])).toEqual(['id', 'renamed', 'a[0]', '_error', 'new', 'z']);
    expect(plan.columns([])).toEqual(['a[0]', '_error', 'renamed', 'id', 'new', 'z']);
  });

  test('include numeric names in their written order', () => {
    const plan = planFor(`nodes:
  - ${http('map: { b: b, 2024: c, 2023: d, "1": e }')}
  - { type: set, rename: { y: renamed, 7: six }, fields: { new: 1, 20: 2, 10: 3 } }
`);
    expect(plan.columns(['id'])).toEqual(['id', 'b', '2024', '2023', '1', 'renamed', 'six', 'new', '20', '10']);
  });
});

describe('a reference to a removed or renamed field, in a check without an input,', () => {
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
    ['removed in two nodes', ['{ type: set, remove: [a] }', '{ type: set, remove: [a] }'], [`3:27 no record has a field "a" here ${any}`]],
    [
      'removed in a loop',
      ['{ type: loop, while: a != b, carry: [a], nodes: [{ type: set, remove: [a] }] }'],
      ['2:26', '2:42'].map((at) => `${at} no record has a field "a" here ${any}`),
    ],
    ['removed only for some records', ['{ type: set, when: b == "1", remove: [a] }', ask('map: [c]')], []],
    ['added again', ['{ type: set, remove: [a] }', '{ type: set, fields: { a: "{{b}}" } }', ask('map: [c]')], []],
    ['renamed back', ['{ type: set, rename: { a: b } }', '{ type: set, rename: { b: a } }', ask('map: [c]')], []],
  ])('is a problem unless records can still have the field: %s', (_, nodes, problems) => {
    expect(lost(...nodes)).toEqual(problems);
  });
});

test.each([
  ['a, data.user.name', 'when: data.user.name == "x"', 'data.user.name'],
  ['first, first-name', 'when: first-name == "x"', 'first-name'],
])('an expression that uses a field name with dots or dashes is refused with the way to name it: %s, %s', (header, more, name) => {
  const [problem, none] = flowProblems(`nodes: [{ type: set, ${more} }]`, { header: header.split(', ') });
  expect(none).toBeUndefined();
  expect(problem?.message).toContain(`; did you mean "${name}"?\nwrite record["${name}"]`);
});

describe('{{First Name}}, whose column a template cannot name,', () => {
  const header = 'id,First Name,E-Mail,zip.code,Post Code (billing),a/b,#, padded';
  const first = 'would be sent as it is, although the input has a column';
  const problemsAt = (node: string) => check(header, node).map((problem) => problem.split(': a name in')[0]);

  test.each([
    ['a URL', '{ type: http, url: "https://a.com/{{First Name}}" }', '2:39 {{First Name}}', 'First Name'],
    ['a URL, with spaces', '{ type: http, url: "https://a.com/{{ First Name }}" }', '2:39 {{ First Name }}', 'First Name'],
    ['a header', http('headers: { X-A: "{{E-Mail}}" }'), '2:58 {{E-Mail}}', 'E-Mail'],
    ['a body', http('method: POST, body: { a: [1, { b: "{{zip.code}}" }] }'), '2:76 {{zip.code}}', 'zip.code'],
    ['a body with a member when', http('method: POST, body: { when: "{{a/b}}" }'), '2:70 {{a/b}}', 'a/b'],
    ['the name of a member', http('method: POST, body: { "{{a/b}}": 1 }'), '2:63 {{a/b}}', 'a/b'],
    ['JSON text', http('method: POST, body: \'["{{a/b}}"]\''), '2:64 {{a/b}}', 'a/b'],
    ['a form', http('method: POST, form: { a: "{{#}}" }'), '2:67 {{#}}', '#'],
    ['text', http('method: POST, text: "{{ padded}}"'), '2:62 {{ padded}}', ' padded'],
    ['set', '{ type: set, fields: { a: "{{Post Code (billing)}}" } }', '2:32 {{Post Code (billing)}}', 'Post Code (billing)'],
    ['a prompt', '{ type: llm, provider: ollama, model: m, output: { a: string }, prompt: "{{E-Mail}}" }', '2:78 {{E-Mail}}', 'E-Mail'],
    ['the name of a file', http('save: { to: "{{a/b}}.pdf" }'), '2:54 {{a/b}}', 'a/b'],
    ['the syntax of another tool', '{ type: set, fields: { a: "{{$json[\'E-Mail\']}}" } }', "2:32 {{$json['E-Mail']}}", 'E-Mail'],
  ])('is a problem in %s', (_where, node, place, column) => {
    expect(problemsAt(node)).toEqual([`${place} ${first} "${column}"`]);
  });

  test('is a problem with a way out that works', () => {
    const columns = ['First Name', 'first_name'];
    const flow = (...nodes: string[]) => `nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`;
    const [problem] = flowProblems(flow('{ type: set, fields: { a: "Hi {{First Name}}" } }'), { header: columns });
    expect(problem?.message.split('\n').slice(1)).toEqual([
      'give the column a name at the top of the flow:',
      'columns:',
      '  first_name_2: First Name',
      'and write {{first_name_2}}',
      `for the text itself, in a body, a form or set, write { cel: '"{{First Name}}"' }`,
    ]);
    const named = `columns:\n  first_name_2: First Name\n${flow('{ type: set, fields: { a: "Hi {{first_name_2}}" } }')}`;
    expect(planFor(named).headerProblems(columns)).toEqual([]);
    const literal = flow(
      `{ type: set, fields: { a: { cel: '"{{First Name}}"' } } }`,
      http(`method: POST, form: { a: { cel: '"{{First Name}}"' } }`),
    );
    expect([flowProblems(literal, { header: columns }), planFor(literal).warnings(columns)]).toEqual([[], []]);
  });

  test('is advised by the name that an earlier node gives to the column', () => {
    const columns = ['id', 'First Name'];
    const flow = (braces: string) =>
      `nodes:\n  - { type: set, rename: { "First Name": fn } }\n  - { type: set, fields: { a: "${braces}" } }\n`;
    const [problem, none] = flowProblems(flow('{{First Name}}'), { header: columns });
    expect(none).toBeUndefined();
    expect(problem?.message.split('\n')[1]).toBe('an earlier node renames the field: write {{fn}}');
    const advice = (braces: string, known?: string[]) =>
      planFor(flow(braces))
        .warnings(known)
        .map(({ message }) => message.split('\n')[1]);
    expect(advice('{{First Name}}')).toEqual(['an earlier node renames the field: write {{fn}}']);
    expect(advice('{{first name}}', columns)).toEqual([
      'if you mean the field "First Name", an earlier node renames the field: write {{fn}}',
    ]);
    expect(flowProblems(flow('{{fn}}'), { header: columns })).toEqual([]);
  });

  test.each([
    [
      '{{first name}}',
      'if you mean the field "First Name", give the column a name at the top of the flow:\ncolumns:\n  first_name: First Name\nand write {{first_name}}',
    ],
    [
      '{{Frist Name}}',
      'if you mean the field "First Name", give the column a name at the top of the flow:\ncolumns:\n  first_name: First Name\nand write {{first_name}}',
    ],
    ['{{Last-Name}}', 'if you mean the field "last_name", write {{last_name}}'],
    ['{{phone number}}', 'write the name of a field between the braces; available: First Name, last_name, made here'],
    ['{{made here}}', 'rename the field with a set node first: rename: { "made here": made_here }'],
  ])('is no problem if it is only similar: the warning about %s names the field', (braces, advice) => {
    const yaml = `nodes: [{ type: set, fields: { made here: x } }, { type: set, fields: { a: "${braces}", made here: y } }]`;
    const [warning] = planFor(yaml).warnings(['First Name', 'last_name']);
    expect(warning?.message.split('\n').slice(1)).toEqual(advice.split('\n'));
  });

  test.each(['idempotency_key: "{{First Name}}"', 'url: "{{First Name}}/a"'])('is the only problem of its value: %s', (option) => {
    const yaml = `nodes: [{ type: http, method: POST, ${option.startsWith('url') ? '' : 'url: "https://a.com", '}${option} }]`;
    expect(flowProblems(yaml, { header: ['First Name'] }).map(({ message }) => message.split(':')[0])).toEqual([
      `{{First Name}} ${first} "First Name"`,
    ]);
    expect(flowProblems(yaml)).toHaveLength(1);
  });

  test('is only a warning without a known header, in other text, or if a reference can name the column', () => {
    const yaml =
      'description: "{{First Name}}"\nnodes: [{ type: set, fields: { a: "{{First Name}}", b: "{{Last Name}}", c: "{{ id }}" } }]';
    expect(planFor(yaml).warnings()).toHaveLength(4);
    expect(planFor(yaml).unknownFields(['id', 'First Name'], 'none of the first records')).toEqual([]);
    expect(planFor(yaml).unknownFields(['id'])).toEqual([]);
    expect(
      planFor(yaml)
        .unknownFields(['id', 'First Name'])
        .map(({ line }) => line),
    ).toEqual([2]);
  });
});
