import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

/** Returns a flow with a loop over pages with a cursor. */
function pages(options: string, more = '') {
  return `nodes:
  - { type: set, fields: { cursor: "" } }
  - type: loop
    while: cursor != null
    carry: [cursor]
    ${options}
    nodes:
      - { id: page, type: http, url: "https://api.example.com/{{id}}?cursor={{cursor}}", map: { cursor: next, item: "items[].n" } }
${more}`;
}

/** Responds with two items on each page, and a cursor that counts up to `last`. */
const cursors =
  (last: number, next = (page: number): unknown => page + 1) =>
  ({ url }: { url: string }) => {
    const page = Number(new URL(url).searchParams.get('cursor') || 0);
    return { body: { next: page < last ? next(page) : null, items: [{ n: page * 2 }, { n: page * 2 + 1 }] } };
  };

describe('a loop node', () => {
  test('repeats while its condition is true, and passes on the records of every pass', async () => {
    const { rows, requests, credits } = await runFlow(pages(''), [{ id: 'a' }], { http: cursors(2) });
    expect(rows.map(({ item }) => item)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(requests.map(({ path }) => path)).toEqual(['/a?cursor=', '/a?cursor=1', '/a?cursor=2']);
    expect(credits).toBe(3);
  });

  test('passes on only the records of the last pass if emit is "last"', async () => {
    const { rows } = await runFlow(pages('emit: last'), [{ id: 'a' }], { http: cursors(2) });
    expect(rows.map(({ item }) => item)).toEqual([4, 5]);
  });

  test.each([
    [1, '1 pass'],
    [3, '3 passes'],
    [100, '100 passes'],
  ])('fails a record that needs more passes than max, which is 100 by default (max: %i)', async (max, passes) => {
    const { rows, failures, requests } = await runFlow(pages(max === 100 ? '' : `max: ${max}`), [{ id: 'a' }], { http: cursors(200) });
    expect([rows, requests.length]).toEqual([[], max]);
    expect(failures).toMatchObject([{ node: 'loop-2', class: 'mapping', message: `the loop is not finished after ${passes} (max)` }]);
  });

  test('begins each pass with the original record and the fields listed in carry', async () => {
    const flow = `nodes:
  - type: loop
    while: more
    carry: [more]
    nodes:
      - { type: http, method: POST, url: "https://api.example.com/{{id}}", body: { more: "{{more}}" }, map: { more: more } }
      - { type: set, fields: { id: "{{id}}{{id}}" } }`;
    const { requests } = await runFlow(flow, [{ id: 'a', more: 0 }], { http: (_, index) => ({ body: { more: index === 0 } }) });
    expect(requests.map(({ path, body }) => [path, body])).toEqual([
      ['/a', '{"more":0}'],
      ['/a', '{"more":true}'],
    ]);
  });

  test('carries null to the next pass if a field in carry is missing', async () => {
    const flow = `nodes:
  - type: loop
    while: more
    carry: [token]
    nodes:
      - { type: http, method: POST, url: "https://api.example.com/", body: { from: "{{token}}" }, map: { more: more } }
      - { type: set, when: "true", remove: [token] }`;
    const { requests } = await runFlow(flow, [{ token: 'a' }], { http: (_, index) => ({ body: { more: index === 0 } }) });
    expect(requests.map(({ body }) => body)).toEqual(['{"from":"a"}', '{"from":null}']);
  });

  test('suggests the carry option in the message if carry is empty and no pass makes progress', async () => {
    const { failures } = await runFlow(pages('max: 3').replace('carry: [cursor]', 'carry: []'), [{ id: 'a' }], { http: cursors(9) });
    const advice = 'every pass began in the same way: under carry, list the fields that each pass gets from the one before';
    expect(failures).toMatchObject([{ message: `the loop is not finished after 3 passes (max)\n${advice}` }]);
  });

  test.each([
    ['the same page again', (page: number) => page, 1, 'pass 1 ends with what the loop began with: cursor = 0'],
    ['an earlier page', (page: number) => (page === 2 ? 1 : page + 1), 3, 'pass 3 ends with what pass 1 ended with: cursor = 1'],
  ])('fails a record if the server responds with %s', async (_, next, sent, message) => {
    const flow = pages('').replace('cursor: ""', 'cursor: 0');
    const { failures, requests } = await runFlow(flow, [{ id: 'a' }], { http: cursors(9, next) });
    expect(requests).toHaveLength(sent);
    expect(failures).toMatchObject([{ class: 'mapping', message: `the loop makes no progress: ${message}` }]);
  });

  test("fails the whole record if an inner node fails, and reports the inner node's id", async () => {
    const { rows, failures } = await runFlow(pages(''), [{ id: 'a' }], {
      http: (request, index) => (index === 1 ? { status: 404 } : cursors(2)(request)),
    });
    expect([rows, failures]).toMatchObject([[], [{ node: 'page', class: 'http', status: 404, attempts: 1 }]]);
  });

  test('mentions the earlier failure that left a field of the condition missing', async () => {
    const flow =
      'nodes: [{ type: loop, while: n > 1, nodes: [{ id: ask, type: http, url: "https://a.com/", on_error: keep, map: { n: n } }] }]';
    const { failures } = await runFlow(flow, [{ id: 'a' }], { http: () => ({ status: 404 }) });
    const message = 'while: the record has no field "n"; before, ask: the server answered 404';
    expect(failures).toMatchObject([{ node: 'loop-1', class: 'template', message }]);
  });

  test.each([
    ['each', [404, 404]],
    ['last', [404]],
  ])('reports the failures of records that an inner node with on_error: keep passed on (emit: %s)', async (emit, statuses) => {
    const flow = pages(`emit: ${emit}`)
      .replace('{ cursor: ""', '{ cursor: 0')
      .replace('while: cursor != null', 'while: cursor < 2')
      .replace('nodes:\n      -', 'nodes:\n      - { type: set, fields: { cursor: { cel: cursor + 1 } } }\n      -')
      .replace('map:', 'on_error: keep, map:');
    const { rows, events } = await runFlow(flow, [{ id: 'a' }], { http: () => ({ status: 404 }) });
    expect(rows.map(({ _error }) => _error)).toMatchObject(statuses.map((status) => ({ status })));
    expect(events.filter(({ type }) => type === 'record-passed-through')).toMatchObject(statuses.map((status) => ({ status })));
  });

  const slowly = (request: { url: string }) => ({ ...cursors(2)(request), headers: { 'retry-after': '2' } });

  test('pauses all calls to the server if an inner response has a Retry-After', async () => {
    const { requests } = await runFlow(pages(''), [{ id: 'a' }], { http: slowly });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 2000, 4000]);
  });

  test("waits as long as an inner response's Retry-After requires, even inside a poll", async () => {
    const flow = `nodes:
  - type: poll
    until: cursor == null
    nodes:
      - { type: set, fields: { pass: "{{pass}}1" } }
      - { type: loop, while: "false", emit: last, nodes: [{ type: http, url: "https://api.example.com/", map: { cursor: next } }] }
`;
    let asked = 0;
    const { requests } = await runFlow(flow, [{ pass: '' }], {
      http: () => ({ body: { next: ++asked < 3 ? 1 : null }, headers: { 'retry-after': '2' } }),
    });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 2000, 4000]);
  });

  test('ends after a pass that produces no records', async () => {
    const flow = pages('').replace('map:', 'when_empty: drop, map:');
    const { rows } = await runFlow(flow, [{ id: 'a' }], { http: () => ({ body: { next: 1, items: [] } }) });
    expect(rows).toEqual([]);
  });

  test('can be inside another loop', async () => {
    const flow = `nodes:
  - { type: set, fields: { outer: 0 } }
  - type: loop
    while: outer < 2
    carry: [outer]
    nodes:
      - { type: set, fields: { outer: { cel: outer + 1 }, inner: 0 } }
      - type: loop
        while: inner < 2
        carry: [inner]
        nodes:
          - { type: set, fields: { inner: { cel: inner + 1 } } }
`;
    const { rows } = await runFlow(flow, [{ id: 'a' }]);
    expect(rows.map(({ outer, inner }) => [outer, inner])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ]);
  });

  test('creates an idempotency key for each pass, which is the same in every run', async () => {
    const flow = pages('').replace('map:', 'idempotency_key: true, map:');
    const keys = async () =>
      (await runFlow(flow, [{ id: 'a' }], { http: cursors(2) })).requests.map(({ headers }) => headers['Idempotency-Key']);
    const first = await keys();
    expect(new Set(first).size).toBe(3);
    expect(await keys()).toEqual(first);
  });

  test('leaves a record for a later run if the credits are used up', async () => {
    const { rows, failures, ending, requests } = await runFlow(pages(''), [{ id: 'a' }], { http: cursors(9), credits: 2 });
    expect([rows, failures, ending, requests.length]).toEqual([[], [], 'max-credits', 2]);
  });
});

describe('the check of a flow with a loop', () => {
  const problems = (yaml: string, header: readonly string[]) => flowProblems(yaml, { header }).map(onOneLine);

  test('allows references to fields that exist before the loop or come from earlier inner nodes', () => {
    expect(problems(pages(''), ['id'])).toEqual([]);
    expect(problems(pages(''), ['ID'])).toEqual(['8:63 no record has a field "id" here; did you mean "ID"?']);
    expect(problems(pages('').replace('fields: { cursor: "" }', 'fields: { other: "" }'), ['id'])).toEqual([
      expect.stringContaining('no record has a field "cursor" here'),
    ]);
  });

  test('allows while and carry to refer to fields that exist at the end of a pass', () => {
    const flow = pages('').replace('while: cursor', 'while: curser').replace('carry: [cursor]', 'carry: [cursor, last]');
    expect(problems(flow, ['id'])).toEqual([
      '4:12 no record has a field "curser" here; did you mean "cursor"?',
      expect.stringMatching(/^5:21 no record has a field "last" here/),
    ]);
  });

  test('allows later nodes to refer to fields from the loop', () => {
    const behind = '  - { type: http, url: "https://api.example.com/{{item}}/{{nothing}}" }\n';
    expect(problems(pages('', behind), ['id'])).toEqual([expect.stringContaining('no record has a field "nothing" here')]);
  });

  test('reports problems of inner nodes with their position, and duplicate ids', () => {
    const flow = `nodes:
  - id: a
    type: loop
    while: x == 1
    nodes:
      - { id: a, type: htp }
      - { id: a, type: set, filds: {} }
      - { type: poll, nodes: [] }
`;
    expect(flowProblems(flow).map(onOneLine)).toEqual([
      '6:24 no node type "htp"; did you mean "http"?',
      '7:15 two nodes have the id "a"',
      '7:29 unknown key "filds"; did you mean "fields"?',
      '8:9 the key "until" is missing',
      '8:30 expected at least one node, found an empty list',
    ]);
  });

  test.each([
    ['an invalid condition', 'type: loop, while: "x =", ', '4:29'],
    ['no condition', 'type: poll, ', '4:5'],
    ['a misspelt type', 'type: lopo, ', '4:13'],
  ])('reports problems of inner nodes even if the outer node has %s', (_what, broken, place) => {
    const flow = `nodes:
  - type: http
    url: https://a.com
  - { ${broken}nodes: [{ type: http, url: "https://b.com", timeout: soon }] }
`;
    const problems = flowProblems(flow).map(onOneLine);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(new RegExp(`^${place} `));
    expect(problems[1]).toMatch(/^4:\d+ expected a duration .*found "soon"$/);
  });
});
