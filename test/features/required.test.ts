import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { runFlow } from '../helpers/run-flow.ts';

const answered = (more: string, answer: FakeAnswer) =>
  runFlow(`nodes:\n  - { type: http, url: "https://api.example.com/{{id}}", ${more} }\n`, [{ id: 1 }], { http: () => answer });

describe('the required option of a map path', () => {
  const map = 'map: { name: { path: data.user.name, required: true } }';

  test('makes the record fail if the path finds nothing', async () => {
    expect(await answered(map, { body: { data: {} } })).toMatchObject({
      rows: [],
      failures: [{ class: 'mapping', status: 200, message: 'the answer has no "data.user.name", but "name" is required' }],
    });
  });

  test('accepts null as a value', async () => {
    expect((await answered(map, { body: { data: { user: { name: null } } } })).rows).toEqual([{ id: 1, name: null }]);
  });

  test('makes the record fail if the body is empty', async () => {
    expect((await answered(map, {})).failures).toMatchObject([{ class: 'mapping' }]);
  });

  test('allows the path to find nothing if the option is false', async () => {
    expect((await answered(map.replace('true', 'false'), { body: {} })).rows).toEqual([{ id: 1, name: null }]);
  });

  test.each([
    ['n: { path: "list[].n", required: true }', { list: [{ n: 1 }, {}] }],
    ['n: { path: "list[].n", required: true }', { other: [] }],
    ['n: { path: "list[].n", required: true }, m: "list[].subs[].m"', { list: [{ subs: [{ m: 1 }] }] }],
    ['m: { path: "list[].subs[].m", required: true }', { list: [{ subs: [{ m: 1 }] }, {}] }],
    ['top: { path: top, required: true }, n: "list[].n"', { list: [{ n: 1 }] }],
  ])('applies to each element of an array: { %s }', async (members, body) => {
    expect(await answered(`map: { ${members} }`, { body })).toMatchObject({ rows: [], failures: [{ class: 'mapping' }] });
  });

  test.each([
    ['keep', { rows: [{ id: 1, n: null }], failures: [] }],
    ['drop', { rows: [], failures: [] }],
    ['error', { rows: [], failures: [{ message: 'the array "list[]" is empty or missing' }] }],
  ])('does not apply to an empty array, for which when_empty is used: %s', async (whenEmpty, expected) => {
    const node = `when_empty: ${whenEmpty}, map: { n: { path: "list[].n", required: true } }`;
    expect(await answered(node, { body: { list: [] } })).toMatchObject(expected);
  });
});

describe('a map path with a default', () => {
  test('uses the default if the value is missing, but not if the value is null', async () => {
    const map =
      'map: { a: { path: a, default: 1.50 }, b: { path: b, default: [x] }, c: { path: c, default: no }, d: { path: d, default: 1 } }';
    const { rows } = await answered(map, { body: { d: null } });
    expect(rows).toEqual([{ id: 1, a: { text: '1.50' }, b: ['x'], c: 'no', d: null }]);
  });

  test('uses the default separately for each element of an array', async () => {
    const { rows } = await answered('map: { n: { path: "list[].n", default: 0 }, k: "list[].k" }', {
      body: { list: [{ n: 1, k: 1 }, { k: 2 }, { n: null }] },
    });
    expect(rows).toEqual([
      { id: 1, n: 1, k: 1 },
      { id: 1, n: 0, k: 2 },
      { id: 1, n: null, k: null },
    ]);
  });

  test('uses the default if the array is missing, but not if the array is empty', async () => {
    const map = 'map: { n: { path: "list[].n", default: 0 } }';
    expect((await answered(map, { body: {} })).rows).toEqual([{ id: 1, n: 0 }]);
    expect((await answered(map, { body: { list: [] } })).rows).toEqual([{ id: 1, n: null }]);
  });

  test('counts as not found if the default is used', async () => {
    const { events } = await answered('map: { n: { path: n, default: 0 } }', { body: {} });
    expect(events.filter(({ type }) => type === 'mapped')).toMatchObject([{ paths: ['n'], found: [false] }]);
  });
});

describe('the Accept header of a request', () => {
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
  ])("depends on the node's map and response options: { %s }", async (more, expected) => {
    expect(await accepted(more)).toEqual(expected);
  });

  test('is suggested in the message about a response that is not JSON', async () => {
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
