import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { runFlow } from '../helpers/run-flow.ts';

const answered = (more: string, answer: FakeAnswer) =>
  runFlow(`nodes:\n  - { type: http, url: "https://api.example.com/{{id}}", ${more} }\n`, [{ id: 1 }], { http: () => answer });

describe('a required path', () => {
  const map = 'map: { name: { path: data.user.name, required: true } }';

  test('fails the record if nothing is found', async () => {
    expect(await answered(map, { body: { data: {} } })).toMatchObject({
      rows: [],
      failures: [{ class: 'mapping', status: 200, message: 'the answer has no "data.user.name", and "name" is required' }],
    });
  });

  test('finds null', async () => {
    expect((await answered(map, { body: { data: { user: { name: null } } } })).rows).toEqual([{ id: 1, name: null }]);
  });

  test('is not found in an empty body', async () => {
    expect((await answered(map, {})).failures).toMatchObject([{ class: 'mapping' }]);
  });

  test('is not required with required: false', async () => {
    expect((await answered(map.replace('true', 'false'), { body: {} })).rows).toEqual([{ id: 1, name: null }]);
  });

  test.each([
    ['n: { path: "list[].n", required: true }', { list: [{ n: 1 }, {}] }],
    ['n: { path: "list[].n", required: true }', { other: [] }],
    ['n: { path: "list[].n", required: true }, m: "list[].subs[].m"', { list: [{ subs: [{ m: 1 }] }] }],
    ['m: { path: "list[].subs[].m", required: true }', { list: [{ subs: [{ m: 1 }] }, {}] }],
    ['top: { path: top, required: true }, n: "list[].n"', { list: [{ n: 1 }] }],
  ])('is looked for in each element: { %s }', async (members, body) => {
    expect(await answered(`map: { ${members} }`, { body })).toMatchObject({ rows: [], failures: [{ class: 'mapping' }] });
  });

  test.each([
    ['keep', { rows: [{ id: 1, n: null }], failures: [] }],
    ['drop', { rows: [], failures: [] }],
    ['error', { rows: [], failures: [{ message: 'the array "list[]" is empty or absent' }] }],
  ])('leaves an empty list to when_empty: %s', async (whenEmpty, expected) => {
    const node = `when_empty: ${whenEmpty}, map: { n: { path: "list[].n", required: true } }`;
    expect(await answered(node, { body: { list: [] } })).toMatchObject(expected);
  });
});

describe('a default', () => {
  test('stands in for nothing found, with its type and digits, and not for null', async () => {
    const map =
      'map: { a: { path: a, default: 1.50 }, b: { path: b, default: [x] }, c: { path: c, default: no }, d: { path: d, default: 1 } }';
    const { rows } = await answered(map, { body: { d: null } });
    expect(rows).toEqual([{ id: 1, a: { text: '1.50' }, b: ['x'], c: 'no', d: null }]);
  });

  test('stands in element by element', async () => {
    const { rows } = await answered('map: { n: { path: "list[].n", default: 0 }, k: "list[].k" }', {
      body: { list: [{ n: 1, k: 1 }, { k: 2 }, { n: null }] },
    });
    expect(rows).toEqual([
      { id: 1, n: 1, k: 1 },
      { id: 1, n: 0, k: 2 },
      { id: 1, n: null, k: null },
    ]);
  });

  test('stands in for an absent array, and not for the elements of an empty one', async () => {
    const map = 'map: { n: { path: "list[].n", default: 0 } }';
    expect((await answered(map, { body: {} })).rows).toEqual([{ id: 1, n: 0 }]);
    expect((await answered(map, { body: { list: [] } })).rows).toEqual([{ id: 1, n: null }]);
  });

  test('does not count as found', async () => {
    const { events } = await answered('map: { n: { path: n, default: 0 } }', { body: {} });
    expect(events.filter(({ type }) => type === 'mapped')).toMatchObject([{ paths: ['n'], found: [false] }]);
  });
});

describe('the Accept header', () => {
  const accepted = async (more: string) => {
    const { requests } = await answered(more, { body: { a: 1 } });
    return Object.entries(requests[0]?.headers ?? {}).filter(([name]) => name.toLowerCase() === 'accept');
  };

  test.each([
    ['map: [a]', [['Accept', 'application/json, */*;q=0.5']]],
    ['map: { s: $status }', [['Accept', 'application/json, */*;q=0.5']]],
    ['map: [$body], response: text', []],
    ['timeout: 5s', []],
    ['map: [a], headers: { accept: application/xml }', [['accept', 'application/xml']]],
  ])('of { %s }', async (more, expected) => {
    expect(await accepted(more)).toEqual(expected);
  });

  test('is named by the failure of an answer that is not JSON, unless the request asked for JSON first', async () => {
    const answer = { headers: { 'content-type': 'text/plain' }, body: 'pending' };
    const message = 'expected JSON, found text/plain: pending';
    const advice = 'ask for JSON: headers: { Accept: application/json }';
    expect((await answered('map: [a], headers: { accept: "*/*" }', answer)).failures).toMatchObject([
      { class: 'parse', message: `${message}\n${advice}` },
    ]);
    expect((await answered('map: [a]', answer)).failures).toMatchObject([{ class: 'parse', message }]);
    const broken = { headers: { 'content-type': 'application/json' }, body: '{' };
    expect((await answered('map: [a]', broken)).failures).toMatchObject([
      { message: 'expected JSON, found invalid JSON as application/json: {' },
    ]);
  });
});
