import { describe, expect, test } from 'vitest';
import { flowProblems } from '../helpers/flow-problems.ts';
import { inTurn, itemsOf, map, origin, paging, types } from '../helpers/paging.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const run = (flow: string, http: FlowOptions['http']) => runFlow(flow, [{ id: 'a', last: 'c1' }], { http });
const problemsOf = (flow: string, header?: readonly string[]) =>
  flowProblems(flow, { ...(header && { header }) })
    .map(({ message }) => message)
    .join();
const numbers = ({ rows }: Awaited<ReturnType<typeof run>>) => rows.map(({ n }) => n);

describe('the paginate.items option', () => {
  test.each(types.slice(0, 3))('ends paging at a page without items, even if there is a next page: %s', async (_, paginate, server) => {
    const http = server(9);
    const emptyAfter2: FlowOptions['http'] = (request, index) => {
      const answer = http(request);
      return index < 2 ? answer : { ...answer, body: { ...(answer.body as object), items: [] } };
    };
    const result = await run(paging(`${paginate}, items: items`), emptyAfter2);
    expect([numbers(result), result.failures, result.requests.length]).toEqual([[0, 1, 2, 3], [], 3]);
  });

  test.each(types.slice(0, 3))(
    'makes the record fail if the first page lacks the items but has a next page: %s',
    async (_, paginate, server) => {
      const result = await run(paging(`${paginate}, items: itmes`).replace(map, 'map: { next: next }'), server(2));
      expect([result.rows, result.requests.length]).toEqual([[], 1]);
      expect(result.failures).toMatchObject([
        {
          class: 'mapping',
          message:
            'the first page has no "itmes" (paginate.items), but leads to another page\nset paginate.items to the list on a page, such as data.items, or to $body if the page is the list',
        },
      ]);
    },
  );

  test('allows a first page that has neither items nor a next page', async () => {
    const flow = paging('type: cursor, path: next, param: c, items: items', ', when_empty: drop');
    expect(await run(flow, inTurn({ body: { items: [] } }))).toMatchObject({ rows: [], failures: [] });
  });

  test('is by default the array of the map, which must be empty at a repeated cursor', async () => {
    const flow = paging('type: cursor, path: next, param: c');
    const ended = await run(flow, inTurn({ body: { items: itemsOf(0), next: 'x' } }, { body: { items: [], next: 'x' } }));
    expect([numbers(ended), ended.failures, ended.requests.length]).toEqual([[0, 1], [], 2]);
    const absent = await run(flow, inTurn({ body: { items: itemsOf(0), next: 'x' } }, { body: { next: 'x' } }));
    expect([numbers(absent), absent.failures]).toEqual([[0, 1], []]);
    const more = await run(
      flow,
      inTurn({ body: { items: itemsOf(0), next: 'x' } }, { body: { items: [], next: 'y' } }, { body: { items: itemsOf(1) } }),
    );
    expect([numbers(more), more.failures]).toEqual([[0, 1, 2, 3], []]);
  });

  test('must be a path that leads to one array', () => {
    expect(problemsOf(paging('type: link_header, items: "a[].b"'))).toContain(
      'expected a path to one array, such as results, found "a[].b"',
    );
  });
});

describe('the paginate.until option', () => {
  test.each(types)('ends paging after the page for which the condition is true: %s', async (_, paginate, server) => {
    const result = await run(paging(`${paginate}, until: "body.items[1].n == 3"`), server(9));
    expect([numbers(result), result.failures, result.requests.length]).toEqual([[0, 1, 2, 3], [], 2]);
  });

  test('can refer to the status, the headers and the record', async () => {
    const http: FlowOptions['http'] = (_, index) => ({
      headers: { 'X-Cursor': `c${index}` },
      body: { items: itemsOf(index), next: index },
    });
    const result = await run(
      paging('type: cursor, path: next, param: c, until: "status == 200 && headers[\'x-cursor\'] == record.last"'),
      http,
    );
    expect([numbers(result), result.requests.length]).toEqual([[0, 1, 2, 3], 2]);
  });

  test('is not needed to end paging at a page without a next page', async () => {
    const flow = paging('type: cursor, path: next, param: c, until: body.has_more == false');
    expect(await run(flow, inTurn({ body: { items: itemsOf(0), has_more: false } }))).toMatchObject({
      rows: [{ n: 0 }, { n: 1 }],
      failures: [],
    });
  });

  test('makes the record fail if the condition cannot be evaluated', async () => {
    const flow = paging('type: cursor, path: next, param: c, until: body.hasmore == false');
    const { rows, failures } = await run(flow, inTurn({ body: { items: itemsOf(0), next: 1 } }));
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([
      { class: 'mapping', message: 'paginate.until: the expression cannot be evaluated: there is no key "hasmore"' },
    ]);
  });

  test('must refer to the response', () => {
    expect(problemsOf(paging('type: link_header, until: has_more == false'))).toContain(
      'no variable "has_more"; expected status, headers, body or record',
    );
    expect(problemsOf(paging('type: link_header, until: record.lost == 1'), ['id'])).toContain('lost');
  });
});

describe('a cursor from the last item (paginate.from: last_item)', () => {
  const last = 'type: cursor, from: last_item, path: n, param: after';

  test("comes from the last item of the map's array if paginate.items is not set", async () => {
    const result = await run(
      paging(last),
      inTurn({ body: { items: itemsOf(0) } }, { body: { items: [{ n: 9 }] } }, { body: { items: [] } }),
    );
    expect([numbers(result), result.failures]).toEqual([[0, 1, 9], []]);
    expect(result.requests.map(({ path }) => path)).toEqual(['/a', '/a?after=1', '/a?after=9']);
  });

  test('is the last item itself if the path is $body', async () => {
    const flow = paging('type: cursor, from: last_item, path: $body, param: after, items: ids').replace(map, 'map: { n: "ids[]" }');
    const result = await run(flow, inTurn({ body: { ids: [1, 2] } }, { body: { ids: [] } }));
    expect([numbers(result), result.requests.map(({ path }) => path)]).toEqual([
      [1, 2],
      ['/a', '/a?after=2'],
    ]);
  });

  test.each([{}, { n: null }, { n: '' }])('makes the record fail if the last item, %j, does not contain a cursor', async (item) => {
    const { rows, failures } = await run(paging(last), inTurn({ body: { items: [{ n: 1 }, item] } }));
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([
      { class: 'mapping', message: 'the last item has no "n" (paginate.path), so the next page cannot be requested' },
    ]);
  });

  test('requires that either items or the map refers to an array', () => {
    const flow = paging(last).replace(map, 'map: [total]');
    expect(problemsOf(flow)).toContain('from: last_item needs items, the path of the list on a page');
    expect(problemsOf(paging(last.replace('path: n', 'path: $status')))).toContain('expected a path within an item, such as id');
  });
});

describe('a page number or an offset in the body (paginate.in: body)', () => {
  test.each([
    ['type: page', '{ q: "{{id}}" }', ['{"q":"a","page":1}', '{"q":"a","page":2}', '{"q":"a","page":3}']],
    [
      'type: page, param: filter.page, start: 0',
      '{ filter: { page: 9, size: 2 } }',
      [0, 1, 2].map((page) => `{"filter":{"page":${page},"size":2}}`),
    ],
    ['type: offset, size: 2, param: variables.skip', '{ q: x }', [0, 2, 4].map((skip) => `{"q":"x","variables":{"skip":${skip}}}`)],
  ])('is a number in each request: %s', async (type, body, expected) => {
    const flow = paging(`${type}, in: body, items: items`, `, method: POST, body: ${body}`);
    const pages = [0, 1].map((page) => ({ body: { items: [{ n: 2 * page }, { n: 2 * page + 1 }] } }));
    const result = await run(flow, inTurn(...pages, { body: { items: [] } }));
    expect(result.failures).toEqual([]);
    expect(result.requests.map((request) => request.body)).toEqual(expected);
    expect(new Set(result.requests.map(({ path }) => path)).size).toBe(1);
  });

  test.each(['page', 'offset, size: 2'])('requires a JSON body: %s', (type) => {
    const flow = `nodes: [{ type: http, url: "${origin}", map: [a], paginate: { type: ${type}, in: body, items: b } }]`;
    expect(problemsOf(flow)).toContain(`in: body puts the ${type.split(',')[0]} into a JSON body, and the node has none`);
  });
});

describe('a cursor in the body (paginate.in: body)', () => {
  const post = (param: string, body: string) =>
    paging(`type: cursor, path: next, in: body, param: ${param}`, `, method: POST, body: ${body}`);
  const bodies = async (flow: string, next: unknown) => {
    const { requests, failures } = await run(
      flow,
      inTurn({ body: { items: itemsOf(0), next } }, { body: { items: itemsOf(1), next: null } }),
    );
    return { sent: requests.map(({ body }) => body), failures };
  };

  test.each([
    ['variables.after', '{ q: "{{id}}" }', 'x', ['{"q":"a"}', '{"q":"a","variables":{"after":"x"}}']],
    ['after', '{ after: null, n: 1.50 }', 7, ['{"after":null,"n":1.50}', '{"after":7,"n":1.50}']],
    ['"[0].after"', '[{ after: 1 }]', 'x', ['[{"after":1}]', '[{"after":"x"}]']],
    ['search_after', '{ size: 2 }', [1, 'b'], ['{"size":2}', '{"size":2,"search_after":[1,"b"]}']],
    ['__proto__.a', '{ a: 1 }', 'x', ['{"a":1}', '{"a":1,"__proto__":{"a":"x"}}']],
  ])('is inserted at %s into the body %s', async (param, body, next, expected) => {
    expect(await bodies(post(param, body), next)).toEqual({ sent: expected, failures: [] });
  });

  test('makes the record fail if the body does not have that position', async () => {
    const { failures } = await bodies(post('q.after', '{ q: text }'), 'x');
    expect(failures).toMatchObject([
      {
        class: 'request',
        message: expect.stringContaining('cannot set "q.after" in the body (paginate.param): found a string on that path'),
      },
    ]);
  });

  test('does not reveal secrets in the displayed body', async () => {
    const flow = post('after', '{ key: { credential: k } }');
    const { requests } = await run(flow, inTurn({ body: { items: itemsOf(0), next: 'x' } }, { body: { items: [], next: null } }));
    expect(requests[1]?.body).toBe('{"key":"***","after":"x"}');
    expect(requests[1]?.secretBody?.render(() => 's3cret')).toBe('{"key":"s3cret","after":"x"}');
  });

  test('is still detected if it repeats', async () => {
    const { failures, requests } = await run(post('after', '{ a: 1 }'), () => ({ body: { items: itemsOf(0), next: 'x' } }));
    expect(requests.length).toBe(2);
    expect(failures).toMatchObject([{ message: expect.stringContaining('page 2 has the cursor of page 1') }]);
  });

  test.each(['$status', '"a[].b"', '$body'])('cannot have the position %s', (param) => {
    expect(problemsOf(post(param, '{ a: 1 }'))).toContain('expected the path of one value in the body, such as variables.after');
  });

  test.each([
    ['no body', ''],
    ['a form', ', method: POST, form: { a: 1 }'],
    ['plain text', ', method: POST, text: a'],
  ])('requires a JSON body: %s is refused', (_, more) => {
    const flow = `nodes: [{ type: http, url: "${origin}", map: [a], paginate: { type: cursor, in: body, param: a, path: b }${more} }]`;
    expect(problemsOf(flow)).toContain('in: body puts the cursor into a JSON body');
  });
});
