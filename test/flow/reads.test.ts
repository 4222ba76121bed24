import { describe, expect, test } from 'vitest';
import { FieldUses } from '../../src/app/update/field-uses.ts';
import { compile } from '../../src/flow/compile.ts';
import { nodeTypes } from '../../src/nodes/index.ts';

const http = '{ type: http, url: "https://a.example/{{id}}", map: { name: name }';

function usesOf(nodes: string, set: readonly (readonly [string, string])[] = []) {
  const plan = compile(`nodes: [${nodes}]`, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: true });
  return new FieldUses({ plan, set });
}

describe('the list of the fields that affect what a flow does with a record', () => {
  test.each([
    ['a template', `${http} }`, { id: 'read', name: 'read', note: 'passes' }],
    ['a condition of a node', `${http}, when: 'plan == "pro"' }`, { plan: 'read', note: 'passes' }],
    ['a test whether a field exists', '{ type: filter, where: has(flag) }', { flag: 'read', note: 'passes' }],
    [
      'a condition about the response',
      `${http}, fail_when: 'has(record.limit) && body.x == record["max"]' }`,
      { limit: 'read', max: 'read', note: 'passes' },
    ],
    ['a field whose name is computed at run time', `${http}, fail_when: 'record[body.x] == "1"' }`, { note: 'read' }],
    ['an expression', '{ type: set, fields: { a: { cel: "b + c" } } }', { a: 'read', b: 'read', c: 'read', d: 'passes' }],
    ['a node that renames a field', '{ type: set, rename: { note: remark } }', { note: 'read', remark: 'read', other: 'passes' }],
    ['an inner node', `{ type: loop, while: 'false', max: 2, nodes: [${http} }] }`, { id: 'read', name: 'read', note: 'passes' }],
  ])('includes the fields used in %s', (_, nodes, expected) => {
    const uses = usesOf(nodes);
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, uses.of(name).use]))).toEqual(expected);
  });

  test('excludes a field that is set to the same value for every record', () => {
    expect(usesOf(`${http} }`, [['id', '1']]).of('id').use).toBe('set');
  });
});
