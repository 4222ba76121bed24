import { describe, expect, test } from 'vitest';
import { compile } from '../../src/flow/compile.ts';
import { FieldUses } from '../../src/output/update/record-memory.ts';
import { nodeTypes } from '../helpers/node-types.ts';

const http = '{ type: http, url: "https://a.example/{{id}}", map: { name: name }';

function planOf(nodes: string) {
  return compile(`nodes: [${nodes}]`, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: true });
}

function usesOf(nodes: string, set: readonly (readonly [string, string])[] = []) {
  return new FieldUses({ plan: planOf(nodes), set });
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
    ['the literal text "record"', `${http}, when: 'kind == "record" && has(record.id)' }`, { kind: 'read', note: 'passes' }],
    ['a part of the response that is named "record"', `${http}, fail_when: 'has(body.record)' }`, { record: 'passes', note: 'passes' }],
    ['a member of the record with a literal name', `${http}, fail_when: 'body.x == record["a b"]' }`, { 'a b': 'read', note: 'passes' }],
    ['the whole record', `${http}, fail_when: 'size(record) > 3' }`, { note: 'read' }],
    ['an inner node', `{ type: loop, while: 'false', max: 2, nodes: [${http} }] }`, { id: 'read', name: 'read', note: 'passes' }],
  ])('includes the fields used in %s', (_, nodes, expected) => {
    const uses = usesOf(nodes);
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, uses.of(name).use]))).toEqual(expected);
  });

  test('excludes fields that are only removed or kept', () => {
    const removing = usesOf(`${http} }, { type: set, remove: [note] }`);
    expect([removing.of('note').use, removing.of('other').use]).toEqual(['gone', 'passes']);
    const keeping = usesOf(`${http} }, { type: set, keep: [id, name, note] }`);
    expect([keeping.of('note').use, keeping.of('other').use, keeping.of('id').use]).toEqual(['passes', 'gone', 'read']);
    expect(usesOf(`${http} }, { type: set, remove: [note], when: 'plan == "pro"' }`).of('note').use).toBe('read');
  });

  test('excludes a field that is set to the same value for every record', () => {
    expect(usesOf(`${http} }`, [['id', '1']]).of('id').use).toBe('set');
  });
});

test.each([
  ['a field that a node reads', `${http} }`, ['id']],
  ['a field that an earlier node adds', `${http} }, { type: set, fields: { a: "{{name}} {{b}}" } }`, ['id', 'b']],
  ['a field that a node only removes', `${http} }, { type: set, remove: [tmp] }`, ['id']],
  ['a field that a node only keeps', `${http} }, { type: set, keep: [name, tmp] }`, ['id']],
  ['a field that a node renames', '{ type: set, rename: { a: b } }', ['a']],
  [
    'a field that a loop needs in its first pass',
    '{ type: loop, max: 2, while: "next != null", carry: [next], nodes: [{ type: http, url: "https://a.example/?c={{next}}", map: [next] }] }',
    ['next'],
  ],
  [
    'a field that a loop reads only in later passes',
    '{ type: loop, max: 2, while: "n < 3", carry: [n], nodes: [{ type: set, fields: { m: "{{n}}" }, when: "false" }, { type: set, fields: { n: 1 } }] }',
    [],
  ],
])('lists the fields that every record needs: %s', (_, nodes, expected) => {
  expect(planOf(nodes).neededFields()).toEqual(expected);
});
