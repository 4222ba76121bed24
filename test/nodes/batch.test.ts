import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { Item } from '../../src/core/item.ts';
import { ExactNumber } from '../../src/core/value/value.ts';
import { Gates } from '../../src/engine/gates.ts';
import { startRun } from '../../src/engine/run.ts';
import { compile } from '../../src/flow/compile.ts';
import { nodeTypes } from '../../src/nodes/index.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { toResponse } from '../helpers/fake-answer.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { flowProblems, onOneLine, shown } from '../helpers/flow-problems.ts';
import { rowsInMemory, runFlow, type SentRequest, toFields } from '../helpers/run-flow.ts';

const byId = 'match: { field: id, path: "results[].id" }';
const named = 'map: { name: "results[].name" }';

interface Written {
  /** Of `batch`, besides items. */
  readonly batch?: string;
  readonly items?: string;
  readonly body?: string;
  /** Of the node. */
  readonly more?: string;
  readonly before?: string;
  readonly behind?: string;
}

/** A flow that looks many records up with one request. */
function lookup({ batch = byId, items = '"{{id}}"', body = '{ ids: "{{items}}" }', more = named, before = '', behind = '' }: Written = {}) {
  return `nodes:
${before}  - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { ${batch}, items: ${items} }, body: ${body}, ${more} }
${behind}`;
}

/** The list that a request asks for. */
const listIn = ({ body }: { body?: string | undefined }): unknown[] => JSON.parse(body ?? '{}').ids ?? [];

const lists = ({ requests }: { requests: readonly SentRequest[] }) => requests.filter(({ body }) => body !== undefined).map(listIn);

const sizes = (result: { requests: readonly SentRequest[] }) => lists(result).map(({ length }) => length);

/** Knows a name for every id, and answers in another order than asked; those that are `unknown` are left out. */
const names =
  (unknown: readonly unknown[] = []) =>
  (request: SentRequest): FakeAnswer => {
    const known = listIn(request).filter((id) => !unknown.includes(id));
    return { body: { results: known.reverse().map((id) => ({ id, name: `name ${id}` })) } };
  };

/** Refuses every list that holds a bad id. */
const refusing =
  (bad: readonly unknown[], answer: FakeAnswer = { status: 400 }) =>
  (request: SentRequest): FakeAnswer =>
    listIn(request).some((id) => bad.includes(id)) ? answer : names()(request);

const records = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `r${index + 1}` }));

const idsOf = (rows: readonly Record<string, unknown>[]) => rows.map(({ id }) => id);

describe('a batch', () => {
  test('numbers of the flow keep their digits in the list', async () => {
    const items = '{ id: "{{id}}", a: 0.10, b: 1e3, c: 9007199254740993, d: 7 }';
    const { requests } = await runFlow(lookup({ items, batch: 'size: 2' }), records(1), {
      http: () => ({ body: { results: [{ name: 'n' }] } }),
    });
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":[{"id":"r1","a":0.10,"b":1e3,"c":9007199254740993,"d":7}]}']);
  });

  test('asks for many records with one request, each gets its own, in input order, for one credit a batch', async () => {
    const result = await runFlow(lookup({ batch: `size: 100, ${byId}` }), records(1000), { http: names() });
    expect(sizes(result)).toEqual(Array.from({ length: 10 }, () => 100));
    expect(result.credits).toBe(10);
    expect(result.rows).toEqual(records(1000).map(({ id }) => ({ id, name: `name ${id}` })));
  });

  test('is sent when it is full, the last one when no more records come', async () => {
    const result = await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(10), { http: names() });
    expect(lists(result)).toEqual([
      ['r1', 'r2', 'r3', 'r4'],
      ['r5', 'r6', 'r7', 'r8'],
      ['r9', 'r10'],
    ]);
    expect([result.credits, result.rows.length]).toEqual([3, 10]);
  });

  test('holds 100 unless said otherwise', async () => {
    expect(sizes(await runFlow(lookup(), records(250), { http: names() }))).toEqual([100, 100, 50]);
  });

  test('of nothing is not sent', async () => {
    const result = await runFlow(lookup(), [], { http: names() });
    expect([result.requests, result.ending]).toEqual([[], 'complete']);
  });

  test('however few records are read at a time', async () => {
    expect(sizes(await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(10), { http: names(), batch: 1 }))).toEqual([4, 4, 2]);
  });

  test('is one request at a time with --concurrency 1', async () => {
    const result = await runFlow(lookup({ batch: `size: 10, ${byId}` }), records(95), {
      concurrency: 1,
      http: (request) => ({ ...names()(request), afterMs: 100 }),
    });
    expect(sizes(result).slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 10));
    expect(result.requests.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10 }, (_, index) => index * 100));
    expect(result.rows).toHaveLength(95);
  });

  test.each([
    ['in order', false],
    ['out of order', true],
  ])('may be larger than any window of records: %s', async (_, unordered) => {
    const size = 3000;
    const result = await runFlow(lookup({ batch: `size: ${size}, ${byId}` }), records(10_000), {
      http: names(),
      batch: 256,
      unordered,
      concurrency: 1,
    });
    expect(sizes(result)[0]).toBe(3000);
    expect(lists(result).flat()).toHaveLength(10_000);
    expect(result.rows).toHaveLength(10_000);
  });

  test('comes back whenever it comes back: records are written in their order, or with --unordered as they come', async () => {
    const slowFirst = (request: SentRequest, index: number) => ({ ...names()(request), afterMs: 300 - index * 100 });
    const flow = lookup({ batch: `size: 2, ${byId}` });
    const ordered = await runFlow(flow, records(6), { http: slowFirst });
    expect(idsOf(ordered.rows)).toEqual(idsOf(records(6)));
    const unordered = await runFlow(flow, records(6), { http: slowFirst, unordered: true });
    expect(idsOf(unordered.rows)).toEqual(['r5', 'r6', 'r3', 'r4', 'r1', 'r2']);
  });

  test('costs what the node says, once for all its records', async () => {
    const { events, credits } = await runFlow(lookup({ batch: `size: 5, ${byId}` }), records(10), { http: names() });
    expect(events.filter(({ type }) => type === 'call-done')).toMatchObject([
      { record: 1, node: 'ask', attempts: 1 },
      { record: 6, node: 'ask', attempts: 1 },
    ]);
    expect(credits).toBe(2);
  });

  test('tells for every record which paths of the map led anywhere', async () => {
    const { events } = await runFlow(lookup({ batch: `missing: keep, ${byId}` }), records(3), { http: names(['r2']) });
    const found = events.flatMap((event) => (event.type === 'mapped' ? [[event.record, event.paths, event.found]] : []));
    expect(found).toEqual([
      [1, ['results[].name'], [true]],
      [2, ['results[].name'], [false]],
      [3, ['results[].name'], [true]],
    ]);
  });
});

describe('records that are found by the same value', () => {
  const byBoth = { items: '{ id: "{{id}}", in: "{{in}}" }', more: 'map: { name: "results[].name" }' };
  /** An element for every one of the list. */
  const each = (request: SentRequest): FakeAnswer => {
    const list = listIn(request) as { id: unknown; in: string }[];
    return { body: { results: list.map((item) => ({ id: item.id, name: `${item.id} in ${item.in}` })) } };
  };

  test.each([1, 2, 3, 100])('a record that asks for something else under the same value begins the next batch of %i', async (size) => {
    const given = ['DE', 'FR', 'IT', 'FR'].flatMap((country) => [7, 8].map((id) => ({ id, in: country })));
    const result = await runFlow(lookup({ ...byBoth, batch: `size: ${size}, ${byId}` }), given, { http: each });
    expect(result.rows.map(({ name }) => name)).toEqual(given.map((record) => `${record.id} in ${record.in}`));
    // 7 and 8 in DE, FR, IT, and FR again: the question for 7 changes three times.
    if (size === 100) expect(sizes(result)).toEqual([2, 2, 2, 2]);
  });

  test('a clashing record sends the open batch off, whatever the texts are', async () => {
    const given = [
      { id: 'a', in: 'a' },
      { id: 'a', in: 'b' },
      { id: 'a\0b', in: 'a\0b' },
    ];
    const { requests } = await runFlow(lookup({ items: '"{{in}}"' }), given, { http: names() });
    expect(requests.map(listIn)).toEqual([['a'], ['b', 'a\0b']]);
  });

  test('ten thousand clashing records make ten thousand requests', async () => {
    const given = Array.from({ length: 10_000 }, (_, index) => ({ id: 1, in: index }));
    const flow = lookup({ ...byBoth, before: '  - { type: http, url: "https://api.example.com/", map: { in: "in[]" } }\n' });
    const result = await runFlow(flow, [{ id: 1 }], {
      http: (request) => (request.body === undefined ? { body: { in: given.map((record) => record.in) } } : each(request)),
      forget: true,
    });
    expect([result.rows.length, result.rows.at(-1)]).toEqual([10_000, { id: 1, in: 9_999, name: '1 in 9999' }]);
  });

  test('clashing records that come later fill the next batch', async () => {
    const given = ['1a', '2x', '1b', '2y', '1c', '3z'].map((text) => ({ id: text[0], in: text[1] }));
    const result = await runFlow(lookup({ ...byBoth, batch: `size: 2, ${byId}` }), given, { http: each });
    expect(sizes(result)).toEqual([2, 2, 2]);
  });

  test('values and items with the same text count as the same', async () => {
    const added = await runFlow(
      lookup({ items: '"{{in}}"' }),
      [1, '1'].map((text) => ({ id: 'a', in: text })),
      { http: names() },
    );
    expect(lists(added)).toEqual([[1]]);
    const result = await runFlow(lookup(), [{ id: 1 }, { id: '1' }, { id: new ExactNumber('1') }], { http: names() });
    expect([lists(result), result.rows.length]).toEqual([[[1]], 3]);
  });
});

test.each([10, 30, 7_000])('more records of one answer than are begun at once fill batches of %i', async (size) => {
  const ids = Array.from({ length: 25_000 }, (_, index) => index);
  const before = '  - { type: http, url: "https://api.example.com/", map: { id: "in[]" } }\n';
  const lengths: number[] = [];
  const result = await runFlow(lookup({ batch: `size: ${size}, match: { field: id, path: "results[].id" }`, before }), [{ id: 0 }], {
    http: (request) => {
      if (request.body === undefined) return { body: { in: ids } };
      lengths.push(listIn(request).length);
      return names()(request);
    },
    forget: true,
  });
  expect([result.rows.length, result.rows.at(-1)]).toMatchObject([25_000, { id: 24_999 }]);
  expect(lengths).toHaveLength(Math.ceil(25_000 / size));
  expect(lengths.filter((length) => length < size).length).toBeLessThanOrEqual(1);
});

test('a map to one element of the array that is matched is refused, to one of another is not', () => {
  const problemsOf = (path: string, batch: string) => flowProblems(lookup({ batch, more: `map: { name: "${path}" }` })).map(onOneLine);
  const refused = '"results[0].name.first" is the same element for all records of a batch; "results[].name.first" gives each its own';
  expect(problemsOf('results[0].name.first', byId)).toEqual([expect.stringContaining(refused)]);
  expect(problemsOf('versions[0]', byId)).toEqual([]);
  expect(problemsOf('results[0].name', 'size: 10')).toEqual([]);
});

test('a record that fails while its batch waits to be sent takes no other with it', async () => {
  const get = (path: string, map: string) => `{ type: http, url: "https://api.example.com/${path}", map: { ${map} } }`;
  const inside = `[${get('detail/{{id}}', 'd: d')}, ${lookup({ batch: `size: 2, ${byId}` })
    .split('\n')[1]
    ?.slice(4)}]`;
  const flow = `nodes: [${get('rows/{{id}}', 'id: "ids[]"')}, { type: loop, while: "false", nodes: ${inside} }]`;
  const result = await runFlow(flow, [{ id: 'x' }, { id: 'y' }], {
    http: (request) => {
      const [, place, id] = request.path.split('/');
      if (place === 'rows') return { body: { ids: id === 'x' ? ['x1', 'x2'] : ['y1'] } };
      if (place === 'lookup') return names()(request);
      // The gate is paused when the batch of x1 and y1 comes to it, and then x2 fails.
      if (id === 'x1') return { body: {}, headers: { 'retry-after': '5' } };
      return id === 'x2' ? { status: 404, afterMs: 50 } : { body: {} };
    },
  });
  expect(idsOf(result.rows)).toEqual(['y1']);
  expect(result.failures).toMatchObject([{ record: 1, status: 404 }]);
});

test('of a record that fails while its batch fills nothing is asked for', async () => {
  const get = (path: string, map: string) => `{ type: http, url: "https://api.example.com/${path}", map: { ${map} } }`;
  const inside = `[${get('detail/{{id}}', 'd: d')}, ${lookup().split('\n')[1]?.slice(4)}]`;
  const flow = `nodes: [${get('rows/{{id}}', 'id: "ids[]"')}, { type: loop, while: "false", nodes: ${inside} }]`;
  const result = await runFlow(flow, [{ id: 'x' }, { id: 'y' }], {
    http: (request) => {
      const [, place, id] = request.path.split('/');
      if (place === 'rows') return { body: { ids: [`${id}1`, `${id}2`] } };
      if (place === 'lookup') return names()(request);
      return id === 'x2' ? { status: 404, afterMs: 50 } : { body: {}, afterMs: id === 'y2' ? 100 : 0 };
    },
  });
  expect(idsOf(result.rows)).toEqual(['y1', 'y2']);
  expect(result.failures).toMatchObject([{ record: 1, status: 404 }]);
  expect(lists(result)).toEqual([['y1', 'y2']]);
});

test("a server's Retry-After makes the next batch wait, as it does for single requests", async () => {
  const result = await runFlow(lookup({ batch: `size: 2, ${byId}`, more: `concurrency: 1, ${named}` }), records(4), {
    http: (request) => ({ ...names()(request), headers: { 'retry-after': '5' } }),
  });
  expect(result.requests.map(({ atMs }) => atMs)).toEqual([0, 5000]);
});

test('of a record that has failed no rows are asked for', async () => {
  const get = (path: string, map: string) => `  - { type: http, url: "https://api.example.com/${path}", map: { ${map} } }\n`;
  const before = get('rows/{{id}}', 'id: "ids[]"') + get('detail/{{id}}', 'd: d');
  const result = await runFlow(lookup({ before }), [{ id: 'x' }, { id: 'y' }], {
    http: (request) => {
      const [, place, id] = request.path.split('/');
      if (place === 'rows') return { body: { ids: [`${id}1`, `${id}2`] } };
      if (place === 'lookup') return names()(request);
      return id === 'x2' ? { status: 404, afterMs: 50 } : { body: {}, afterMs: id === 'x1' ? 0 : 100 };
    },
  });
  expect(idsOf(result.rows)).toEqual(['y1', 'y2']);
  expect(result.failures).toMatchObject([{ record: 1, node: 'http-2', status: 404 }]);
  expect(lists(result)).toEqual([['y1', 'y2']]);
});

describe('what a record adds to the list', () => {
  test('is a text that keeps the type of the one field that it names', async () => {
    const given = [7, '7', 1.5, true, null, { a: [1] }, ['x'], new ExactNumber('12345678901234567890'), new ExactNumber('1.50')];
    const { requests } = await runFlow(
      lookup({ batch: 'size: 100', more: 'map: { echo: "[]" }' }),
      given.map((id) => ({ id })),
    );
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":[7,"7",1.5,true,null,{"a":[1]},["x"],12345678901234567890,1.50]}']);
  });

  test('of a CSV is a text', async () => {
    const { requests } = await runFlow(lookup(), [{ id: '7' }, { id: '' }], { csv: true, http: names() });
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":["7",""]}']);
  });

  test('may be a text around fields', async () => {
    const result = await runFlow(lookup({ items: '"{{kind}}:{{id}}"', batch: 'missing: keep' }), [{ id: 1, kind: 'a"' }], {
      http: () => ({ body: { results: [{ name: 'x' }] } }),
    });
    expect(lists(result)).toEqual([['a":1']]);
  });

  test('may be a mapping', async () => {
    const result = await runFlow(
      lookup({ items: '{ key: "{{id}}", label: "no. {{id}}", kind: person, n: 5, "{{id}}": null }' }),
      [{ id: 1 }, { id: 'b' }],
      {
        http: () => ({
          body: {
            results: [
              { id: 'b', name: 'B' },
              { id: 1, name: 'one' },
            ],
          },
        }),
      },
    );
    expect(lists(result)).toEqual([
      [
        { key: 1, label: 'no. 1', kind: 'person', n: 5, '{{id}}': null },
        { key: 'b', label: 'no. b', kind: 'person', n: 5, '{{id}}': null },
      ],
    ]);
    expect(result.rows).toEqual([
      { id: 1, name: 'one' },
      { id: 'b', name: 'B' },
    ]);
  });

  test.each([
    ['a list in a list', '[{ in: ["{{items}}"] }]', '[{"in":[["r1","r2"]]}]'],
    ['JSON text', `'{"ids": {{items}}, "n": 1}'`, '{"ids": ["r1","r2"], "n": 1}'],
    ['the list alone', '"{{items}}"', '["r1","r2"]'],
  ])('stands in the body where {{items}} does: %s', async (_, body, sent) => {
    const { requests } = await runFlow(lookup({ body, batch: 'size: 9', more: 'map: { all: $status }' }), records(2));
    expect(requests.map((request) => request.body)).toEqual([sent]);
  });

  test('may come from a field of its own that is named items', async () => {
    const result = await runFlow(lookup({ items: '"{{items}}"', batch: 'size: 2', more: 'map: { all: $status }' }), [
      { items: 'x' },
      { items: 'y' },
    ]);
    expect(lists(result)).toEqual([['x', 'y']]);
    expect(result.rows).toEqual([
      { items: 'x', all: 200 },
      { items: 'y', all: 200 },
    ]);
  });

  test('that it cannot add fails the record alone', async () => {
    const result = await runFlow(lookup(), [{ id: 'a' }, {}, { id: 'c' }], { http: names() });
    expect(result.failures).toMatchObject([
      { record: 2, node: 'ask', class: 'template', message: 'the record has no field "id"', attempts: 0 },
    ]);
    expect([lists(result), idsOf(result.rows), result.credits]).toEqual([[['a', 'c']], ['a', 'c'], 1]);
  });
});

describe('max_bytes', () => {
  test('takes a record that just fits by itself', async () => {
    const most = '{"ids":["r1"]}'.length;
    const result = await runFlow(lookup({ batch: `max_bytes: ${most}, ${byId}` }), records(2), { http: names() });
    expect([sizes(result), result.failures]).toEqual([[1, 1], []]);
  });

  test('ends a batch before its body grows larger', async () => {
    const most = '{"ids":["r1","r2","r3"]}'.length;
    const result = await runFlow(lookup({ batch: `max_bytes: ${most}, ${byId}` }), records(8), { http: names() });
    expect(sizes(result)).toEqual([3, 3, 2]);
    const less = await runFlow(lookup({ batch: `max_bytes: ${most - 1}, ${byId}` }), records(8), { http: names() });
    expect(sizes(less)).toEqual([2, 2, 2, 2]);
  });

  test('counts bytes, not characters, and what stands around the list', async () => {
    const body = '{ about: "ü", ids: "{{items}}" }';
    const most = Buffer.byteLength('{"about":"ü","ids":["äöü","öüä"]}');
    const result = await runFlow(
      lookup({ body, batch: `max_bytes: ${most}, ${byId}` }),
      ['äöü', 'öüä', 'üäö', 'aäö', 'öäü'].map((id) => ({ id })),
      {
        http: names(),
      },
    );
    expect(sizes(result)).toEqual([2, 2, 1]);
    for (const request of result.requests) expect(Buffer.byteLength(request.body ?? '')).toBeLessThanOrEqual(most);
  });

  test('fails a record that is too large by itself, and nothing is sent for it', async () => {
    const big = 'x'.repeat(100);
    const result = await runFlow(lookup({ batch: `max_bytes: 50, ${byId}` }), [{ id: 'a' }, { id: big }, { id: 'c' }], { http: names() });
    const over = `{"ids":["${big}"]}`.length - 50;
    expect(result.failures).toMatchObject([
      { record: 2, class: 'request', message: `the record alone makes the body ${over} bytes larger than batch.max_bytes`, attempts: 0 },
    ]);
    expect([lists(result), result.credits]).toEqual([[['a', 'c']], 1]);
  });
});

describe('match', () => {
  test('joins by a value, compared as text', async () => {
    const given = [{ id: 7 }, { id: '8' }, { id: new ExactNumber('1.50') }, { id: true }];
    const result = await runFlow(lookup(), given, {
      http: () => ({
        body: `{"results":[{"id":true,"name":"yes"},{"id":8,"name":"eight"},{"id":1.50,"name":"more"},{"id":"7","name":"seven"}]}`,
        headers: { 'content-type': 'application/json' },
      }),
    });
    expect(result.rows.map(({ name }) => name)).toEqual(['seven', 'eight', 'more', 'yes']);
  });

  test('gives a record every element that is its own, and duplicates the same', async () => {
    const result = await runFlow(lookup(), [{ id: 1 }, { id: 2 }, { id: 1 }], {
      http: () => ({
        body: {
          results: [
            { id: 1, name: 'a' },
            { id: 2, name: 'b' },
            { id: 1, name: 'c' },
          ],
        },
      }),
    });
    expect(result.rows.map(({ id, name }) => `${id}${name}`)).toEqual(['1a', '1c', '2b', '1a', '1c']);
    // Asked for twice, a server may answer twice.
    expect(lists(result)).toEqual([[1, 2]]);
  });

  test('tells of the blanks around a value that the answer lacks', async () => {
    const { failures } = await runFlow(lookup(), [{ id: 'r1 ' }], { http: names(['r1 ']) });
    expect(failures).toMatchObject([{ message: 'the answer lacks this record: no "results[].id" is "r1 "' }]);
  });

  test('fails a record that the answer lacks', async () => {
    const result = await runFlow(lookup(), records(3), { http: names(['r2']) });
    expect(idsOf(result.rows)).toEqual(['r1', 'r3']);
    expect(result.failures).toEqual([
      {
        record: 2,
        fields: { id: 'r2' },
        node: 'ask',
        class: 'mapping',
        status: 200,
        message: 'the answer lacks this record: no "results[].id" is "r2"',
        attempts: 1,
      },
    ]);
    expect(result.credits).toBe(1);
  });

  test('keeps it with empty fields where the flow says so, whatever when_empty says', async () => {
    for (const more of [named, `${named}, when_empty: drop`, `${named}, when_empty: error`]) {
      const { rows, failures } = await runFlow(lookup({ batch: `missing: keep, ${byId}`, more }), records(3), { http: names(['r2']) });
      expect([rows.map(({ name }) => name), failures]).toEqual([['name r1', null, 'name r3'], []]);
    }
  });

  test.each([
    ['an empty array', { results: [] }],
    ['no array', {}],
    ['null', { results: null }],
    ['elements without the value', { results: [{ name: 'x' }, { id: null }, 'r1', null, ['r1']] }],
  ])('fails all of them for %s', async (_, body) => {
    const { failures, credits } = await runFlow(lookup(), records(2), { http: () => ({ body }) });
    expect(failures.map(({ message }) => message)).toEqual([
      'the answer lacks this record: no "results[].id" is "r1"',
      'the answer lacks this record: no "results[].id" is "r2"',
    ]);
    expect(credits).toBe(1);
  });

  test.each([
    [{ results: { id: 'r1' } }, 'mapping', 'expected an array at "results[]", found an object'],
    [{ results: 'r1' }, 'mapping', 'expected an array at "results[]", found a string'],
    ['<html>', 'parse', expect.stringMatching(/JSON/)],
  ])('fails all of them where there is no array: %j', async (body, kind, message) => {
    const { failures, credits, requests } = await runFlow(lookup(), records(2), { http: () => ({ body }) });
    expect(failures).toMatchObject([
      { record: 1, class: kind, message, status: 200 },
      { record: 2, class: kind, message },
    ]);
    expect([credits, requests.length]).toEqual([1, 1]);
  });

  test('without a map finds out which records the answer lacks', async () => {
    const { rows, failures } = await runFlow(lookup({ more: 'timeout: 5s' }), records(3), { http: names(['r2']) });
    expect([rows, failures.map(({ record }) => record)]).toEqual([[{ id: 'r1' }, { id: 'r3' }], [2]]);
  });

  test('with a map of no array gives everybody what the answer as a whole says', async () => {
    const more = 'map: { batch: batch, status: $status }';
    const http = () => ({ body: { batch: 'b1', results: [{ id: 'r1' }] } });
    const { rows, failures } = await runFlow(lookup({ more }), records(2), { http });
    expect(rows).toEqual([{ id: 'r1', batch: 'b1', status: 200 }]);
    expect(failures).toMatchObject([{ record: 2, class: 'mapping' }]);
  });

  test('a map may take from the answer as a whole and from arrays in an element', async () => {
    const more = 'map: { batch: batch, name: "results[].name", sku: "results[].lines[].sku" }';
    const element = (id: string, lines: string[] | null) => ({ id, name: `name ${id}`, lines: lines?.map((sku) => ({ sku })) ?? null });
    const body = { batch: 7, results: [element('r3', null), element('r2', []), element('r1', ['a', 'b'])] };
    const rowsOf = async (whenEmpty: string) => {
      const { rows, failures } = await runFlow(lookup({ more: `${more}${whenEmpty}` }), records(3), { http: () => ({ body }) });
      return [
        ...rows.map(({ id, batch, name, sku }) => [id, batch, name, sku]),
        ...failures.map(({ record, message }) => [record, message]),
      ];
    };
    const full = [
      ['r1', 7, 'name r1', 'a'],
      ['r1', 7, 'name r1', 'b'],
    ];
    expect(await rowsOf('')).toEqual([...full, ['r2', 7, 'name r2', null], ['r3', 7, 'name r3', null]]);
    expect(await rowsOf(', when_empty: drop')).toEqual(full);
    const empty = 'the array "results[].lines[]" is empty or absent';
    expect(await rowsOf(', when_empty: error')).toEqual([...full, [2, empty], [3, empty]]);
  });

  test('a map may take from the answer as a whole and from elements that hold no arrays', async () => {
    const more = 'map: { batch: batch.no, name: "results[].name", nick: "results[].nick" }';
    const results = [{ id: 'r2', name: 'two' }, { id: 'r1', name: 'one', nick: '1' }, { id: 'r1' }];
    const { rows, events } = await runFlow(lookup({ more }), records(2), { http: () => ({ body: { batch: { no: 7 }, results } }) });
    expect(rows).toEqual([
      { id: 'r1', batch: 7, name: 'one', nick: '1' },
      { id: 'r1', batch: 7, name: null, nick: null },
      { id: 'r2', batch: 7, name: 'two', nick: null },
    ]);
    expect(events.flatMap((event) => (event.type === 'mapped' ? [event.found] : []))).toEqual([
      [true, true, true],
      [true, true, false],
    ]);
  });

  test('finds nothing by an element without a value', async () => {
    const { rows, failures } = await runFlow(lookup(), [{ id: '' }, { id: 'null' }], {
      http: () => ({ body: { results: [{ id: null, name: 'x' }, { name: 'y' }, null] } }),
    });
    expect([rows, failures.map(({ record }) => record)]).toEqual([[], [1, 2]]);
  });

  test.each([
    ['error', [['']], 1],
    ['keep', [['']], 0],
  ])('null is found by nothing, and not asked for: missing: %s', async (missing, asked, failed) => {
    const given = [{ id: null }, { id: '' }];
    const http = (request: SentRequest) => ({ body: { results: listIn(request).map((id) => ({ id, name: `name ${id}` })) } });
    const result = await runFlow(lookup({ batch: `${byId}, missing: ${missing}` }), given, { http });
    expect(lists(result)).toEqual(asked);
    expect(result.rows).toEqual([...(failed === 1 ? [] : [{ id: null, name: null }]), { id: '', name: 'name ' }]);
    const message = '"id" is null, and nothing in an answer is found by that (batch.match)';
    expect(result.failures).toMatchObject(Array.from({ length: failed }, () => ({ record: 1, class: 'mapping', attempts: 0, message })));
  });

  test('compares a deeper value, in a deeper array', async () => {
    const batch = 'match: { field: id, path: "data.found[].user.id" }';
    const more = 'map: { name: "data.found[].user.name" }';
    const body = { data: { found: [{ user: { id: 'r2', name: 'two' } }, { user: { id: 'r1', name: 'one' } }] } };
    const { rows } = await runFlow(lookup({ batch, more }), records(2), { http: () => ({ body }) });
    expect(rows.map(({ name }) => name)).toEqual(['one', 'two']);
  });

  test('compares elements that are themselves the value', async () => {
    const { rows, failures } = await runFlow(lookup({ batch: 'match: { field: id, path: "[]" }', more: 'timeout: 5s' }), records(3), {
      http: () => ({ body: ['r3', 'r1'] }),
    });
    expect([idsOf(rows), failures.map(({ record }) => record)]).toEqual([['r1', 'r3'], [2]]);
  });

  test('may compare a field that is not in the list', async () => {
    const { rows } = await runFlow(lookup({ items: '"{{mail}}"' }), [{ id: 1, mail: 'a@b.c' }], {
      http: () => ({ body: { results: [{ id: 1, name: 'A' }] } }),
    });
    expect(rows).toEqual([{ id: 1, mail: 'a@b.c', name: 'A' }]);
  });
});

describe('without match', () => {
  const positioned = (request: SentRequest) => ({ body: { results: listIn(request).map((id) => ({ name: `name ${id}` })) } });

  test('joins by position', async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 2' }), records(5), { http: positioned });
    expect(rows).toEqual(records(5).map(({ id }) => ({ id, name: `name ${id}` })));
  });

  test.each([
    ['too few', [{ name: 'x' }], 'found 1'],
    ['too many', [{}, {}, {}], 'found 3'],
    ['none', undefined, 'found 0'],
  ])('fails all of them when there are %s', async (_, results, found) => {
    const { failures, rows, requests } = await runFlow(lookup({ batch: 'missing: keep' }), records(2), {
      http: () => ({ body: { results } }),
    });
    expect(failures.map(({ message }) => message)).toEqual(
      Array.from({ length: 2 }, () => `expected 2 elements in "results[]" for 2 records, ${found}; batch.match joins them by a value`),
    );
    expect([rows, requests.length]).toEqual([[], 1]);
  });

  test('an element that is null is missing', async () => {
    const http = () => ({ body: { results: [{ name: 'a' }, null, { name: null }] } });
    const failing = await runFlow(lookup({ batch: 'size: 3' }), records(3), { http });
    expect(failing.failures).toMatchObject([{ record: 2, message: 'the answer lacks this record: "results[1]" is null' }]);
    expect(failing.rows.map(({ name }) => name)).toEqual(['a', null]);
    const ofAll = { http: () => ({ body: [{ name: 'a' }, null] }) };
    const bare = await runFlow(lookup({ batch: 'size: 2', more: 'map: { name: "[].name" }' }), records(2), ofAll);
    expect(bare.failures).toMatchObject([{ record: 2, message: 'the answer lacks this record: "[1]" is null' }]);
    const kept = await runFlow(lookup({ batch: 'missing: keep' }), records(3), { http });
    expect(kept.rows.map(({ name }) => name)).toEqual(['a', null, null]);
  });

  test('and a map of no array, everybody gets what the answer as a whole says', async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 2', more: 'map: { batch: n }' }), records(3), {
      http: (_, index) => ({ body: { n: index } }),
    });
    expect(rows.map(({ batch }) => batch)).toEqual([0, 0, 1]);
  });

  test('and without a map it is a webhook for many records', async () => {
    const result = await runFlow(lookup({ batch: 'size: 2', more: 'timeout: 5s' }), records(3), { http: () => ({ body: 'thanks' }) });
    expect([result.rows, sizes(result)]).toEqual([records(3), [2, 1]]);
  });
});

describe('a batch that is refused', () => {
  test.each([400, 403, 404, 409, 413, 422])('with %i is halved until the bad record stands alone', async (status) => {
    const result = await runFlow(lookup({ batch: `size: 8, ${byId}` }), records(8), { http: refusing(['r6'], { status, body: 'no r6' }) });
    expect(lists(result)).toEqual([
      idsOf(records(8)),
      ['r1', 'r2', 'r3', 'r4'],
      ['r5', 'r6', 'r7', 'r8'],
      ['r5', 'r6'],
      ['r7', 'r8'],
      ['r5'],
      ['r6'],
    ]);
    expect(result.credits).toBe(7);
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r7', 'r8']);
    expect(result.failures).toMatchObject([{ record: 6, node: 'ask', class: 'http', status, attempts: 1 }]);
    expect(result.failures[0]?.message).toContain(`the server answered ${status}`);
  });

  test('costs one credit and fails the record when it is alone from the beginning', async () => {
    const { failures, credits } = await runFlow(lookup(), records(1), { http: () => ({ status: 400 }) });
    expect([failures.length, credits]).toEqual([1, 1]);
  });

  test('finds several bad records, and an odd count of records', async () => {
    const bad = ['r1', 'r4', 'r50', 'r51', 'r99'];
    const result = await runFlow(lookup(), records(99), { http: refusing(bad) });
    expect(idsOf(result.rows)).toEqual(idsOf(records(99)).filter((id) => !bad.includes(String(id))));
    expect(result.failures.map(({ fields }) => fields.id)).toEqual(bad);
    expect(result.credits).toBe(result.requests.length);
    for (const id of bad) expect(lists(result)).toContainEqual([id]);
  });

  test('asks at most twice as often as there are records, should all be bad', async () => {
    const result = await runFlow(lookup({ batch: `size: 16, ${byId}` }), records(16), { http: () => ({ status: 422 }) });
    expect([result.requests.length, result.credits, result.failures.length, result.rows]).toEqual([31, 31, 16, []]);
  });

  test.each([
    [401, 1],
    [407, 1],
    [408, 1],
    [301, 1],
    [429, 3],
    [500, 3],
    [503, 3],
  ])('with %i is not halved: nobody in it is to blame', async (status, tries) => {
    const result = await runFlow(lookup({ more: `${named}, retry: { max: 2 }` }), records(4), { http: () => ({ status }) });
    expect(sizes(result)).toEqual(Array.from({ length: tries }, () => 4));
    expect(result.failures).toMatchObject(records(4).map(() => ({ class: 'http', status, attempts: tries })));
    expect(result.credits).toBe(1);
  });

  test.each(['network', 'timeout'] as const)('by the %s is not halved', async (kind) => {
    const result = await runFlow(lookup({ more: `${named}, retry: { max: 1 }` }), records(3), {
      http: () => {
        throw new Failure(kind, 'nobody there', { retryable: true, sent: false });
      },
    });
    expect(sizes(result)).toEqual([3, 3]);
    expect(result.failures).toMatchObject(records(3).map(() => ({ class: kind, attempts: 2 })));
    expect(result.credits).toBe(0);
  });

  test('for a while is sent again, as one', async () => {
    const result = await runFlow(lookup(), records(3), {
      http: (request, index) => (index === 0 ? { status: 503, headers: { 'retry-after': '7' } } : names()(request)),
    });
    expect(result.requests.map(({ atMs, body }) => [atMs, body])).toEqual([
      [0, '{"ids":["r1","r2","r3"]}'],
      [7000, '{"ids":["r1","r2","r3"]}'],
    ]);
    expect([result.rows.length, result.credits]).toEqual([3, 1]);
    expect(result.events.filter(({ type }) => type === 'call-retried')).toHaveLength(1);
  });

  test('in a half is tried again as that half', async () => {
    let failures = 1;
    const result = await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(4), {
      http: (request) => (listIn(request).length === 2 && failures-- > 0 ? { status: 500 } : refusing(['r4'])(request)),
    });
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3']);
    expect([result.requests.length, result.credits]).toEqual([6, 5]);
  });

  test('counts what is a success as the flow says', async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 4', more: 'map: { status: $status }, success: [2xx, 404]' }), records(2), {
      http: () => ({ status: 404 }),
    });
    expect(rows.map(({ status }) => status)).toEqual([404, 404]);
  });

  test('goes on with on_error: keep, and says of each record why', async () => {
    const result = await runFlow(lookup({ more: `${named}, on_error: keep` }), records(3), { http: refusing(['r2']) });
    expect(result.rows).toMatchObject([
      { id: 'r1', name: 'name r1' },
      { id: 'r2', _error: { node: 'ask', class: 'http', status: 400, record: 2 } },
      { id: 'r3', name: 'name r3' },
    ]);
  });

  test('ends the run with on_error: stop', async () => {
    const result = await runFlow(lookup({ batch: `size: 2, ${byId}`, more: `${named}, on_error: stop` }), records(100), {
      http: refusing(['r2']),
      concurrency: 1,
    });
    expect(result.ending).toBe('on-error-stop');
    expect(result.failures.map(({ record }) => record)).toContain(2);
    expect(result.rows.length + result.failures.length).toBeLessThan(100);
  });

  test('ends the run when too many have failed', async () => {
    const result = await runFlow(lookup({ batch: `size: 10, ${byId}`, more: `${named}, retry: { max: 0 }` }), records(1000), {
      http: () => ({ status: 500 }),
      maxErrors: { count: 15 },
      concurrency: 1,
    });
    expect(result.ending).toBe('max-errors');
    expect(result.failures.length).toBeGreaterThan(15);
    expect(result.failures.length).toBeLessThan(100);
  });
});

describe('records share a batch', () => {
  const own = (url: string, more: string, body = '{ ids: "{{items}}" }') => `nodes:
  - { id: ask, type: http, method: POST, url: "https://api.example.com/${url}", batch: { size: 2, items: "{{id}}", ${byId} }, body: ${body}, ${named}${more} }
`;
  const mixed = [1, 2, 3, 4, 5, 6].map((id) => ({ id, team: id % 2 ? 'a' : 'b' }));

  test.each([
    ['URL', own('{{team}}/lookup', '')],
    ['query', own('lookup?team={{team}}', '')],
    ['header', own('lookup', ', headers: { X-Team: "{{team}}" }')],
    ['body', own('lookup', '', '{ team: "{{team}}", ids: "{{items}}" }')],
  ])('only where their %s is the same', async (_, flow) => {
    const result = await runFlow(flow, mixed, { http: names() });
    expect(lists(result)).toEqual([[1, 3], [2, 4], [5], [6]]);
    const teamOf = ({ url, headers, body }: SentRequest) =>
      /team=(.)|com\/(.)\/|"X-Team":"(.)"|"team":"(.)"/
        .exec(url + JSON.stringify(headers) + body)
        ?.slice(1)
        .find(Boolean);
    expect(result.requests.map(teamOf)).toEqual(['a', 'b', 'a', 'b']);
    expect(result.rows).toEqual(mixed.map((record) => ({ ...record, name: `name ${record.id}` })));
  });

  test('only at the same node', async () => {
    const flow = `${lookup({ more: `${named}, when: int(id) % 2 == 0` })}${lookup({ more: `${named}, when: int(id) % 2 == 1` })
      .split('\n')[1]
      ?.replace('id: ask', 'id: other')}\n`;
    const result = await runFlow(flow, mixed, { http: names() });
    expect(lists(result)).toEqual([
      [2, 4, 6],
      [1, 3, 5],
    ]);
  });

  test('and one for which when is false passes untouched', async () => {
    const result = await runFlow(lookup({ more: `${named}, when: id != "r2"` }), records(3), { http: names() });
    expect(lists(result)).toEqual([['r1', 'r3']]);
    expect(result.rows).toEqual([{ id: 'r1', name: 'name r1' }, { id: 'r2' }, { id: 'r3', name: 'name r3' }]);
  });
});

describe('the idempotency key', () => {
  const keyed = lookup({ batch: `size: 4, ${byId}`, more: `${named}, idempotency_key: true` });
  const keys = ({ requests }: { requests: readonly SentRequest[] }) => requests.map(({ headers }) => headers['Idempotency-Key']);

  test('is the same for a retry, and in every run', async () => {
    const http = (request: SentRequest, index: number) => (index === 0 ? { status: 500 } : names()(request));
    const first = keys(await runFlow(keyed, records(4), { http }));
    expect(first).toHaveLength(2);
    expect(new Set(first).size).toBe(1);
    expect(keys(await runFlow(keyed, records(4), { http }))).toEqual(first);
  });

  test('is another for every half, and for every batch', async () => {
    const halves = keys(await runFlow(keyed, records(8), { http: refusing(['r1']) }));
    expect(halves).toHaveLength(6);
    expect(new Set(halves).size).toBe(6);
  });
});

describe('records come to a batch', () => {
  const single = (more = '') => `  - { id: first, type: http, url: "https://api.example.com/first/{{id}}", map: { seen: seen }${more} }\n`;
  const isFirst = ({ path }: SentRequest) => path.startsWith('/first/');
  const timesOf = ({ requests }: { requests: readonly SentRequest[] }) =>
    requests.filter((request) => !isFirst(request)).map((request) => [request.atMs, listIn(request).length]);

  test('as long as the nodes before it are busy', async () => {
    const flow = lookup({ before: single(), batch: `size: 10, ${byId}` });
    const result = await runFlow(flow, records(20), {
      http: (request, index) => (isFirst(request) ? { body: { seen: 1 }, afterMs: index * 10 } : names()(request)),
      concurrency: 20,
    });
    expect(timesOf(result)).toEqual([
      [90, 10],
      [190, 10],
    ]);
  });

  test('and stand in it in the order of the input, whichever came first', async () => {
    const result = await runFlow(lookup({ before: single() }), records(3), {
      http: (request, index) => (isFirst(request) ? { body: { seen: 1 }, afterMs: 30 - index * 10 } : names()(request)),
    });
    expect(lists(result)).toEqual([['r1', 'r2', 'r3']]);
  });

  test('though one of them is slow, or tried again', async () => {
    const flow = lookup({ before: single(), batch: `size: 10, ${byId}` });
    const result = await runFlow(flow, records(5), {
      http: (request, index) =>
        isFirst(request) ? (index === 2 ? { status: 503, headers: { 'retry-after': '60' } } : { body: { seen: 1 } }) : names()(request),
    });
    expect(timesOf(result)).toEqual([[60_000, 5]]);
  });

  test('but for those that fail or are dropped before it', async () => {
    const drop = '  - { id: first, type: http, url: "https://api.example.com/first/{{id}}", map: { seen: "seen[]" }, when_empty: drop }\n';
    const flow = lookup({ before: drop, batch: `size: 10, ${byId}` });
    const http = (request: SentRequest, index: number): FakeAnswer => {
      if (!isFirst(request)) return names()(request);
      if (index % 3 === 0) return { status: 404, afterMs: 50 };
      return { body: { seen: index % 3 === 1 ? [] : [1] }, afterMs: 20 };
    };
    const result = await runFlow(flow, records(9), { http });
    expect(timesOf(result)).toEqual([[50, 3]]);
    expect([idsOf(result.rows), result.failures.length]).toEqual([['r3', 'r6', 'r9'], 3]);
  });

  test('from an answer that expanded', async () => {
    const split = '  - { id: split, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" } }\n';
    const flow = lookup({ before: split, batch: `size: 100, ${byId}` });
    const result = await runFlow(flow, [{ group: 'a' }, { group: 'b' }], {
      http: (request) =>
        isFirst(request) ? { body: { ids: Array.from({ length: 150 }, (_, id) => `${request.path.at(-1)}${id}`) } } : names()(request),
    });
    expect(sizes(result)).toEqual([100, 100, 100]);
    expect(result.rows).toHaveLength(300);
    expect(result.rows.map(({ id, name }) => name === `name ${id}`)).toEqual(result.rows.map(() => true));
    expect(result.rows[149]).toMatchObject({ group: 'a', id: 'a149' });
  });

  test('a record of which one row fails there fails as a whole', async () => {
    const split = '  - { id: split, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" } }\n';
    const result = await runFlow(lookup({ before: split }), [{ group: 'a' }, { group: 'b' }], {
      http: (request) => (isFirst(request) ? { body: { ids: [1, 2].map((id) => `${request.path.at(-1)}${id}`) } } : names(['a2'])(request)),
    });
    expect(idsOf(result.rows)).toEqual(['b1', 'b2']);
    expect(result.failures).toMatchObject([{ record: 1, node: 'ask', class: 'mapping' }]);
  });

  test('from another batch', async () => {
    const before = `${lookup({ batch: `size: 3, ${byId}` })
      .split('\n')[1]
      ?.replace('id: ask', 'id: first')
      .replace('map: { name', 'map: { other')}\n`;
    const result = await runFlow(lookup({ before, batch: `size: 5, ${byId}` }), records(10), { http: names() });
    expect(sizes(result).sort()).toEqual([1, 3, 3, 3, 5, 5]);
    expect(result.rows).toEqual(records(10).map(({ id }) => ({ id, other: `name ${id}`, name: `name ${id}` })));
  });

  test('from pages', async () => {
    const pages =
      '  - { id: pages, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" }, paginate: { type: cursor, path: next, param: cursor } }\n';
    const result = await runFlow(lookup({ before: pages, batch: `size: 4, ${byId}` }), [{ group: 'a' }, { group: 'b' }], {
      http: (request) => {
        if (!isFirst(request)) return names()(request);
        const [group, cursor] = [request.path.split(/[/?]/)[2], Number(/cursor=(\d)/.exec(request.path)?.[1] ?? 0)];
        return { body: { ids: [0, 1, 2].map((id) => `${group}${cursor}${id}`), next: cursor < 2 ? cursor + 1 : null } };
      },
    });
    expect(idsOf(result.rows)).toEqual(
      ['a', 'b'].flatMap((group) => [0, 1, 2].flatMap((page) => [0, 1, 2].map((id) => `${group}${page}${id}`))),
    );
    expect(lists(result).flat().sort()).toEqual(idsOf(result.rows).sort());
    expect(Math.max(...sizes(result))).toBe(4);
  });

  test('in every pass of a loop', async () => {
    const loop = `nodes:
  - { type: set, fields: { n: 0 } }
  - type: loop
    while: n < 3
    carry: [n]
    emit: last
    nodes:
      - { type: set, fields: { n: { cel: n + 1 } } }
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, ${named} }
`;
    const result = await runFlow(loop, records(25), { http: names() });
    // Those of different passes share one, too.
    expect(sizes(result).sort((a, b) => a - b)).toEqual([5, 10, 10, 10, 10, 10, 10, 10]);
    expect([result.credits, result.rows.length]).toEqual([8, 25]);
  });

  test('in every pass of a poll', async () => {
    const poll = `nodes:
  - type: poll
    every: 5s
    until: state == "done"
    nodes:
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, map: { state: "results[].state" } }
`;
    const result = await runFlow(poll, records(25), {
      http: (request) => ({ body: { results: listIn(request).map((id) => ({ id, state: request.atMs >= 5000 ? 'done' : 'working' })) } }),
    });
    expect(result.requests.slice(0, 3).map((request) => [request.atMs, listIn(request).length])).toEqual([
      [0, 10],
      [0, 10],
      [0, 5],
    ]);
    expect(new Set(result.requests.slice(3).map(({ atMs }) => atMs))).toEqual(new Set([5000]));
    expect(lists(result).flat()).toHaveLength(50);
    expect([result.credits, result.rows.length]).toEqual([result.requests.length, 25]);
  });

  test("a server's Retry-After in a poll sets the next wait of all of them", async () => {
    const poll = `nodes:
  - type: poll
    every: 1s
    until: state == "done"
    nodes:
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, map: { state: "results[].state" } }
`;
    const result = await runFlow(poll, records(3), {
      http: (request, index) => ({
        headers: { 'retry-after': '7' },
        body: { results: listIn(request).map((id) => ({ id, state: index > 0 ? 'done' : 'working' })) },
      }),
    });
    expect([...new Set(result.requests.map(({ atMs }) => atMs))]).toEqual([0, 7000]);
  });

  test('until the credits are used up: what was asked for is written, the rest is left for a later run', async () => {
    const result = await runFlow(lookup({ batch: `size: 10, ${byId}` }), records(100), { http: names(), credits: 3, concurrency: 1 });
    expect([result.ending, result.requests.length, result.rows.length, result.failures]).toEqual(['max-credits', 3, 30, []]);
  });

  test('nor do halves cost more than there is', async () => {
    const result = await runFlow(lookup({ batch: `size: 8, ${byId}` }), records(8), { http: refusing(['r8']), credits: 4 });
    expect([result.ending, result.requests.length, result.credits, result.failures]).toEqual(['max-credits', 4, 4, []]);
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6']);
  });

  test('from an input that pauses: full batches are sent at once, the last one when it has ended', async () => {
    const clock = createFakeClock();
    const sent: SentRequest[] = [];
    const rows: unknown[] = [];
    const plan = compile(lookup({ batch: `size: 4, ${byId}` }), { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: false });
    const output = {
      waiting: 0,
      flush: async () => undefined,
      partialRows: rowsInMemory,
      put: (_: Item, outcome: never) => {
        rows.push(outcome);
        return outcome;
      },
    };
    const http = {
      abort: () => undefined,
      send: async (request: Omit<SentRequest, 'url' | 'atMs'>) => {
        const asked = { ...request, url: '', atMs: clock.now() };
        sent.push(asked);
        return toResponse(names()(asked));
      },
    };
    const ledger = { hold: () => undefined, settle: () => undefined, release: () => undefined };
    const ports = {
      clock,
      ledger,
      http,
      cache: { through: () => Promise.reject(new Error('none')) },
      report: () => undefined,
      uuidOf: String,
      random: () => 0,
    };
    const parts = { input: pausing(), output: output as never, ports: ports as never, gates: new Gates(clock) };
    const run = startRun(plan, parts, { unordered: false, maxErrors: undefined });
    expect(await run.ended).toBe('complete');
    expect(sent.map((request) => [request.atMs, listIn(request).length])).toEqual([
      [10_000, 4],
      [20_000, 4],
      [30_000, 1],
    ]);
    expect(rows).toHaveLength(9);

    async function* pausing(): AsyncGenerator<Item[]> {
      for (let number = 0; number < 9; ) {
        const items = Array.from({ length: 3 }, () => ({
          number: ++number,
          fields: toFields({ id: `r${number}` }),
          end: { offset: 0, line: 0 },
        }));
        yield items as Item[];
        await clock.sleepUntil(clock.now() + 10_000);
      }
    }
  });
});

describe('a flow with a batch is checked', () => {
  const problems = (written: Written, header?: readonly string[]) => flowProblems(lookup(written), header ? { header } : {}).map(onOneLine);
  const node = (method: string, more: string) =>
    flowProblems(`nodes:\n  - { type: http, method: ${method}, url: https://api.example.com, batch: { items: "{{id}}" }, ${more} }\n`).map(
      onOneLine,
    );

  test('what is good has no problem', () => {
    expect(problems({}, ['id'])).toEqual([]);
    expect(problems({ batch: 'max_bytes: 1MB, missing: keep', items: '{ a: "{{id}}", b: 5 }' }, ['id'])).toEqual([]);
  });

  test('a body with {{items}} is needed', () => {
    expect(node('POST', 'map: [a]')).toEqual([
      '2:70 a batch needs a method such as POST and a body with {{items}}, the list of its records',
    ]);
    expect(node('POST', 'body: { ids: "{{id}}" }')).toEqual(['2:97 expected {{items}} in the body, the list of the records in a batch']);
    expect(node('GET', 'body: { ids: "{{items}}" }')).toEqual(['2:96 a GET request has no body; expected method POST, PUT or PATCH']);
    expect(node('GET', 'map: [a]')).toEqual([expect.stringContaining('a batch needs a method such as POST and a body with {{items}}')]);
  });

  test('neither pages nor a cache go with it', () => {
    expect(node('POST', 'body: ["{{items}}"], map: [a], paginate: { type: link_header }')).toEqual([
      '2:132 a batch has one answer for all its records; leave paginate or batch out',
    ]);
    expect(node('POST', 'body: ["{{items}}"], cache: 1h')).toEqual([
      '2:119 a batch is hardly ever the same again; leave cache or batch out',
    ]);
  });

  test.each([
    ['match: { field: id, path: results.id }', 'expected a path through one array, such as results[].id, found "results.id"'],
    ['match: { field: id, path: "a[].b[].id" }', 'expected a path through one array, such as results[].id, found "a[].b[].id"'],
    ['match: { field: id, path: $status }', 'expected a path through one array, such as results[].id, found "$status"'],
    ['match: { field: id, path: "other[].id" }', '"other[].id" and the map go through different arrays'],
    ['match: { field: id, path: "results[" }', expect.stringContaining('results[')],
    ['match: { field: "", path: "results[].id" }', 'expected a field name, found an empty text'],
    ['match: { field: id }', 'the key "path" is missing'],
    ['match: { feld: id, path: "results[].id" }', 'unknown key "feld"; did you mean "field"?'],
    ['size: 0', expect.stringContaining('1')],
    ['size: 10001', expect.stringContaining('10000')],
    ['size: many', expect.stringContaining('many')],
    ['max_bytes: 0', expect.stringContaining('expected a size such as 10MB')],
    ['missing: drop', expect.stringContaining('expected')],
    ['siez: 5', 'unknown key "siez"; did you mean "size"?'],
    ['mach: { field: id }', 'unknown key "mach"; did you mean "match"?'],
  ])('%s', (batch, message) => {
    const found = problems({ batch });
    expect(found.length).toBeGreaterThan(0);
    for (const problem of found) expect(problem).toMatch(/^2:\d+ /);
    expect(found.map((problem) => problem.replace(/^\S+ /, ''))).toContainEqual(message);
  });

  test.each(['[a]', '5', '{ a: [1] }', '{ a: { b: 1 } }'])('items cannot be %s', (items) => {
    expect(problems({ items })).toEqual([expect.stringMatching(/^2:\d+ expected a text with \{\{field\}\}, or a/)]);
  });

  test('items are needed', () => {
    const flow = lookup().replace(', items: "{{id}}"', '');
    expect(flowProblems(flow).map(onOneLine)).toEqual([expect.stringContaining('the key "items" is missing')]);
  });

  test('fields that no record can have, with their place', () => {
    expect(problems({ items: '"{{idd}}"' }, ['id'])).toEqual([
      expect.stringMatching(/^2:\d+ no record has a field "idd" here; did you mean "id"\?$/),
    ]);
    expect(problems({ items: '{ a: "{{idd}}", b: "{{x}}" }' }, ['id'])).toHaveLength(2);
    const [problem] = flowProblems(lookup({ batch: 'match: { field: idd, path: "results[].id" }' }), { header: ['id'] });
    expect(problem && onOneLine(problem)).toMatch(/^2:\d+ no record has a field "idd" here; did you mean "id"\?$/);
    const [, text = '', caret = ''] = (problem ? shown(problem) : '').split('\n');
    expect(text.slice(caret.indexOf('^'), caret.length)).toBe('idd');
    expect(problems({ more: 'headers: { X: "{{items}}" }' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "items" here'),
    ]);
    expect(problems({ body: '{ ids: "{{items}}", team: "{{team}}" }' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "team" here'),
    ]);
  });

  test('{{items}} is the list only there: behind the node it is a field as any other', () => {
    expect(problems({ behind: '  - { type: set, fields: { a: "{{items}}" } }\n' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "items" here'),
    ]);
  });
});
