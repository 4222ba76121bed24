import { describe, expect, test } from 'vitest';
import { FieldUses } from '../../src/app/update/field-uses.ts';
import { compile } from '../../src/flow/compile.ts';
import { nodeTypes } from '../../src/nodes/index.ts';

const http = '{ type: http, url: "https://a.example/{{id}}", map: { name: name }';

function usesOf(nodes: string, set: readonly (readonly [string, string])[] = []) {
  const plan = compile(`nodes: [${nodes}]`, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: true });
  return new FieldUses({ plan, set });
}

describe('the fields that decide what a flow makes of a record', () => {
  test.each([
    ['a template', `${http} }`, { id: 'read', name: 'read', note: 'passes' }],
    ['a condition of a node', `${http}, when: 'plan == "pro"' }`, { plan: 'read', note: 'passes' }],
    ['a test for a field', '{ type: filter, where: has(flag) }', { flag: 'read', note: 'passes' }],
    [
      'a condition over the answer',
      `${http}, fail_when: 'has(record.limit) && body.x == record["max"]' }`,
      { limit: 'read', max: 'read', note: 'passes' },
    ],
    ['a field with a name made at run time', `${http}, fail_when: 'record[body.x] == "1"' }`, { note: 'read' }],
    ['an expression', '{ type: set, fields: { a: { cel: "b + c" } } }', { a: 'read', b: 'read', c: 'read', d: 'passes' }],
    ['a node that renames', '{ type: set, rename: { note: remark } }', { note: 'read', remark: 'read', other: 'passes' }],
    ['a node inside another', `{ type: loop, while: 'false', max: 2, nodes: [${http} }] }`, { id: 'read', name: 'read', note: 'passes' }],
  ])('with %s', (_, nodes, expected) => {
    const uses = usesOf(nodes);
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, uses.of(name)]))).toEqual(expected);
  });

  test('without those that are set for every record', () => {
    expect(usesOf(`${http} }`, [['id', '1']]).of('id')).toBe('set');
  });
});
