import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/core/value/value.ts';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { type GivenRecord, runFlow } from '../helpers/run-flow.ts';

/** The record after a set node, as a list of names and values; or its failure. */
async function setOver(set: string, record: GivenRecord) {
  const { rows, failures, requests } = await runFlow(`nodes:\n  - { type: set, ${set} }\n`, [record]);
  expect(requests).toEqual([]);
  return failures.length > 0 ? failures : Object.entries(rows[0] as object);
}

describe('fields', () => {
  test('are added after the others, or replaced in their place', async () => {
    expect(await setOver('fields: { full: "{{first}} {{last}}", first: "x" }', { first: 'Ann', last: 'Lee' })).toEqual([
      ['first', 'x'],
      ['last', 'Lee'],
      ['full', 'Ann Lee'],
    ]);
  });

  test('take the type of a CEL value', async () => {
    expect(await setOver('fields: { age: { cel: int(age) }, adult: { cel: int(age) >= 18 } }', { age: '42' })).toEqual([
      ['age', 42],
      ['adult', true],
    ]);
  });

  test('keep the type of a single reference', async () => {
    expect(await setOver('fields: { copy: "{{list}}", text: "{{list}}!" }', { list: [1] })).toEqual([
      ['list', [1]],
      ['copy', [1]],
      ['text', '[1]!'],
    ]);
  });

  test('take numbers, true, false and null as they were written', async () => {
    expect(await setOver('fields: { n: 5, f: 1.50, big: 12345678901234567890, t: true, e: null, s: "5" }', {})).toEqual([
      ['n', 5],
      ['f', new ExactNumber('1.50')],
      ['big', new ExactNumber('12345678901234567890')],
      ['t', true],
      ['e', null],
      ['s', '5'],
    ]);
  });

  test('all see the original record', async () => {
    expect(await setOver('fields: { a: "{{b}}", b: "{{a}}" }', { a: 1, b: 2 })).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect(await setOver('fields: { x: "1", y: "{{x}}" }', {})).toMatchObject([
      { class: 'template', message: 'the record has no field "x"' },
    ]);
  });

  test.each([
    ['fields: { a: "{{b}}" }', 'the record has no field "b"'],
    ['fields: { a: { cel: b + 1 } }', 'the field "a" cannot be made: the record has no field "b"'],
    ['fields: { age: { cel: int(x) } }', 'the field "age" cannot be made: expected a whole number, found ""'],
    ['fields: { a: { cel: 1 / int(z) } }', 'the field "a" cannot be made: the expression cannot be evaluated: division by zero'],
  ])('fail the record without cost: %s', async (set, message) => {
    expect(await setOver(set, { x: '', z: '0' })).toMatchObject([{ record: 1, node: 'set-1', class: 'template', message, attempts: 0 }]);
  });
});

describe('rename', () => {
  test('keeps the place of a field', async () => {
    expect(await setOver('rename: { first-name: first_name }', { 'first-name': 'Ann', id: 1 })).toEqual([
      ['first_name', 'Ann'],
      ['id', 1],
    ]);
  });

  test('comes first: templates can use the old name and the new one', async () => {
    expect(await setOver('rename: { first-name: name }, fields: { hi: "Hi {{name}}" }', { 'first-name': 'Ann' })).toEqual([
      ['name', 'Ann'],
      ['hi', 'Hi Ann'],
    ]);
    expect(await setOver('rename: { a: b }, fields: { old: "{{a}}", new: "{{b}}" }', { a: 1 })).toEqual([
      ['b', 1],
      ['old', 1],
      ['new', 1],
    ]);
  });

  test('drops the field that had the new name', async () => {
    expect(await setOver('rename: { a: b }', { a: 1, b: 2, c: 3 })).toEqual([
      ['b', 1],
      ['c', 3],
    ]);
  });

  test('can swap two names', async () => {
    expect(await setOver('rename: { a: b, b: a }, fields: { x: "{{a}}" }', { a: 1, b: 2 })).toEqual([
      ['b', 1],
      ['a', 2],
      ['x', 2],
    ]);
  });

  test('ignores a field that the record lacks', async () => {
    expect(await setOver('rename: { a: b }', { b: 2 })).toEqual([['b', 2]]);
  });

  test('refuses to give two fields the same name', () => {
    expect(flowProblems('nodes: [{ type: set, rename: { a: x, b: x } }]').map(onOneLine)).toEqual(['1:41 two fields are renamed to "x"']);
  });
});

test('remove comes last: a removed field can still be used', async () => {
  expect(await setOver('rename: { a: b }, fields: { c: "{{b}}" }, remove: [b, nothing]', { a: 1 })).toEqual([['c', 1]]);
});

test('names such as __proto__ are data', async () => {
  const record: GivenRecord = [
    ['__proto__', 1],
    ['constructor', 2],
  ];
  expect(await setOver('rename: { __proto__: x, constructor: __proto__ }', record)).toEqual([
    ['x', 1],
    ['__proto__', 2],
  ]);
  expect(await setOver('fields: { __proto__: "{{constructor}}", toString: 3 }, remove: [constructor]', record)).toEqual([
    ['__proto__', 2],
    ['toString', 3],
  ]);
});

test('when and on_error work as for every node', async () => {
  const yaml = 'nodes: [{ type: set, when: n > 0, on_error: keep, fields: { half: { cel: 10 / n } } }]';
  const { rows } = await runFlow(yaml, [{ n: 0 }, { n: 2 }, { n: 'x' }]);
  expect(rows).toEqual([{ n: 0 }, { n: 2, half: 5 }, { n: 'x', _error: expect.objectContaining({ node: 'set-1', class: 'template' }) }]);
});

describe('keep', () => {
  test('leaves only the fields that it names, in their order', async () => {
    expect(await setOver('fields: { c: 3 }, rename: { a: x }, keep: [c, x]', { b: 2, a: 1 })).toEqual([
      ['x', 1],
      ['c', 3],
    ]);
    expect(await setOver('keep: [b, lost]', { a: 1, b: 2 })).toEqual([['b', 2]]);
  });

  test('decides the columns; a later node may add more', async () => {
    const flow = 'nodes: [{ type: set, keep: [b] }, { type: set, fields: { c: "{{b}}" } }]';
    expect((await runFlow(flow, [{ a: '1', b: '2' }])).rows).toEqual([{ b: '2', c: '2' }]);
    expect(planFor(flow).columns(['a', 'b'])).toEqual(['b', 'c']);
  });

  test.each([
    ['keep: [a, b], remove: [b]', '"b" is removed (remove) and kept (keep)'],
    ['keep: []', 'expected at least one, found an empty list'],
  ])('does not take %s', (options, message) => {
    expect(flowProblems(`nodes: [{ type: set, ${options} }]`).map((problem) => problem.message)).toEqual([message]);
  });

  test('of a field that no record has, and a later use of one that is dropped, are problems', () => {
    const unknown = planFor('nodes: [{ type: set, keep: [nme] }]').unknownFields(['a', 'b']);
    expect(unknown.map(onOneLine).join()).toContain('no record has a field "nme" here');
    const dropped = flowProblems('nodes: [{ type: set, keep: [a] }, { type: set, fields: { c: "{{b}}" } }]');
    expect(dropped.map(onOneLine).join()).toContain('no record has a field "b" here any more');
  });
});
