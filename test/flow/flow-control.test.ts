import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';

const flowOf = (...nodes: string[]) => `nodes:\n${nodes.map((node) => `  - ${node}\n`).join('')}`;

/** Returns the problems of the nodes if the input is a table with the column id. */
const check = (...nodes: string[]) => flowProblems(flowOf(...nodes), { header: ['id'] }).map(onOneLine);

const http = (more: string) => `{ type: http, url: "https://a.com/x", ${more} }`;
const use = (field: string) => `{ type: set, fields: { used: "{{${field}}}" } }`;
const loop = (more: string, ...nodes: string[]) => `{ type: loop, ${more}, nodes: [${nodes.join(', ')}] }`;
const poll = (more: string, ...nodes: string[]) => `{ type: poll, ${more}, nodes: [${nodes.join(', ')}] }`;
const batch = (more: string, map = 'map: { name: "r[].name" }') =>
  `{ type: http, method: POST, url: "https://a.com/x", body: { ids: "{{items}}" }, batch: { ${more} }, ${map} }`;

/** Expects exactly one problem in a flow: the unknown field `field`, at the position of the string `place`. */
function expectUnknown(yaml: string, field: string, place: string): void {
  const problems = flowProblems(yaml, { header: ['id'] });
  expect(problems.map(({ message }) => message.split(';')[0])).toEqual([`no record has a field "${field}" here`]);
  const { line = 0, column = 0 } = problems[0] ?? {};
  expect(yaml.split('\n')[line - 1]?.slice(column - 1, column - 1 + place.length)).toBe(place);
}

describe('a later node', () => {
  test.each([
    ['a loop', [loop('while: n != null', http('map: { n: next }')), use('n')]],
    ['a nested loop', [loop('while: n != null', loop('while: n == 1, carry: [n]', http('map: { n: next }'))), use('n')]],
    ['a poll', [poll('until: s == "done"', http('map: { s: status, url: result.url }')), use('url')]],
    ['a poll within a loop', [loop('while: s != "x"', poll('until: s == "done"', http('map: { s: status }')), use('s')), use('used')]],
    ['pages', [http('map: { item: "items[].id" }, paginate: { type: link_header }'), use('item')]],
    ['a batch', [batch('items: "{{id}}", match: { field: id, path: "r[].id" }'), use('name')]],
    [
      'a batch after pages',
      [http('map: { item: "items[].id" }, paginate: { type: link_header }'), batch('items: "{{item}}"'), use('name')],
    ],
    [
      'a set node that renames a field',
      ['{ type: set, rename: { id: key } }', batch('items: "{{key}}", match: { field: key, path: "r[].id" }'), use('key')],
    ],
    ['a loop that carries a field from a set node', ['{ type: set, fields: { n: 0 } }', loop('while: n != 1, carry: [n, id]', use('n'))]],
    [
      'a loop that carries a field which a condition ignores in the first pass',
      [loop('while: n != null, carry: [n]', use('n').replace('set,', 'set, when: has(n),'), http('map: { n: next }'))],
    ],
    ['several nodes in a loop', [loop('while: a == 1', http('map: { a: a }'), use('a'), use('used'))]],
  ])('can use the fields that come from %s', (_, nodes) => {
    expect(check(...nodes)).toEqual([]);
  });
});

describe('a reference to a field that no earlier node adds', () => {
  test.each([
    ['after a loop', [loop('while: n != null', http('map: { n: next }')), use('m')], 'm', '{{m}}'],
    ['before a loop', [use('n'), loop('while: n != null', http('map: { n: next }'))], 'n', '{{n}}'],
    [
      'in a loop, and added only after the loop',
      [loop('while: n != null', use('late'), http('map: { n: next }')), http('map: { late: late }')],
      'late',
      '{{late}}',
    ],
    // `carry` keeps the field only for the next pass, so the field is missing in the first pass.
    [
      'in a loop, and added only later in the pass',
      [loop('while: n != null, carry: [n]', use('n'), http('map: { n: next }'))],
      'n',
      '{{n}}',
    ],
    [
      'in a loop, added only later in the pass, and not carried',
      [loop('while: id != ""', use('n').replace('set,', 'set, when: has(n),'), http('map: { n: next }'))],
      'n',
      '{{n}}',
    ],
    ['in while', [loop('while: m != null', http('map: { n: next }'))], 'm', 'm'],
    ['in carry', [loop('while: n != null, carry: [n, m]', http('map: { n: next }'))], 'm', 'm'],
    ['in while of a nested loop', [loop('while: n != null', http('map: { n: next }'), loop('while: m == 1', use('n')))], 'm', 'm'],
    ['in when of an inner node', [loop('while: n != null', http('when: m == 1, map: { n: next }'))], 'm', 'm'],
    ['in when of a loop', [loop('when: m == 1, while: n != null', http('map: { n: next }'))], 'm', 'm'],
    ['in until', [poll('until: s == "done"', http('map: { status: status }'))], 's', 's'],
    ['in fail_when', [poll('until: s == 1, fail_when: t == 2', http('map: { s: status }'))], 't', 't'],
    [
      'in a URL inside a poll',
      [poll('until: s == 1', '{ type: http, url: "https://a.com/{{job}}", map: { s: status } }')],
      'job',
      '{{job}}',
    ],
    [
      'in a header after pages',
      [http('map: { item: "i[].id" }, paginate: { type: link_header }'), http('headers: { X: "{{itm}}" }')],
      'itm',
      '{{itm}}',
    ],
    ['in items', [batch('items: "{{key}}"')], 'key', '{{key}}'],
    ['in one of several items', [batch('items: { a: "{{id}}", b: "x {{key}}" }')], 'key', '{{key}}'],
    ['in match.field', [batch('items: "{{id}}", match: { field: key, path: "r[].id" }')], 'key', 'key'],
    ["to a batch's items after the batch", [batch('items: "{{id}}"'), use('items')], 'items', '{{items}}'],
    ['after set has removed it', ['{ type: set, fields: { a: 1 }, remove: [id] }', batch('items: "{{id}}"')], 'id', '{{id}}'],
    ['after set has renamed it', ['{ type: set, rename: { id: key } }', poll('until: id == "1"', use('key'))], 'id', 'id'],
  ])('is a problem if the reference is %s', (_, nodes, field, place) => {
    expectUnknown(flowOf(...nodes), field, place);
  });

  test('is shown with its line and a caret', () => {
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
        '6:28 no record has a field "user" here; available: user_id',
        '        url: https://a.com/{{user}}',
        '                           ^^^^^^^^',
      ].join('\n'),
    ]);
  });

  test('is reported together with all other problems', () => {
    expect(
      check(loop('while: a == 1', poll('until: b == 1', use('c'), batch('items: "{{d}}"'))), use('e')).map(
        (problem) => /"(.)"/.exec(problem)?.[1],
      ),
    ).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd', 'e']));
  });
});

describe('{{first-name}}, which is not a valid reference,', () => {
  const hint = ['give the column a name at the top of the flow:', 'columns:', '  first_name: first-name'];

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
  ])('causes a warning with advice to give the column a name if it is in %s', (_, node) => {
    const warnings = planFor(flowOf(node)).warnings();
    expect(warnings.map(({ message }) => message.split('\n'))).toEqual([
      [expect.stringContaining('{{first-name}} is not a reference and stays text'), ...hint],
    ]);
    const { text, caret, width } = warnings[0]?.source ?? { text: '', caret: 0, width: 0 };
    expect(text.slice(caret, caret + width)).toContain('{{first-name}}');
  });

  test('can be replaced by {{first_name}} after a set node that renames the field', () => {
    const flow = flowOf(
      '{ type: set, rename: { first-name: first_name } }',
      loop('while: n == "1"', http('map: { n: n }'), use('first_name')),
    );
    expect(flowProblems(flow, { header: ['first-name'] })).toEqual([]);
    expect(planFor(flow).warnings()).toEqual([]);
  });
});

describe('the output columns of a flow with inner nodes', () => {
  const columns = (...nodes: string[]) => planFor(flowOf(...nodes)).columns(['id']);

  test.each([
    ['a loop', [loop('while: n != null', http('map: { n: next, item: "i[].a" }'), use('n'))], ['id', 'n', 'item', 'used']],
    ['a poll', [poll('until: s == 1', http('map: { s: status }')), use('s')], ['id', 's', 'used']],
    [
      'nested loops and polls',
      [loop('while: n != null', poll('until: s == 1', http('map: { s: s }')), http('map: { n: n }'))],
      ['id', 's', 'n'],
    ],
    ['pages', [http('map: { item: "i[].a" }, paginate: { type: link_header }')], ['id', 'item']],
    ['a batch', [batch('items: "{{id}}"'), use('name')], ['id', 'name', 'used']],
    ['a loop that may fail', [loop('while: n != null, on_error: keep', http('map: { n: next }'))], ['id', 'n', '_error']],
    ['an inner node that may fail', [loop('while: n != null', http('map: { n: next }, on_error: keep'))], ['id', 'n', '_error']],
  ])('are known before the first record if the flow has %s', (_, nodes, expected) => {
    expect(columns(...nodes)).toEqual(expected);
  });
});

describe('a mistake in a condition or a key', () => {
  const rest = ['no record has a field "yyy" here; available: id', 'no record has a field "www" here; available: id, n'];

  test.each([
    ['{ type: poll, until: "n ==", NODES }', 'not a CEL expression'],
    ['{ type: loop, while: "n <", NODES }', 'not a CEL expression'],
    ['{ type: loop, NODES }', 'the key "while" is missing'],
    ['{ type: poll, until: 5, NODES }', 'expected a CEL expression'],
    ['{ type: loop, whiel: "n < 5", NODES }', 'unknown key "whiel"; did you mean "while"?'],
  ])('does not hide problems inside or after its node: %s', (node, problem) => {
    const written = node.replace('NODES', 'nodes: [{ type: http, url: "https://a.com/{{yyy}}", map: [n] }]');
    const flow = `nodes:\n  - ${written}\n  - { type: http, url: "https://a.com/{{www}}" }\n`;
    const found = flowProblems(flow, { header: ['id'] }).map(({ message }) => message.split('\n')[0]);
    expect(found).toEqual([expect.stringContaining(problem), ...rest]);
  });

  test('does not hide problems in the value of a misspelt key', () => {
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

  test('is not reported for true and false without quotes, which are valid conditions', () => {
    expect(flowProblems('nodes: [{ type: loop, when: false, while: true, nodes: [{ type: set, when: true }] }]')).toEqual([]);
  });
});
