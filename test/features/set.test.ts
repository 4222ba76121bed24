import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/core/value/value.ts';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { type GivenRecord, runFlow } from '../helpers/run-flow.ts';

/** Returns what a set node makes of a record: a list of names and values, or the failure. */
async function setOver(set: string, record: GivenRecord) {
  const { rows, failures, requests } = await runFlow(`nodes:\n  - { type: set, ${set} }\n`, [record]);
  expect(requests).toEqual([]);
  return failures.length > 0 ? failures : Object.entries(rows[0] as object);
}

describe('the fields option of a set node', () => {
  test('adds new fields at the end, and replaces existing fields in their position', async () => {
    expect(await setOver('fields: { full: "{{first}} {{last}}", first: "x" }', { first: 'Ann', last: 'Lee' })).toEqual([
      ['first', 'x'],
      ['last', 'Lee'],
      ['full', 'Ann Lee'],
    ]);
  });

  test('keeps the type of a CEL value', async () => {
    expect(await setOver('fields: { age: { cel: int(age) }, adult: { cel: int(age) >= 18 } }', { age: '42' })).toEqual([
      ['age', 42],
      ['adult', true],
    ]);
  });

  test('keeps the type of a single reference', async () => {
    expect(await setOver('fields: { copy: "{{list}}", text: "{{list}}!" }', { list: [1] })).toEqual([
      ['list', [1]],
      ['copy', [1]],
      ['text', '[1]!'],
    ]);
  });

  test('keeps numbers, true, false and null as the flow contains them', async () => {
    expect(await setOver('fields: { n: 5, f: 1.50, big: 12345678901234567890, t: true, e: null, s: "5" }', {})).toEqual([
      ['n', 5],
      ['f', new ExactNumber('1.50')],
      ['big', new ExactNumber('12345678901234567890')],
      ['t', true],
      ['e', null],
      ['s', '5'],
    ]);
  });

  test('refers to fields of the original record, not to other fields that it sets', async () => {
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
  ])('makes the record fail at no cost: %s', async (set, message) => {
    expect(await setOver(set, { x: '', z: '0' })).toMatchObject([{ record: 1, node: 'set-1', class: 'template', message, attempts: 0 }]);
  });
});

describe('the rename option of a set node', () => {
  test('keeps the position of the renamed field', async () => {
    expect(await setOver('rename: { first-name: first_name }', { 'first-name': 'Ann', id: 1 })).toEqual([
      ['first_name', 'Ann'],
      ['id', 1],
    ]);
  });

  test('is applied before the fields option, which can use both the old and the new name', async () => {
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

  test('replaces an existing field that has the new name', async () => {
    expect(await setOver('rename: { a: b }', { a: 1, b: 2, c: 3 })).toEqual([
      ['b', 1],
      ['c', 3],
    ]);
  });

  test('can swap the names of two fields', async () => {
    expect(await setOver('rename: { a: b, b: a }, fields: { x: "{{a}}" }', { a: 1, b: 2 })).toEqual([
      ['b', 1],
      ['a', 2],
      ['x', 2],
    ]);
  });

  test('ignores a field that the record does not have', async () => {
    expect(await setOver('rename: { a: b }', { b: 2 })).toEqual([['b', 2]]);
  });

  test('refuses the same new name for two fields', () => {
    expect(flowProblems('nodes: [{ type: set, rename: { a: x, b: x } }]').map(onOneLine)).toEqual(['1:41 two fields are renamed to "x"']);
  });
});

test('a set node applies its remove option last, so its fields option can use the removed fields', async () => {
  expect(await setOver('rename: { a: b }, fields: { c: "{{b}}" }, remove: [b, nothing]', { a: 1 })).toEqual([['c', 1]]);
});

test('a set node treats names such as __proto__ as ordinary field names', async () => {
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

test('a set node obeys the when and on_error options as any other node does', async () => {
  const yaml = 'nodes: [{ type: set, when: n > 0, on_error: keep, fields: { half: { cel: 10 / n } } }]';
  const { rows } = await runFlow(yaml, [{ n: 0 }, { n: 2 }, { n: 'x' }]);
  expect(rows).toEqual([{ n: 0 }, { n: 2, half: 5 }, { n: 'x', _error: expect.objectContaining({ node: 'set-1', class: 'template' }) }]);
});

describe('the keep option of a set node', () => {
  test('leaves only the listed fields, in the listed order', async () => {
    expect(await setOver('fields: { c: 3 }, rename: { a: x }, keep: [c, x]', { b: 2, a: 1 })).toEqual([
      ['x', 1],
      ['c', 3],
    ]);
    expect(await setOver('keep: [b, lost]', { a: 1, b: 2 })).toEqual([['b', 2]]);
  });

  test('sets the columns, to which later nodes can add more', async () => {
    const flow = 'nodes: [{ type: set, keep: [b] }, { type: set, fields: { c: "{{b}}" } }]';
    expect((await runFlow(flow, [{ a: '1', b: '2' }])).rows).toEqual([{ b: '2', c: '2' }]);
    expect(planFor(flow).columns(['a', 'b'])).toEqual(['b', 'c']);
  });

  test.each([
    ['keep: [a, b], remove: [b]', '"b" is in both remove and keep'],
    ['keep: [id, a], rename: { id: ix }', '"id" is renamed to "ix"; keep "ix"'],
    ['keep: []', 'expected at least one, found an empty list'],
  ])('is refused with invalid values: %s', (options, message) => {
    expect(flowProblems(`nodes: [{ type: set, ${options} }]`).map((problem) => problem.message)).toEqual([message]);
  });

  test('causes a problem if it lists an unknown field or drops a field that is used later', () => {
    const unknown = planFor('nodes: [{ type: set, keep: [nme] }]').unknownFields(['a', 'b']);
    expect(unknown.map(onOneLine).join()).toContain('no record has a field "nme" here');
    const dropped = flowProblems('nodes: [{ type: set, keep: [a] }, { type: set, fields: { c: "{{b}}" } }]');
    expect(dropped.map(onOneLine).join()).toContain('no record has a field "b" here any more');
  });
});
