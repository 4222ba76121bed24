import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';

const flowOf = (...nodes: string[]) => `nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`;

/** The problems of the nodes for a table with the column id. */
const check = (...nodes: string[]) => flowProblems(flowOf(...nodes), { header: ['id'] }).map(onOneLine);

const http = (more: string) => `{ type: http, url: "https://a.com/x", ${more} }`;
const use = (field: string) => `{ type: set, fields: { used: "{{${field}}}" } }`;
const loop = (more: string, ...nodes: string[]) => `{ type: loop, ${more}, nodes: [${nodes.join(', ')}] }`;
const poll = (more: string, ...nodes: string[]) => `{ type: poll, ${more}, nodes: [${nodes.join(', ')}] }`;
const batch = (more: string, map = 'map: { name: "r[].name" }') =>
  `{ type: http, method: POST, url: "https://a.com/x", body: { ids: "{{items}}" }, batch: { ${more} }, ${map} }`;

/** Expects one problem: the field, and the text at the caret. */
/** Expects one problem of a flow, about this field, at the position of `place` in the text. */
function expectUnknown(yaml: string, field: string, place: string): void {
  const problems = flowProblems(yaml, { header: ['id'] });
  expect(problems.map(({ message }) => message.split(';')[0])).toEqual([`no record has a field "${field}" here`]);
  const { line = 0, column = 0 } = problems[0] ?? {};
  expect(yaml.split('\n')[line - 1]?.slice(column - 1, column - 1 + place.length)).toBe(place);
}

describe('fields are followed through', () => {
  test.each([
    ['a loop', [loop('while: n != null', http('map: { n: next }')), use('n')]],
    ['a loop within a loop', [loop('while: n != null', loop('while: n == 1, carry: [n]', http('map: { n: next }'))), use('n')]],
    ['a poll', [poll('until: s == "done"', http('map: { s: status, url: result.url }')), use('url')]],
    ['a poll within a loop', [loop('while: s != "x"', poll('until: s == "done"', http('map: { s: status }')), use('s')), use('used')]],
    ['pages', [http('map: { item: "items[].id" }, paginate: { type: link_header }'), use('item')]],
    ['a batch', [batch('items: "{{id}}", match: { field: id, path: "r[].id" }'), use('name')]],
    [
      'a batch of what pages gave',
      [http('map: { item: "items[].id" }, paginate: { type: link_header }'), batch('items: "{{item}}"'), use('name')],
    ],
    ['set, renamed', ['{ type: set, rename: { id: key } }', batch('items: "{{key}}", match: { field: key, path: "r[].id" }'), use('key')]],
    ['a loop that takes what set has made', ['{ type: set, fields: { n: 0 } }', loop('while: n != 1, carry: [n, id]', use('n'))]],
    [
      'what a loop carries, where a condition leaves the first pass out',
      [loop('while: n != null, carry: [n]', use('n').replace('set,', 'set, when: has(n),'), http('map: { n: next }'))],
    ],
    ['nodes one after another in a loop', [loop('while: a == 1', http('map: { a: a }'), use('a'), use('used'))]],
  ])('%s', (_, nodes) => {
    expect(check(...nodes)).toEqual([]);
  });
});

describe('a reference to a field that no earlier node makes is an error at its place', () => {
  test.each([
    ['after a loop', [loop('while: n != null', http('map: { n: next }')), use('m')], 'm', '{{m}}'],
    ['before a loop', [use('n'), loop('while: n != null', http('map: { n: next }'))], 'n', '{{n}}'],
    [
      'in a loop, made only behind it',
      [loop('while: n != null', use('late'), http('map: { n: next }')), http('map: { late: late }')],
      'late',
      '{{late}}',
    ],
    // What is made later in a pass is there in the next one only, if it is carried: the first pass lacks it.
    ['in a loop, made later in the pass', [loop('while: n != null, carry: [n]', use('n'), http('map: { n: next }'))], 'n', '{{n}}'],
    [
      'in a loop, made later in the pass and not carried',
      [loop('while: id != ""', use('n').replace('set,', 'set, when: has(n),'), http('map: { n: next }'))],
      'n',
      '{{n}}',
    ],
    ['while', [loop('while: m != null', http('map: { n: next }'))], 'm', 'm'],
    ['carry', [loop('while: n != null, carry: [n, m]', http('map: { n: next }'))], 'm', 'm'],
    ['while of an inner loop', [loop('while: n != null', http('map: { n: next }'), loop('while: m == 1', use('n')))], 'm', 'm'],
    ['when of an inner node', [loop('while: n != null', http('when: m == 1, map: { n: next }'))], 'm', 'm'],
    ['when of a loop', [loop('when: m == 1, while: n != null', http('map: { n: next }'))], 'm', 'm'],
    ['until', [poll('until: s == "done"', http('map: { status: status }'))], 's', 's'],
    ['fail_when', [poll('until: s == 1, fail_when: t == 2', http('map: { s: status }'))], 't', 't'],
    ['a URL in a poll', [poll('until: s == 1', '{ type: http, url: "https://a.com/{{job}}", map: { s: status } }')], 'job', '{{job}}'],
    [
      'a header behind pages',
      [http('map: { item: "i[].id" }, paginate: { type: link_header }'), http('headers: { X: "{{itm}}" }')],
      'itm',
      '{{itm}}',
    ],
    ['items', [batch('items: "{{key}}"')], 'key', '{{key}}'],
    ['one of several items', [batch('items: { a: "{{id}}", b: "x {{key}}" }')], 'key', '{{key}}'],
    ['match.field', [batch('items: "{{id}}", match: { field: key, path: "r[].id" }')], 'key', 'key'],
    ['the list after its batch', [batch('items: "{{id}}"'), use('items')], 'items', '{{items}}'],
    ['what set removed', ['{ type: set, fields: { a: 1 }, remove: [id] }', batch('items: "{{id}}"')], 'id', '{{id}}'],
    ['what set renamed', ['{ type: set, rename: { id: key } }', poll('until: id == "1"', use('key'))], 'id', 'id'],
  ])('%s', (_, nodes, field, place) => {
    expectUnknown(flowOf(...nodes), field, place);
  });

  test('the problem is shown with its line and a caret', () => {
    const flow = `nodes:
  - type: loop
    while: cursr != null
    nodes:
      - type: http
        url: https://a.com/{{user}}
        map: { cursor: next }
`;
    const problems = flowProblems(flow, { header: ['user_id'] });
    expect(problems.map(shown).sort()).toEqual([
      ['3:12 no record has a field "cursr" here; did you mean "cursor"?', '    while: cursr != null', '           ^^^^^^^^^^^^^'].join(
        '\n',
      ),
      [
        '6:28 no record has a field "user" here; there are user_id',
        '        url: https://a.com/{{user}}',
        '                           ^^^^^^^^',
      ].join('\n'),
    ]);
  });

  test('all such references are reported at once', () => {
    expect(
      check(loop('while: a == 1', poll('until: b == 1', use('c'), batch('items: "{{d}}"'))), use('e')).map(
        (problem) => /"(.)"/.exec(problem)?.[1],
      ),
    ).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd', 'e']));
  });
});

describe('{{first-name}} says which set would rename it', () => {
  const hint = 'rename the field with a set node first: rename: { "first-name": first_name }';

  test.each([
    ['a URL in a loop', loop('while: n != null', '{ type: http, url: "https://a.com/{{first-name}}", map: { n: n } }')],
    [
      'a body in a poll',
      poll('until: n != null', '{ type: http, method: POST, url: "https://a.com", body: ["{{first-name}}"], map: { n: n } }'),
    ],
    ['items', batch('items: "{{first-name}}"')],
    ['one of several items', batch('items: { a: "{{first-name}}" }')],
    ['set', '{ type: set, fields: { a: "Hi {{first-name}}" } }'],
    ['a URL with pages', '{ type: http, url: "https://a.com/{{first-name}}", map: [a], paginate: { type: link_header } }'],
  ])('in %s', (_, node) => {
    const warnings = planFor(flowOf(node)).warnings();
    expect(warnings.map(({ message }) => message.split('\n'))).toEqual([
      [expect.stringContaining('{{first-name}} is not a reference and stays text'), hint],
    ]);
    const { text, caret, width } = warnings[0]?.source ?? { text: '', caret: 0, width: 0 };
    expect(text.slice(caret, caret + width)).toContain('{{first-name}}');
  });

  test('a flow with that set node compiles', () => {
    const flow = flowOf(
      '{ type: set, rename: { first-name: first_name } }',
      loop('while: n == "1"', http('map: { n: n }'), use('first_name')),
    );
    expect(flowProblems(flow, { header: ['first-name'] })).toEqual([]);
    expect(planFor(flow).warnings()).toEqual([]);
  });
});

describe("the output's columns", () => {
  const columns = (...nodes: string[]) => planFor(flowOf(...nodes)).columns(['id']);

  test.each([
    ['a loop', [loop('while: n != null', http('map: { n: next, item: "i[].a" }'), use('n'))], ['id', 'n', 'item', 'used']],
    ['a poll', [poll('until: s == 1', http('map: { s: status }')), use('s')], ['id', 's', 'used']],
    ['nested ones', [loop('while: n != null', poll('until: s == 1', http('map: { s: s }')), http('map: { n: n }'))], ['id', 's', 'n']],
    ['pages', [http('map: { item: "i[].a" }, paginate: { type: link_header }')], ['id', 'item']],
    ['a batch', [batch('items: "{{id}}"'), use('name')], ['id', 'name', 'used']],
    ['a loop that may fail', [loop('while: n != null, on_error: keep', http('map: { n: next }'))], ['id', 'n', '_error']],
    ['an inner node that may fail', [loop('while: n != null', http('map: { n: next }, on_error: keep'))], ['id', 'n', '_error']],
  ])('are known before the first record: %s', (_, nodes, expected) => {
    expect(columns(...nodes)).toEqual(expected);
  });
});

describe('a wrong condition hides no problem inside or after its node', () => {
  const rest = ['no record has a field "yyy" here; there are id', 'no record has a field "www" here; there are id, n'];

  test.each([
    ['{ type: poll, until: "n ==", NODES }', 'not a CEL expression'],
    ['{ type: loop, while: "n <", NODES }', 'not a CEL expression'],
    ['{ type: loop, NODES }', 'the key "while" is missing'],
    ['{ type: poll, until: 5, NODES }', 'expected a CEL expression'],
    ['{ type: loop, whiel: "n < 5", NODES }', 'unknown key "whiel"; did you mean "while"?'],
  ])('%s', (node, problem) => {
    const written = node.replace('NODES', 'nodes: [{ type: http, url: "https://a.com/{{yyy}}", map: [n] }]');
    const flow = `nodes:\n  - ${written}\n  - { type: http, url: "https://a.com/{{www}}" }\n`;
    const found = flowProblems(flow, { header: ['id'] }).map(({ message }) => message.split('\n')[0]);
    expect(found).toEqual([expect.stringContaining(problem), ...rest]);
  });

  test('a misspelt key deep inside is read as the correct one', () => {
    const flow = `nodes:
  - type: http
    method: POST
    url: https://a.com/
    batch: { items: "{{id}}", match: { feild: idd, path: "r[].id" } }
    body: { ids: "{{items}}" }
    map: { x: "r[].x" }
`;
    expect(flowProblems(flow, { header: ['id'] }).map(onOneLine)).toEqual([
      '5:40 unknown key "feild"; did you mean "field"?',
      '5:47 no record has a field "idd" here; did you mean "id"?',
    ]);
  });

  test('true and false are conditions without quotes', () => {
    expect(flowProblems('nodes: [{ type: loop, when: false, while: true, nodes: [{ type: set, when: true }] }]')).toEqual([]);
  });
});
