import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { byCursor, byPage, cursor, inTurn, map, nextUrl, origin, page, paging } from '../helpers/paging.ts';
import { type FlowOptions, type FlowResult, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const one = [{ id: 'a' }];
const run = (flow: string, http?: FlowOptions['http'], options: FlowOptions = {}) => runFlow(flow, one, { http, ...options });
const numbers = ({ rows }: FlowResult) => rows.map(({ n }) => n);
const found = ({ events }: FlowResult) => events.flatMap((event) => (event.type === 'mapped' ? [event.found] : []));

/** Responds with the page for the cursor. The response to the cursor `bad` is `answer` instead. */
const except = (bad: number, answer: object) => (request: SentRequest) =>
  request.url.endsWith(`cursor=${bad}`) ? answer : byCursor(4)(request);

describe('a requested page', () => {
  test('makes the whole record fail if it fails, and the message contains its number', async () => {
    const result = await run(paging(cursor), except(2, { status: 404, body: 'gone' }));
    expect([result.rows, result.requests.length, result.credits]).toEqual([[], 3, 3]);
    expect(result.failures).toMatchObject([
      {
        record: 1,
        node: 'pages',
        class: 'http',
        status: 404,
        attempts: 1,
        fields: { id: 'a' },
        message: 'page 3: the server answered 404: gone (2 pages had been read)',
      },
    ]);
  });

  test.each([
    ['invalid JSON', { body: '{"items": [', headers: { 'content-type': 'application/json' } }, 'parse', /^page 3: /],
    [
      'without an array to expand',
      { body: { items: 7 } },
      'mapping',
      /^page 3: expected an array at "items\[\]", found a number \(2 pages had been read\)$/,
    ],
    [
      'without a valid cursor',
      { body: { next: {} } },
      'mapping',
      /^page 3: expected a string or a number at "next", found an object \(2 pages had been read\)$/,
    ],
  ])('makes the record fail if it is %s', async (_, answer, kind, message) => {
    const { rows, failures } = await run(paging(cursor), except(2, answer));
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([{ class: kind, message: expect.stringMatching(message) }]);
  });

  test('makes the record fail if its link to the next page leads to a different origin', async () => {
    const next = (to: string) => ({ body: { links: { next: to } } });
    const { failures } = await run(paging(nextUrl), inTurn(next('?p=2'), next('https://other.example.com/')));
    expect(failures[0]?.message).toMatch(/^page 2: the next page is https:\/\/other\.example\.com\/, a different origin/);
  });

  test('is reported without a number if it is the first page', async () => {
    const { failures } = await run(paging(cursor), () => ({ status: 404 }));
    expect(failures).toMatchObject([{ message: 'the server answered 404' }]);
  });

  test('is retried after an error, as any other request is', async () => {
    const result = await run(paging(cursor), (request, index) => (index === 1 || index === 2 ? { status: 503 } : byCursor(3)(request)));
    expect([result.failures, numbers(result)]).toEqual([[], [0, 1, 2, 3, 4, 5]]);
    expect(result.requests.map(({ atMs }) => atMs)).toEqual([0, 0, 1000, 3000, 3000]);
    expect(result.credits).toBe(3);
  });

  test('is reported with its number of attempts if it fails', async () => {
    const { failures, credits } = await run(paging(cursor, ', retry: { max: 2 }'), except(1, { status: 503 }));
    expect(failures).toMatchObject([{ status: 503, attempts: 3, message: expect.stringMatching(/^page 2: /) }]);
    expect(credits).toBe(2);
  });

  test('does not affect other records if it fails', async () => {
    const http = (request: SentRequest) => (request.path === '/b?cursor=1' ? { status: 404 } : byCursor(3)(request));
    const { rows, failures } = await runFlow(paging(cursor), [{ id: 'a' }, { id: 'b' }, { id: 'c' }], { http });
    expect(rows.map(({ id }) => id)).toEqual([...Array(6).fill('a'), ...Array(6).fill('c')]);
    expect(failures).toMatchObject([{ record: 2 }]);
  });

  test('makes the run end if it fails and on_error is "stop"', async () => {
    const { ending, failures, rows } = await run(paging(cursor, ', on_error: stop'), except(1, { status: 404 }));
    expect([ending, failures.length, rows]).toEqual(['on-error-stop', 1, []]);
  });

  test('passes the record on only once if it fails and on_error is "keep"', async () => {
    const { rows, failures } = await run(paging(cursor, ', on_error: keep'), except(2, { status: 404 }));
    expect(failures).toEqual([]);
    expect(rows.at(-1)).toMatchObject({ id: 'a', _error: { node: 'pages', class: 'http', status: 404, record: 1 } });
  });

  test('counts towards the rate limit, as any other request does', async () => {
    const { requests } = await run(paging(cursor, ', rate: 2/s'), byCursor(4));
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 500, 1000, 1500]);
  });

  test('is not requested once the credits are used up: the record stays for a later run', async () => {
    const { rows, failures, ending, requests } = await run(paging(cursor), byCursor(9), { credits: 3 });
    expect([rows, failures, ending, requests.length]).toEqual([[], [], 'max-credits', 3]);
  });
});

describe('the count of paths found in pages', () => {
  test('includes each page that has records', async () => {
    expect(found(await run(paging(cursor), byCursor(3)))).toEqual([[true], [true], [true]]);
    expect(found(await run(paging(page), byPage(3)))).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
  });

  test('includes the path of the items, but not the path that leads to the next page', async () => {
    const told = ({ events }: FlowResult) => new Set(events.flatMap((event) => (event.type === 'mapped' ? event.paths : [])));
    expect(told(await run(paging(cursor), byCursor(1)))).toEqual(new Set(['items[].n']));
    expect(told(await run(paging(page), byPage(1)))).toEqual(new Set(['items[].n', 'items (paginate.items)']));
  });

  test('excludes the pages on which the path is missing', async () => {
    const flow = paging(cursor).replace(map, 'map: { n: "items[].n", m: "items[].m" }');
    const bodies = [{ next: 1, items: [{ m: 1 }] }, { items: [{ n: 1 }] }];
    expect(found(await run(flow, inTurn(...bodies.map((body) => ({ body })))))).toEqual([
      [false, true],
      [true, false],
    ]);
  });
});

describe('a page from the cache', () => {
  test('costs no credits', async () => {
    const records = [{ id: 'a' }, { id: 'b' }];
    const result = await runFlow(paging(cursor, ', cache: 1h').replace('{{id}}', 'x'), records, { http: byCursor(3) });
    expect([result.rows.length, result.failures, result.requests.length, result.credits]).toEqual([12, [], 3, 3]);
  });
});

describe('the nodes after a node with pages', () => {
  const detail = `  - { id: detail, type: http, url: "${origin}/detail/{{n}}", map: { d: d } }\n`;
  const detailed =
    (last: number, answer = ({ path }: SentRequest): object => ({ body: { d: `d${path.split('/').at(-1)}` } })) =>
    (request: SentRequest) =>
      request.path.startsWith('/detail') ? answer(request) : byCursor(last)(request);

  test('receive the records of all pages in order', async () => {
    const result = await run(paging(cursor, '', detail), detailed(3));
    expect(result.rows).toEqual([0, 1, 2, 3, 4, 5].map((n) => ({ id: 'a', n, d: `d${n}` })));
    expect([result.requests.length, result.credits]).toEqual([9, 9]);
  });

  test('receive the records in order even if later responses arrive first', async () => {
    const http = detailed(5, ({ path }) => ({ body: { d: path }, afterMs: 1000 - Number(path.split('/').at(-1)) * 50 }));
    const records = ['a', 'b', 'c'].map((id) => ({ id }));
    const { rows } = await runFlow(paging(cursor, '', detail), records, { http });
    expect(rows).toEqual(records.flatMap(({ id }) => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ({ id, n, d: `/detail/${n}` }))));
  });

  test('begin before the last page has arrived', async () => {
    const { requests } = await run(paging(cursor, '', detail), detailed(5));
    const paths = requests.map(({ path }) => path);
    expect(paths.indexOf('/detail/0')).toBeLessThan(paths.indexOf('/a?cursor=4'));
  });

  test('process a page while the next page is being requested', async () => {
    const http = detailed(6, ({ path }) => ({ body: { d: path }, afterMs: 100 }));
    const { requests } = await run(paging(cursor, '', detail), http);
    const moments = requests.filter(({ path }) => path.startsWith('/a')).map(({ atMs }) => atMs);
    expect(moments).toEqual([0, 0, 100, 200, 300, 400]);
  });

  test('can expand the records of a page into more rows', async () => {
    const parts = `  - { type: http, url: "${origin}/detail/{{n}}", map: { p: "parts[].p" } }\n`;
    const http = detailed(2, ({ path }) => ({ body: { parts: ['x', 'y'].map((p) => ({ p: p + path.at(-1) })) } }));
    const { rows } = await run(paging(cursor, '', parts), http);
    expect(rows.map(({ n, p }) => [n, p])).toEqual([0, 1, 2, 3].flatMap((n) => [`x${n}`, `y${n}`].map((p) => [n, p])));
  });

  test('can have the when option, and can be set nodes', async () => {
    const behind = `  - { type: set, when: n % 2 == 0, fields: { even: { cel: "n * 10" } }, remove: [id] }\n`;
    const { rows } = await run(paging(cursor, '', behind), byCursor(2));
    expect(rows).toEqual([
      { n: 0, even: 0 },
      { id: 'a', n: 1 },
      { n: 2, even: 20 },
      { id: 'a', n: 3 },
    ]);
  });

  test('can drop the records of one page and pass the other pages on', async () => {
    const behind = `  - { type: http, when: n < 2, url: "${origin}/none", when_empty: drop, map: { x: "x[]" } }\n`;
    const { rows } = await run(paging(cursor, '', behind), (request) => (request.path === '/none' ? { body: {} } : byCursor(2)(request)));
    expect(rows).toEqual([2, 3].map((n) => ({ id: 'a', n })));
  });

  test('stop the paging of a record once the record fails in one of them', async () => {
    const http = detailed(50, ({ path }) => (path.endsWith('/3') ? { status: 404, afterMs: 10 } : { body: {}, afterMs: 10 }));
    const { rows, failures, requests } = await run(paging(cursor, '', detail), http);
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([{ node: 'detail', class: 'http', status: 404, message: 'the server answered 404', attempts: 1 }]);
    expect(requests.filter(({ path }) => path.startsWith('/a')).length).toBeLessThan(6);
  });

  test('make the record fail on an error even if the node with pages has on_error: keep', async () => {
    const http = detailed(3, ({ path }) => (path.endsWith('/3') ? { status: 404 } : { body: {} }));
    const { rows, failures } = await run(paging(cursor, ', on_error: keep', detail), http);
    expect([rows, failures]).toMatchObject([[], [{ node: 'detail' }]]);
  });

  test('pass a failed row on if they have on_error: keep themselves', async () => {
    const http = detailed(2, ({ path }) => (path.endsWith('/1') ? { status: 404 } : { body: { d: 'd' } }));
    const { rows } = await run(paging(cursor, '', detail.replace('map:', 'on_error: keep, map:')), http);
    expect(rows).toMatchObject([{ d: 'd' }, { n: 1, _error: { node: 'detail' } }, { d: 'd' }, { d: 'd' }]);
  });

  test('use an idempotency key for each page, which is the same in every run', async () => {
    const behind = detail.replace('map:', 'method: POST, idempotency_key: true, map:');
    const keys = async () => {
      const { requests } = await run(paging(cursor, '', behind), detailed(3));
      const sent = requests.filter(({ path }) => path.startsWith('/detail'));
      return sent.map(({ path, headers }) => `${path} ${headers['Idempotency-Key']}`).sort();
    };
    const first = await keys();
    expect(new Set(first).size).toBe(6);
    expect(new Set(first.map((text) => text.slice('/detail/0'.length))).size).toBe(6);
    expect(await keys()).toEqual(first);
  });

  test('also receive the records that skip the node with pages', async () => {
    const records = [
      { id: 'a', ask: true },
      { id: 'b', ask: false },
    ];
    const { rows } = await runFlow(paging(cursor, ', when: ask'), records, { http: byCursor(1) });
    expect(rows).toEqual([
      { id: 'a', ask: true, n: 0 },
      { id: 'a', ask: true, n: 1 },
      { id: 'b', ask: false },
    ]);
  });

  test('fill batches with the records of several pages', async () => {
    const lookup = `  - id: lookup
    type: http
    method: POST
    url: ${origin}/lookup
    batch: { size: 3, items: "{{n}}" }
    body: { ids: "{{items}}" }
    map: { d: "found[]" }
`;
    const http = (request: SentRequest) => {
      if (request.path !== '/lookup') return byCursor(4)(request);
      return { body: { found: JSON.parse(String(request.body)).ids.map((n: number) => `d${n}`) } };
    };
    const records = ['a', 'b', 'c'].map((id) => ({ id }));
    const { rows, failures, ending } = await runFlow(paging(cursor, '', lookup), records, { http });
    expect([failures, ending]).toEqual([[], 'complete']);
    expect(rows).toEqual(records.flatMap(({ id }) => [0, 1, 2, 3, 4, 5, 6, 7].map((n) => ({ id, n, d: `d${n}` }))));
  });
});

describe("pages of pages (requested for each record of an earlier node's pages)", () => {
  const behind = `  - { id: inner, type: http, url: "${origin}/inner/{{n}}", paginate: { ${cursor} }, map: { m: "items[].n" } }\n`;

  test("are in the order of the first node's pages, and then of the second node's pages", async () => {
    const http = (request: SentRequest, index: number) => ({ ...byCursor(3)(request), afterMs: (index * 53) % 31 });
    const { rows, failures } = await runFlow(paging(cursor, '', behind), [{ id: 'a' }, { id: 'b' }], { http });
    expect(failures).toEqual([]);
    const expected = ['a', 'b'].flatMap((id) => [0, 1, 2, 3, 4, 5].flatMap((n) => [0, 1, 2, 3, 4, 5].map((m) => ({ id, n, m }))));
    expect(rows).toEqual(expected);
  });

  test('make the whole record fail if one of them fails', async () => {
    const http = (request: SentRequest) => (request.path === '/inner/3?cursor=2' ? { status: 410 } : byCursor(3)(request));
    const { rows, failures } = await run(paging(cursor, '', behind), http);
    expect([rows, failures]).toMatchObject([
      [],
      [{ node: 'inner', status: 410, message: 'page 3: the server answered 410 (2 pages had been read)' }],
    ]);
  });

  test('stay in order even if a page has many records', async () => {
    const many = Array.from({ length: 300 }, (_, n) => ({ n }));
    const http = (request: SentRequest) => (request.path === '/a' ? { body: { items: many, next: null } } : byCursor(2)(request));
    const { rows } = await run(paging(cursor, '', behind), http);
    expect(rows).toEqual(many.flatMap(({ n }) => [0, 1, 2, 3].map((m) => ({ id: 'a', n, m }))));
  });
});

describe('pages requested inside a loop', () => {
  const loop = (more = '', behind = '') => `nodes:
  - { type: set, fields: { part: 0 } }
  - type: loop
    while: part < 3
    carry: [part]
    ${more}
    nodes:
      - { id: pages, type: http, url: "${origin}/{{part}}", paginate: { ${cursor} }, ${map} }
      - { type: set, fields: { part: { cel: part + 1 } } }
${behind}`;
  const expected = [1, 2, 3].flatMap((part) => [0, 1, 2, 3].map((n) => ({ id: 'a', part, n })));

  test('are passed on in the order of the passes', async () => {
    const { rows, failures, requests } = await run(loop(), byCursor(2));
    expect([failures, rows, requests.length]).toEqual([[], expected, 6]);
  });

  test('are passed on only from the last pass if emit is "last"', async () => {
    expect((await run(loop('emit: last'), byCursor(2))).rows).toEqual(expected.slice(-4));
  });

  test('are passed on to the nodes after the loop', async () => {
    const behind = `  - { type: http, url: "${origin}/detail/{{part}}/{{n}}", map: { d: d } }\n`;
    const http = (request: SentRequest) => (request.path.startsWith('/detail') ? { body: { d: request.path } } : byCursor(2)(request));
    const { rows } = await run(loop('', behind), http);
    expect(rows).toEqual(expected.map((row) => ({ ...row, d: `/detail/${row.part}/${row.n}` })));
  });

  test('make the record fail with the id of a later node if that node fails', async () => {
    const behind = `  - { id: behind, type: http, url: "${origin}/detail/{{part}}/{{n}}", map: { d: d } }\n`;
    const http = (request: SentRequest) => (request.path === '/detail/2/3' ? { status: 404 } : byCursor(2)(request));
    const { rows, failures } = await run(loop('on_error: keep', behind), http);
    expect([rows, failures]).toMatchObject([[], [{ node: 'behind', status: 404 }]]);
  });

  test('make the record fail with the id of the inner node if one of them fails', async () => {
    const { rows, failures } = await run(loop(), (request) => (request.path === '/1?cursor=1' ? { status: 404 } : byCursor(2)(request)));
    expect([rows, failures]).toMatchObject([
      [],
      [{ node: 'pages', status: 404, message: 'page 2: the server answered 404 (1 page had been read)' }],
    ]);
  });

  const behindPages = [
    `{ id: pages, type: http, url: "${origin}/{{part}}", paginate: { ${cursor} }, ${map} }`,
    `{ type: http, url: "${origin}/v/{{n}}", map: { v: v } }`,
    `{ type: http, url: "${origin}/w/{{n}}", map: { w: w } }`,
  ].join(', ');
  test.each([
    [0, behindPages],
    [30, behindPages],
    [300, behindPages],
    [30, `{ type: loop, while: "false", nodes: [${behindPages}] }`],
  ])('are kept if a later page fails and on_error is "keep" (later nodes: %i ms, %s)', async (afterMs, nodes) => {
    const flow = `nodes:
  - { type: set, fields: { part: 0 } }
  - type: loop
    while: part < 3
    carry: [part]
    on_error: keep
    nodes: [${nodes}, { type: set, fields: { part: { cel: part + 1 } } }]
`;
    const http = (request: SentRequest) => {
      if (/^.[vw]/.test(request.path)) return { afterMs, body: { v: 'V', w: 'W' } };
      return request.path === '/1?cursor=2' ? { afterMs: 20, status: 422 } : { afterMs: 20, ...byCursor(4)(request) };
    };
    const { rows, failures } = await run(flow, http);
    const firstPass = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => ({ id: 'a', part: 1, n, v: 'V', w: 'W' }));
    const secondPass = [0, 1, 2, 3].map((n) => ({ id: 'a', part: 2, n, v: 'V', w: 'W' }));
    expect([failures, rows.slice(0, -1)]).toEqual([[], [...firstPass, ...secondPass]]);
    expect(rows.at(-1)).toMatchObject({ _error: { node: 'pages', status: 422 } });
  });

  test('have an idempotency key for each page in each pass', async () => {
    const flow = loop().replace('paginate:', 'method: POST, idempotency_key: true, paginate:');
    const keys = (await run(flow, byCursor(2))).requests.map(({ headers }) => headers['Idempotency-Key']);
    expect(new Set(keys).size).toBe(6);
  });

  test('stay in order even if the loop is inside another loop', async () => {
    const inner = (
      await run(
        `nodes:
  - { type: set, fields: { outer: 0 } }
  - type: loop
    while: outer < 2
    carry: [outer]
    nodes:
      - { type: set, fields: { outer: { cel: outer + 1 }, part: 0 } }
      - type: loop
        while: part < 2
        carry: [part]
        nodes:
          - { type: http, url: "${origin}/x", paginate: { ${cursor} }, ${map} }
          - { type: set, fields: { part: { cel: part + 1 } } }
`,
        byCursor(2),
      )
    ).rows;
    expect(inner.map(({ outer, part, n }) => `${outer}${part}${n}`)).toEqual(
      ['11', '12', '21', '22'].flatMap((passes) => [0, 1, 2, 3].map((n) => passes + n)),
    );
  });

  test('are all requested anew by an outer poll until its condition is true', async () => {
    const flow = `nodes:
  - type: poll
    until: state == "done"
    nodes: [{ type: http, url: "${origin}/{{id}}", paginate: { ${cursor} }, map: { state: "items[].state" } }]
`;
    let asked = 0;
    const http = ({ path }: SentRequest) => {
      if (path === '/a') return { body: { items: [{ state: 'done' }], next: 1 } };
      return { body: { items: [{ state: ++asked < 3 ? 'busy' : 'done' }] } };
    };
    const { rows, requests } = await run(flow, http);
    expect([rows, requests.length]).toEqual([
      [
        { id: 'a', state: 'done' },
        { id: 'a', state: 'done' },
      ],
      6,
    ]);
  });
});

describe('the check of a flow with pages', () => {
  const problems = (yaml: string, header: readonly string[] = ['id']) => flowProblems(yaml, { header }).map(onOneLine);

  test('accepts a correct flow', () => {
    for (const paginate of [cursor, nextUrl, page, 'type: link_header', 'type: offset, size: 10, items: "x[]"']) {
      expect(problems(paging(paginate))).toEqual([]);
    }
  });

  test.each([
    ['type: page', 'the key "items" is missing'],
    ['type: offset, items: items', 'the key "size" is missing'],
    ['type: offset, size: 10', 'the key "items" is missing'],
    ['type: cursor, path: next', 'the key "param" is missing'],
    ['type: next_url', 'the key "path" is missing'],
    ['path: next', 'expected the type'],
    ['type: cusror, path: a, param: b', 'did you mean "cursor"?'],
    ['type: link-header', 'did you mean "link_header"?'],
    [`${cursor}, itms: items`, 'unknown key "itms"'],
    [`${page}, parm: p`, 'unknown key "parm"; did you mean "param"?'],
    [`${nextUrl}, param: p`, 'unknown key "param"'],
    [`${cursor}, max: 0`, 'expected'],
    [`${cursor}, max: 1.5`, 'expected'],
    [`${cursor}, max: many`, 'expected'],
    [`${cursor}, max: 1000001`, 'expected'],
    ['type: page, items: items, start: -1', 'expected'],
    ['type: offset, items: items, size: 0', 'expected'],
    ['type: cursor, path: next, param: ""', 'expected the name of a query parameter'],
    ['type: cursor, path: "a[", param: c', 'path'],
  ])('refuses %s', (paginate, message) => {
    const [problem, ...more] = problems(paging(paginate));
    expect([problem, more]).toEqual([expect.stringContaining(message), []]);
    expect(problem).toMatch(/^2:\d\d+ /);
  });

  test.each([
    ['type: cursor, path: "a[].b", param: c', '2:79 expected a path to one value, found "a[].b", which leads to several'],
    ['type: next_url, path: "a[].b"', '2:79 expected a path to one value, found "a[].b", which leads to several'],
    ['type: page, items: "a[].b"', '2:79 expected a path to one array, such as results, found "a[].b"'],
    ['type: page, items: "a[][]"', '2:79 expected a path to one array, such as results, found "a[][]"'],
    ['type: page, items: $status', '2:79 expected a path to one array, such as results, found "$status"'],
  ])('refuses an unsuitable path: %s', (paginate, problem) => {
    expect(problems(paging(paginate))).toEqual([problem]);
  });

  test('refuses pages in a node with batches', () => {
    const flow = paging(cursor, ', method: POST, body: ["{{items}}"], batch: { items: "{{id}}" }');
    expect(problems(flow)).toEqual([
      expect.stringMatching(/^2:\d+ a batch has one answer for all its records; leave paginate or batch out$/),
    ]);
  });

  test('allows later nodes to refer to fields from the pages', () => {
    const behind = `  - { type: http, url: "${origin}/{{n}}/{{m}}" }\n`;
    expect(problems(paging(cursor, '', behind))).toEqual([expect.stringContaining('no record has a field "m" here')]);
  });
});
