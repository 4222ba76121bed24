import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import {
  byCursor,
  byLink,
  byOffset,
  byPage,
  byUrl,
  cursor,
  inTurn,
  itemsOf,
  map,
  nextUrl,
  offset,
  origin,
  page,
  paging,
  types,
} from '../helpers/paging.ts';
import { type FlowOptions, type FlowResult, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const one = [{ id: 'a' }];
const run = (flow: string, http?: FlowOptions['http'], options: FlowOptions = {}) => runFlow(flow, one, { http, ...options });
const paths = ({ requests }: FlowResult) => requests.map(({ path }) => path);
const numbers = ({ rows }: FlowResult) => rows.map(({ n }) => n);
describe('the records from all pages', () => {
  test.each(types)('are in the order of the pages: %s', async (_, paginate, server, calls) => {
    const result = await run(paging(paginate), server(3));
    expect(result.rows).toEqual([0, 1, 2, 3, 4, 5].map((n) => ({ id: 'a', n })));
    expect([result.failures, result.requests.length, result.credits]).toEqual([[], calls, calls]);
  });

  test.each(types)('can come from a single page: %s', async (_, paginate, server, calls) => {
    const result = await run(paging(paginate), server(1));
    expect([numbers(result), result.requests.length]).toEqual([[0, 1], calls - 2]);
  });

  test.each(types)('can come from 3,000 pages: %s', async (_, paginate, server, calls) => {
    const result = await run(paging(`${paginate}, max: 20000`), server(3000), { forget: true });
    expect(result.rows.length).toBe(6000);
    expect(numbers(result).every((n, index) => n === index)).toBe(true);
    expect(result.requests.length).toBe(2997 + calls);
  });

  test.each([
    ['type: page, param: page, items: items', [0, 1], 'page 2 is the same as page 1'],
    ['type: offset, param: offset, size: 2, items: items', [0, 1], 'page 2 is the same as page 1'],
    ['type: offset, param: offset, size: 1, items: items', [], 'page 1 has 2 items, more than the size of 1'],
  ])('do not include a repeated or oversized page, even if on_error is "keep": %s', async (paginate, before, message) => {
    const flow = paging(paginate).replace('type: http,', 'type: http, on_error: keep,');
    expect(flow).toContain('on_error: keep');
    const { rows } = await run(flow, () => ({ body: { items: [{ n: 0 }, { n: 1 }] } }));
    expect(rows.map(({ n, _error }) => n ?? (_error as { message: string }).message)).toEqual([
      ...before,
      expect.stringContaining(message),
    ]);
  });

  test('are in input order, however long each page takes', async () => {
    const records = Array.from({ length: 40 }, (_, index) => ({ id: `r${index}` }));
    const server = byCursor(3);
    const http = (request: SentRequest, index: number) => ({ ...server(request), afterMs: (index * 37) % 101 });
    const { rows } = await runFlow(paging(cursor), records, { http });
    expect(rows).toEqual(records.flatMap(({ id }) => [0, 1, 2, 3, 4, 5].map((n) => ({ id, n }))));
  });

  test('stay together in the output if --unordered is set', async () => {
    const http = (request: SentRequest) => ({ ...byCursor(3)(request), afterMs: request.path.startsWith('/slow') ? 100 : 1 });
    const { rows } = await runFlow(paging(cursor), [{ id: 'slow' }, { id: 'b' }, { id: 'c' }], { http, unordered: true });
    expect(rows.map(({ id }) => id)).toEqual([...Array(6).fill('b'), ...Array(6).fill('c'), ...Array(6).fill('slow')]);
    expect(rows.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
  });

  test('are written as one row per page if the map has no array', async () => {
    const flow = paging(cursor).replace(map, 'map: { first: "items[0].n" }');
    expect((await run(flow, byCursor(3))).rows).toEqual([0, 2, 4].map((first) => ({ id: 'a', first })));
  });

  test('are written as a single row if there is no map', async () => {
    const { rows, requests } = await run(paging(cursor).replace(`, ${map}`, ''), byCursor(3));
    expect([rows, requests.length]).toEqual([[{ id: 'a' }], 3]);
  });

  test('are not requested if the input is empty', async () => {
    const { rows, requests } = await runFlow(paging(cursor), []);
    expect([rows, requests]).toEqual([[], []]);
  });
});

describe('the request for a page', () => {
  test.each([
    [nextUrl, ['/a', '/a?p=1', '/a?p=2'], byUrl],
    [cursor, ['/a', '/a?cursor=1', '/a?cursor=2'], byCursor],
    ['type: link_header', ['/a', '/a?p=1', '/a?p=2'], byLink],
    [page, ['/a?page=1', '/a?page=2', '/a?page=3', '/a?page=4'], byPage],
    ['type: page, param: n, start: 0, items: items', ['/a?n=0', '/a?n=1'], () => inTurn({ body: { items: [1] } }, { body: {} })],
    [offset, ['/a?offset=0', '/a?offset=2', '/a?offset=4', '/a?offset=6'], byOffset],
    [
      'type: offset, param: skip, size: 50, items: items',
      ['/a?skip=0', '/a?skip=50'],
      () => inTurn({ body: { items: [1] } }, { body: {} }),
    ],
  ])('contains the next number or cursor, or follows the link: %s', async (paginate, expected, server) => {
    expect(paths(await run(paging(paginate), server(3)))).toEqual(expected);
  });

  test("changes only the page parameter of the URL's query", async () => {
    const flow = paging(cursor).replace('/{{id}}', '/x?a=%20+b&cursor=first&b={{id}}&cursor=twice&c');
    const result = await run(flow, inTurn({ body: { next: 'é &=/?#' } }, { body: {} }));
    expect(paths(result)).toEqual(['/x?a=%20+b&cursor=first&b=a&cursor=twice&c', '/x?a=%20+b&b=a&c&cursor=%C3%A9%20%26%3D%2F%3F%23']);
  });

  test('has the page number in the start option first, not the number in the URL', async () => {
    const result = await run(paging(page).replace('/{{id}}', '/x?page=7&size=2'), byPage(1));
    expect(paths(result)).toEqual(['/x?size=2&page=1', '/x?size=2&page=2']);
  });

  test.each([
    ['?p=2', '/v1/items?p=2'],
    ['/other?p=2', '/other?p=2'],
    ['more', '/v1/more'],
    ['./more/../again?p=2#part', '/v1/again?p=2'],
    [`${origin}/v2/x?p=2`, '/v2/x?p=2'],
    [`${origin}:443/v2/x`, '/v2/x'],
    ['HTTPS://API.EXAMPLE.COM/x', '/x'],
    ['//api.example.com/x', '/x'],
    ['?q=a b', '/v1/items?q=a%20b'],
    ['?q={{id}}', '/v1/items?q={{id}}'],
  ])('resolves the link %s to %s', async (next, path) => {
    const flow = paging(nextUrl).replace('/{{id}}', '/v1/items?p=1');
    const result = await run(flow, inTurn({ body: { links: { next } } }, { body: {} }));
    expect([result.failures, paths(result)[1]]).toEqual([[], path]);
  });

  test('has the same method, headers, body and credential as the first request', async () => {
    const more = ', method: POST, body: { id: "{{id}}" }, headers: { X-Id: "{{id}}" }, auth: { type: bearer, credential: key }';
    for (const [, paginate, server] of types) {
      const { requests } = await run(paging(paginate, more), server(3));
      expect(requests.length).toBeGreaterThan(2);
      for (const { method, headers, body, auth } of requests) {
        expect({ method, headers, body, auth }).toEqual({
          method: 'POST',
          headers: { Accept: 'application/json, */*;q=0.5', 'Content-Type': 'application/json', 'X-Id': 'a' },
          body: '{"id":"a"}',
          auth: [{ type: 'bearer', credential: 'key' }],
        });
      }
    }
  });

  test.each([
    [nextUrl, (next: string) => ({ body: { links: { next } } })],
    ['type: link_header', (next: string) => ({ headers: { link: `<${next}>; rel=next` } })],
  ])("contains its API key only once, even if the server's link contains the key (%s)", async (paginate, answer) => {
    const flow = paging(paginate, ', auth: { type: api_key, query: key, credential: k }');
    const next = answer(`${origin}/a?key=s3cret&p=2&key=again&b=1`);
    expect(paths(await run(flow, inTurn(next, { body: {} })))).toEqual(['/a', '/a?p=2&b=1']);
  });

  test('has its own idempotency key, which is the same in every run', async () => {
    const keys = async () =>
      (await run(paging(cursor, ', method: POST, idempotency_key: true'), byCursor(3))).requests.map(
        ({ headers }) => headers['Idempotency-Key'],
      );
    const first = await keys();
    expect(new Set(first).size).toBe(3);
    expect(await keys()).toEqual(first);
  });

  test('keeps its idempotency key when it is retried', async () => {
    const result = await run(paging(cursor, ', method: POST, idempotency_key: true'), (request, index) =>
      index === 1 ? { status: 503 } : byCursor(2)(request),
    );
    const keys = result.requests.map(({ headers }) => headers['Idempotency-Key']);
    expect([result.failures, keys.length, keys[1] === keys[2], keys[0] === keys[1]]).toEqual([[], 3, true, false]);
  });
});

describe("a page's Link header", () => {
  test.each([
    ['<?p=1>; rel=next', '/a?p=1'],
    ['<?p=9>; rel="first", <?p=1>; rel="next", <?p=8>; rel="last"', '/a?p=1'],
    ['<?p=1>; title="a, b; c <d>"; rel="last next"', '/a?p=1'],
    ['<?p=1,2;3>; REL=NEXT', '/a?p=1,2;3'],
    ['</next>; rel=prev', undefined],
    ['', undefined],
  ])('leads to the next page or ends paging: %s', async (link, path) => {
    expect(paths(await run(paging('type: link_header'), inTurn({ headers: { link } }, {})))[1]).toBe(path);
  });
});

describe('the value at paginate.path, which leads to the next page', () => {
  test.each([
    ['no such member', { items: [{ n: 1 }], nxt: 2 }, { items: [{ n: 1 }], links: {} }],
    ['no such parent', { items: [{ n: 1 }] }, { items: [{ n: 1 }], link: { next: '?p=2' } }],
    ['an empty body', '', ''],
  ])('ends the paging if it is missing on the first page, which is reported: %s', async (_, byCursor, byUrl) => {
    for (const [paginate, path, body] of [
      [cursor, 'next', byCursor],
      [nextUrl, 'links.next', byUrl],
    ] as const) {
      const { events, failures, requests } = await run(paging(paginate), inTurn({ body }));
      expect([failures, requests.length]).toEqual([[], 1]);
      expect(events).toContainEqual(expect.objectContaining({ type: 'next-path', node: 'pages', path, found: false }));
    }
  });

  test('can be missing on a later page, even if it was null on the first page', async () => {
    expect((await run(paging(cursor), inTurn({ body: { next: 1, items: [{ n: 1 }] } }, { body: { items: [{ n: 2 }] } }))).failures).toEqual(
      [],
    );
    expect((await run(paging(nextUrl), inTurn({ body: { links: null, items: [{ n: 1 }] } }))).failures).toEqual([]);
  });

  test('can be missing even on the first page if it is a header', async () => {
    const flow = paging('type: cursor, path: $headers.x-next, param: cursor');
    expect((await run(flow, inTurn({ body: { items: [{ n: 1 }] } }))).failures).toEqual([]);
  });

  test.each([[null], [''], [false]])('ends paging if it is %j', async (next) => {
    const expected = { failures: [], requests: [{}], rows: [{ n: 1 }] };
    expect(await run(paging(cursor), inTurn({ body: { next, items: [{ n: 1 }] } }))).toMatchObject(expected);
    expect(await run(paging(nextUrl), inTurn({ body: { links: { next }, items: [{ n: 1 }] } }))).toMatchObject(expected);
  });

  test.each([
    ['0', '0'],
    ['7', '7'],
    ['12345678901234567890', '12345678901234567890'],
    ['0.10', '0.10'],
    ['1e400', '1e400'],
    ['"0"', '0'],
    ['true', 'true'],
    ['"%2B+ "', '%252B%2B%20'],
  ])('can be %s, which is used as a cursor', async (json, sent) => {
    const headers = { 'content-type': 'application/json' };
    const result = await run(paging(cursor), inTurn({ headers, body: `{ "next": ${json} }` }, { body: {} }));
    expect(paths(result)).toEqual(['/a', `/a?cursor=${sent}`]);
  });

  test.each([
    ['an object', {}],
    ['an array', [1]],
  ])('makes the record fail if it is %s', async (kind, next) => {
    const result = await run(paging(cursor), inTurn({ body: { next, items: [{ n: 1 }] } }));
    expect(result).toMatchObject({ rows: [], failures: [{ node: 'pages', class: 'mapping', status: 200, attempts: 1 }] });
    expect(result.failures[0]?.message).toBe(`expected a string or a number at "next", found ${kind}`);
  });

  test('makes the record fail if it contains half of a surrogate pair', async () => {
    const result = await run(paging(cursor), inTurn({ body: '{ "next": "a\\ud800" }' }));
    expect(result.failures).toMatchObject([{ class: 'mapping', message: expect.stringContaining('a broken character') }]);
    expect(result.requests).toHaveLength(1);
  });

  test('can come from a header', async () => {
    const flow = paging('type: cursor, path: $headers.x-next, param: c');
    const result = await run(flow, inTurn({ headers: { 'x-next': 'b' }, body: {} }, { body: {} }));
    expect(paths(result)).toEqual(['/a', '/a?c=b']);
  });
});

describe('the last page', () => {
  const cases: [string, unknown][] = [
    ['an empty array', { items: [] }],
    ['null', { items: null }],
    ['no array', {}],
    ['nothing (the body is null)', null],
  ];
  test.each(cases)('has %s at the path in the items option', async (_, body) => {
    const result = await run(paging(page), inTurn({ body: { items: [{ n: 1 }] } }, { body }));
    expect([result.rows, result.failures, result.requests.length]).toEqual([[{ id: 'a', n: 1 }], [], 2]);
  });

  test('is the first page without items, whatever else the page contains', async () => {
    const body = { items: [], total: 7, ads: [1, 2] };
    const result = await run(paging(page).replace(map, 'map: { total: total }'), inTurn({ body: { total: 7, items: [1] } }, { body }));
    expect(result.rows).toEqual([{ id: 'a', total: 7 }]);
  });

  test.each([page, offset])('makes the record fail if the map finds records on it but the items path does not: %s', async (type) => {
    const { rows, failures, requests } = await run(paging(type.replace('items: items', 'items: itmes')), byPage(3));
    expect([rows, requests.length]).toEqual([[], 1]);
    expect(failures).toMatchObject([
      { class: 'mapping', message: 'the map finds records on the page (2), but the page has no itmes (paginate.items)' },
    ]);
  });

  test('is never requested if an earlier page has more items than the size in paginate', async () => {
    const items = (count: number) => ({ body: { items: Array.from({ length: count }, (_, n) => ({ n })) } });
    const { rows, failures, requests } = await run(paging(offset), inTurn(items(2), items(3)));
    expect([rows, requests.length]).toEqual([[], 2]);
    const message = 'page 2 has 3 items, more than the size of 2: the next page would repeat some of them';
    expect(failures).toMatchObject([{ class: 'mapping', message }]);
  });

  test('can have fewer items than the size in paginate says', async () => {
    const result = await run(paging(offset), inTurn({ body: { items: [{ n: 1 }] } }, { body: { items: [] } }));
    expect([numbers(result), paths(result)]).toEqual([[1], ['/a?offset=0', '/a?offset=2']]);
    expect(result.events.filter(({ type }) => type === 'page-short')).toEqual([]);
  });

  test.each([
    ['reported once for a record with two short pages', [1, 1, 2, 1], [{ page: 1, items: 1, size: 2 }]],
    ['reported by its number', [2, 1, 2], [{ page: 2, items: 1, size: 2 }]],
    ['not reported if it is the last', [2, 1], []],
  ])('can follow a page with fewer items than the size in paginate says, which is %s', async (_, counts, told) => {
    const pages = [...counts, 0].map((count, at) => ({ body: { items: Array.from({ length: count }, (_, n) => ({ n: 10 * at + n })) } }));
    const { events, rows } = await run(paging(offset), inTurn(...pages));
    expect(rows.length).toBe(counts.reduce((sum, count) => sum + count));
    expect(events.filter(({ type }) => type === 'page-short')).toMatchObject(told);
  });

  test.each(['data.items', 'data.items[]', 'data["items"]'])('can have its items in a nested array: %s', async (items) => {
    const flow = paging(`type: page, items: '${items}'`).replace('items[].n', 'data.items[].n');
    const result = await run(flow, inTurn({ body: { data: { items: itemsOf(0) } } }, { body: { data: { items: [] } } }));
    expect(numbers(result)).toEqual([0, 1]);
  });

  test('can itself be an array', async () => {
    const flow = paging('type: page, items: $body').replace('items[].n', '$body[].n');
    expect(numbers(await run(flow, inTurn({ body: itemsOf(0) }, { body: [] })))).toEqual([0, 1]);
  });

  test.each([
    ['a string', 'none'],
    ['an object', {}],
    ['a number', 0],
    ['a boolean', false],
  ])('makes the record fail if its items are %s', async (kind, items) => {
    const result = await run(paging(page), inTurn({ body: { items: [{ n: 1 }] } }, { body: { items } }));
    expect(result.rows).toEqual([]);
    expect(result.failures).toMatchObject([
      { node: 'pages', class: 'mapping', status: 200, message: `page 2: expected an array of items, found ${kind} (1 page had been read)` },
    ]);
  });

  test('can follow an empty page if that page has a cursor for the next page', async () => {
    const answers = [{ items: itemsOf(0), next: 1 }, { items: [], next: 2 }, { items: itemsOf(1) }];
    const result = await run(paging(cursor), inTurn(...answers.map((body) => ({ body }))));
    expect([numbers(result), result.requests.length]).toEqual([[0, 1, 2, 3], 3]);
  });
});

describe('pages without any records', () => {
  const nothing: [string, string, FlowOptions['http']][] = [
    ['an empty first page', page, inTurn({ body: { items: [] } })],
    ['an empty page without a cursor', cursor, inTurn({ body: { items: [], next: null } })],
    ['several empty pages', cursor, inTurn({ body: { items: [], next: 1 } }, { body: { items: [] } })],
  ];

  test.each(nothing)('pass the input record on with empty fields: %s', async (_, paginate, http) => {
    expect(await run(paging(paginate), http)).toMatchObject({ rows: [{ id: 'a', n: null }], failures: [] });
  });

  test.each(nothing)('drop the record if when_empty is "drop": %s', async (_, paginate, http) => {
    expect(await run(paging(paginate, ', when_empty: drop'), http)).toMatchObject({ rows: [], failures: [] });
  });

  test.each(nothing)('make the record fail if when_empty is "error": %s', async (_, paginate, http) => {
    const { rows, failures } = await run(paging(paginate, ', when_empty: error'), http);
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([{ class: 'mapping', status: 200, message: 'the array "items[]" is empty or missing' }]);
  });

  test('do not make the record fail if only the last page is empty', async () => {
    expect(numbers(await run(paging(page, ', when_empty: error'), byPage(2)))).toEqual([0, 1, 2, 3]);
  });

  test('still add the values that the map takes from the first page', async () => {
    const flow = paging(cursor).replace(map, 'map: { at: at, n: "items[].n" }');
    const result = await run(flow, inTurn({ body: { items: [], at: 1, next: 1 } }, { body: { items: [], at: 2 } }));
    expect(result.rows).toEqual([{ id: 'a', at: 1, n: null }]);
  });

  test('still add the values of an empty first page, as a single response does', async () => {
    const result = await run(paging(page).replace('items[].n', 'others[].n'), inTurn({ body: { items: [], others: itemsOf(0) } }));
    expect([numbers(result), result.failures]).toEqual([[0, 1], []]);
  });

  test('are not reported in the summary if other pages contain records', async () => {
    const answers = [{ items: itemsOf(0), next: 1 }, { items: [], next: 2 }, { items: itemsOf(1) }];
    const { events } = await run(paging(cursor), inTurn(...answers.map((body) => ({ body }))));
    expect(events.filter(({ type }) => type === 'mapped')).toMatchObject([{ found: [true] }, { found: [true] }]);
  });

  test('are reported only once per record in the summary', async () => {
    const { events } = await run(paging(page), inTurn({ body: { items: [] } }));
    expect(events.filter(({ type }) => type === 'mapped')).toMatchObject([{ found: [false, true] }]);
  });
});

describe('a node with the paginate.max option', () => {
  test.each(types)('fails a record that has more pages, without requesting the next page: %s', async (_, paginate, server) => {
    const result = await run(paging(`${paginate}, max: 3`), server(9));
    expect([result.rows, result.requests.length, result.credits]).toEqual([[], 3, 3]);
    const isCounted = paginate.includes('items');
    const message = isCounted
      ? 'page 3 is not the last, and no more pages are requested (paginate.max)'
      : 'there are more than 3 pages (paginate.max)';
    expect(result.failures).toMatchObject([{ node: 'pages', class: 'mapping', message, attempts: 1 }]);
  });

  test('can allow only one page', async () => {
    const { failures } = await run(paging('type: cursor, path: next, param: c, max: 1'), () => ({ body: { items: [1], next: 'x' } }));
    expect(failures).toMatchObject([{ message: 'there is more than 1 page (paginate.max)' }]);
  });

  test.each(types)('allows 100 pages by default: %s', async (_, paginate, server, calls) => {
    expect((await run(paging(paginate), server(103 - calls))).failures).toEqual([]);
    const { failures, requests } = await run(paging(paginate), server(200));
    expect([failures.length, requests.length]).toEqual([1, 100]);
  });

  test.each(types.slice(0, 3))('allows exactly as many pages as max says: %s', async (_, paginate, server) => {
    expect(numbers(await run(paging(`${paginate}, max: 3`), server(3)))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('refuses a max below 1', async () => {
    expect(numbers(await run(paging(`${cursor}, max: 1`), byCursor(1)))).toEqual([0, 1]);
  });
});

describe('a page that repeats an earlier page', () => {
  const link = (next: string) => ({ body: { links: { next } } });
  const told = (next: unknown) => ({ body: { next } });
  const header = (next: string) => ({ headers: { link: `<${next}>; rel=next` } });
  const ofPage1 = 'the cursor of page 1; if that was the last page, set paginate.items to the path of the list';
  const cases: [string, string, readonly FakeAnswer[], number, string][] = [
    ['the same URL', nextUrl, [link('/a')], 1, 'page 1 leads to itself again: /a (1 page had been read)'],
    ['the same URL, absolute', nextUrl, [link(`${origin}/a#x`)], 1, 'page 1 leads to itself again: /a (1 page had been read)'],
    ['the same URL later', nextUrl, [link('?p=2'), link('?p=2')], 2, 'page 2 leads to itself again: /a?p=2 (2 pages had been read)'],
    ['A, B, A', nextUrl, [link('/b'), link('/a')], 2, 'page 2 leads to page 1 again: /a (2 pages had been read)'],
    ['A, B, C, B', nextUrl, [link('/b'), link('/c'), link('/b')], 3, 'page 3 leads to page 2 again: /b (3 pages had been read)'],
    [
      'the same cursor',
      cursor,
      [told('x'), told('x')],
      2,
      `page 2 leads to itself again: /a?cursor=x (2 pages had been read)\npage 2 has ${ofPage1}`,
    ],
    [
      'cursors A, B, A',
      cursor,
      [told('x'), told('y'), told('x')],
      3,
      `page 3 leads to page 2 again: /a?cursor=x (3 pages had been read)\npage 3 has ${ofPage1}`,
    ],
    [
      'the same number as a text',
      cursor,
      [told(1), told('1')],
      2,
      `page 2 leads to itself again: /a?cursor=1 (2 pages had been read)\npage 2 has ${ofPage1}`,
    ],
    ['the same header', 'type: link_header', [header('?p=2')], 2, 'page 2 leads to itself again: /a?p=2 (2 pages had been read)'],
    [
      'A, B, A in headers',
      'type: link_header',
      [header('/b'), header('/a')],
      2,
      'page 2 leads to page 1 again: /a (2 pages had been read)',
    ],
  ];
  test.each(cases)('makes the record fail: %s (%s)', async (_, paginate, answers, sent, message) => {
    const result = await run(paging(paginate), inTurn(...answers));
    expect([result.rows, result.requests.length]).toEqual([[], sent]);
    expect(result.failures).toMatchObject([{ node: 'pages', class: 'mapping', message }]);
  });

  test.each([
    [page, 'page'],
    [offset, 'offset'],
  ])('makes the message suggest that the server might not know the parameter (%s)', async (paginate, param) => {
    const result = await run(paging(paginate), inTurn({ body: { items: itemsOf(0) } }));
    expect([result.rows, result.requests.length]).toEqual([[], 2]);
    expect(result.failures[0]?.message).toBe(
      `page 2 is the same as page 1: does the server know the parameter "${param}"? (2 pages had been read)`,
    );
  });

  test('makes the record fail if a link leads back to it', async () => {
    const bodies = [0, 1, 0].map((index) => ({ body: { items: itemsOf(index) } }));
    const { failures, rows } = await run(paging(page), inTurn(...bodies));
    expect([rows, failures.length]).toEqual([[], 1]);
    expect(failures[0]?.message).toContain('page 3 is the same as page 1');
  });

  test('does not matter if the earlier page belongs to a different record', async () => {
    const { rows, failures } = await runFlow(paging(cursor).replace('{{id}}', 'x'), [{ id: 'a' }, { id: 'b' }], { http: byCursor(3) });
    expect([rows.length, failures]).toEqual([12, []]);
  });
});

describe('a link to the next page on a different origin', () => {
  const elsewhere = 'https://other.example.com/x?p=2&key=abc';
  const ways: [string, (link: string) => FakeAnswer][] = [
    [nextUrl, (next) => ({ body: { links: { next }, items: itemsOf(0) } })],
    ['type: link_header', (next) => ({ headers: { link: `<${next}>; rel="next"` }, body: { items: itemsOf(0) } })],
  ];
  const secrets = ', method: POST, headers: { X-A: b }, auth: { type: bearer, credential: key }, idempotency_key: true';

  test.each(ways)('is refused: %s', async (paginate, answer) => {
    for (const link of [elsewhere, '//other.example.com/x', 'https://api.example.com:8443/a', 'https://API.example.com./a']) {
      const result = await run(paging(paginate), inTurn(answer(link)));
      expect([result.rows, result.requests.length]).toEqual([[], 1]);
      expect(result.failures).toMatchObject([{ node: 'pages', class: 'http', status: 200 }]);
      expect(result.failures[0]?.message).toBe(
        `the next page is ${link}, a different origin (follow: any allows that, without the credential, headers and body)`,
      );
    }
  });

  describe.each(['body: { a: 1 }', 'form: { a: b }', 'text: hi', 'body: { key: "{{credentials.key}}" }'])('with %s', (body) => {
    const post = `, method: POST, ${body}, headers: { X-A: b }`;
    const directly = 'if that is the right server, send the POST to it directly: write its address as url';

    test.each(ways)('is refused, because the next page would lose the body: %s', async (paginate, answer) => {
      const without = await run(paging(paginate, post), inTurn(answer(elsewhere)));
      expect(without.failures[0]?.message).toBe(`the next page is ${elsewhere}, a different origin\n${directly}`);
      const withAny = await run(paging(paginate, `${post}, follow: any`), inTurn(answer(elsewhere), { body: { items: itemsOf(1) } }));
      expect(withAny.failures).toMatchObject([{ node: 'pages', class: 'http', status: 200 }]);
      expect(withAny.failures[0]?.message).toBe(
        `the next page on another origin (https://other.example.com) would lose the body\n${directly}`,
      );
      expect([without.requests.length, withAny.requests.length]).toEqual([1, 1]);
    });
  });

  test.each(ways)('is refused if it is not an http or https URL: %s', async (paginate, answer) => {
    for (const link of [
      'javascript:alert(1)',
      'mailto:a@b.c',
      'ftp://other.example.com/x',
      'file:///etc/passwd',
      'blob:https://api.example.com/1',
    ]) {
      for (const more of ['', ', follow: any']) {
        const { failures, requests } = await run(paging(paginate, more), inTurn(answer(link)));
        expect([failures[0]?.message, requests.length]).toEqual([`the next page is ${link}, which is not a web address`, 1]);
      }
    }
  });

  test.each(ways)('is followed without the credential, headers and body if follow is "any": %s', async (paginate, answer) => {
    const flow = paging(paginate, `${secrets}, follow: any`);
    const { requests, rows, failures } = await run(flow, inTurn(answer(elsewhere), { body: { items: itemsOf(1) } }));
    expect([rows.map(({ n }) => n), failures]).toEqual([[0, 1, 2, 3], []]);
    const [first, second] = requests;
    expect(first).toMatchObject({ method: 'POST', headers: { 'X-A': 'b' }, auth: [{ credential: 'key' }] });
    expect(second).toMatchObject({ method: 'GET', url: elsewhere, hostFromData: { allowHosts: [] } });
    expect([second?.auth, second?.body, second?.headers['X-A']]).toEqual([undefined, undefined, undefined]);
  });

  test('is not followed into the internal network if the first host came from a record', async () => {
    const flow = `allow_hosts: ["127.0.0.1:8001"]\n${paging(nextUrl, ', follow: any').replace(`${origin}/{{id}}`, '{{id}}')}`;
    const answer = { body: { links: { next: 'http://127.0.0.1:8002/' }, items: itemsOf(0) } };
    const given = [{ id: 'http://127.0.0.1:8001/' }];
    const { requests } = await runFlow(flow, given, { http: inTurn(answer, { body: { items: itemsOf(1) } }) });
    expect(requests.map(({ hostFromData }) => hostFromData)).toEqual([
      { allowHosts: ['127.0.0.1:8001'] },
      { allowHosts: ['127.0.0.1:8001'] },
    ]);
  });

  test.each([
    [origin, []],
    ['http://127.0.0.1:8001', ['127.0.0.1:8002']],
  ])('can lead to this machine only if the first request did: from %s, allowed hosts %j', async (from, allowHosts) => {
    const answer = { body: { links: { next: 'http://127.0.0.1:8002/' }, items: itemsOf(0) } };
    const flow = paging(nextUrl, ', follow: any').replace(origin, from);
    const { requests } = await run(flow, inTurn(answer, { body: { items: itemsOf(1) } }));
    expect(requests[1]?.hostFromData).toEqual({ allowHosts });
  });

  test('is followed with the same success statuses as the first request', async () => {
    const [, answer] = ways[0] as (typeof ways)[number];
    const flow = paging(nextUrl, ', follow: any, success: [2xx, 302]');
    const { requests } = await run(flow, inTurn(answer(elsewhere), { status: 302, body: { items: itemsOf(1) } }));
    expect(requests.map(({ unfollowed }) => unfollowed)).toEqual([[302], [302]]);
  });

  test('removes the credential from all later requests, even to the first origin', async () => {
    const [, answer] = ways[0] as (typeof ways)[number];
    const flow = paging(nextUrl, `${secrets}, follow: any`);
    const { requests } = await run(flow, inTurn(answer(elsewhere), answer(`${origin}/a?p=3`), { body: { items: itemsOf(2) } }));
    expect(requests.map(({ url }) => url)).toEqual([`${origin}/a`, elsewhere, `${origin}/a?p=3`]);
    expect(requests[2]).toMatchObject({ method: 'GET' });
    expect([requests[2]?.auth, requests[2]?.body, requests[2]?.headers['X-A']]).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    ['http://other.example.com/x', 'expected an https URL, found http://other.example.com'],
    ['https://user:pw@other.example.com/x', 'a URL must not contain a user name or password'],
  ])('is refused even with follow: any if it is %s', async (next, reason) => {
    const result = await run(paging(nextUrl, ', follow: any'), inTurn({ body: { links: { next } } }));
    expect(result.requests).toHaveLength(1);
    expect(result.failures[0]).toMatchObject({ class: 'http', message: expect.stringContaining(reason) });
  });

  test.each(['http://', 'https://:80', 'http://[::1'])('is refused if it is invalid: %s', async (next) => {
    const result = await run(paging(nextUrl), inTurn({ body: { links: { next } } }));
    expect(result.failures).toMatchObject([{ class: 'http', message: `the next page is ${next}, which is not a URL` }]);
  });

  test('is followed without a user name in the URL', async () => {
    const result = await run(paging(nextUrl), inTurn({ body: { links: { next: 'https://user:pw@api.example.com/b' } } }, { body: {} }));
    expect(result.requests.map(({ url }) => url)).toEqual([`${origin}/a`, `${origin}/b`]);
  });
});
