import { describe, expect, test } from 'vitest';
import { byId, idsOf, listIn, lists, lookup, named, names, records, sizes } from '../helpers/lookups.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

describe('a batch', () => {
  test('keeps all digits of the numbers in its list', async () => {
    const items = '{ id: "{{id}}", a: 0.10, b: 1e3, c: 9007199254740993, d: 7 }';
    const { requests } = await runFlow(lookup({ items, batch: 'size: 2' }), records(1), {
      http: () => ({ body: { results: [{ name: 'n' }] } }),
    });
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":[{"id":"r1","a":0.10,"b":1e3,"c":9007199254740993,"d":7}]}']);
  });

  test('sends 100 records in one request for one credit, and each record gets its own result', async () => {
    const result = await runFlow(lookup({ batch: `size: 100, ${byId}` }), records(1000), { http: names() });
    expect(sizes(result)).toEqual(Array.from({ length: 10 }, () => 100));
    expect(result.credits).toBe(10);
    expect(result.rows).toEqual(records(1000).map(({ id }) => ({ id, name: `name ${id}` })));
  });

  test('is sent when it is full, or when no more records can join it', async () => {
    const result = await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(10), { http: names() });
    expect(lists(result)).toEqual([
      ['r1', 'r2', 'r3', 'r4'],
      ['r5', 'r6', 'r7', 'r8'],
      ['r9', 'r10'],
    ]);
    expect([result.credits, result.rows.length]).toEqual([3, 10]);
  });

  test('contains 100 records by default', async () => {
    expect(sizes(await runFlow(lookup(), records(250), { http: names() }))).toEqual([100, 100, 50]);
  });

  test('is not sent for an empty input', async () => {
    const result = await runFlow(lookup(), [], { http: names() });
    expect([result.requests, result.ending]).toEqual([[], 'complete']);
  });

  test('is filled even if the input is read in small parts', async () => {
    expect(sizes(await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(10), { http: names(), batch: 1 }))).toEqual([4, 4, 2]);
  });

  test('waits for the response to the previous batch if --concurrency is 1', async () => {
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
  ])('can be larger than the window of records in progress (rows written %s)', async (_, unordered) => {
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

  test('is written in input order, or as soon as its response arrives if --unordered is set', async () => {
    const slowFirst = (request: SentRequest, index: number) => ({ ...names()(request), afterMs: 300 - index * 100 });
    const flow = lookup({ batch: `size: 2, ${byId}` });
    const ordered = await runFlow(flow, records(6), { http: slowFirst });
    expect(idsOf(ordered.rows)).toEqual(idsOf(records(6)));
    const unordered = await runFlow(flow, records(6), { http: slowFirst, unordered: true });
    expect(idsOf(unordered.rows)).toEqual(['r5', 'r6', 'r3', 'r4', 'r1', 'r2']);
  });

  test("costs the node's credits once for all its records", async () => {
    const { events, credits } = await runFlow(lookup({ batch: `size: 5, ${byId}` }), records(10), { http: names() });
    expect(events.filter(({ type }) => type === 'call-done')).toMatchObject([
      { record: 1, node: 'ask', attempts: 1 },
      { record: 6, node: 'ask', attempts: 1 },
    ]);
    expect(credits).toBe(2);
  });

  test('makes the run report for each record which paths of the map were found', async () => {
    const { events } = await runFlow(lookup({ batch: `missing: keep, ${byId}` }), records(3), { http: names(['r2']) });
    const found = events.flatMap((event) => (event.type === 'mapped' ? [[event.record, event.paths, event.found]] : []));
    expect(found).toEqual([
      [1, ['results[].name'], [true]],
      [2, ['results[].name'], [false]],
      [3, ['results[].name'], [true]],
    ]);
  });
});

test.each([20, 7_000])('the 25,000 rows of one record are sent in full batches of %i', async (size) => {
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

test("a record that fails while its batch waits for a paused server does not affect the batch's other records", async () => {
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
      // The batch of x1 and y1 is complete when the response to x1 pauses all requests to the server. Then x2 fails.
      if (id === 'x1') return { body: {}, headers: { 'retry-after': '5' } };
      return id === 'x2' ? { status: 404, afterMs: 50 } : { body: {} };
    },
  });
  expect(idsOf(result.rows)).toEqual(['y1']);
  expect(result.failures).toMatchObject([{ record: 1, status: 404 }]);
});

test('a record that fails while its batch is collected is left out of the request', async () => {
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

test('a Retry-After in the response to a batch delays the next batch', async () => {
  const result = await runFlow(lookup({ batch: `size: 2, ${byId}`, more: `concurrency: 1, ${named}` }), records(4), {
    http: (request) => ({ ...names()(request), headers: { 'retry-after': '5' } }),
  });
  expect(result.requests.map(({ atMs }) => atMs)).toEqual([0, 5000]);
});

test('rows of a record that has already failed are not sent in a batch', async () => {
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
