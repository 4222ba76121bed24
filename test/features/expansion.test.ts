import { describe, expect, test } from 'vitest';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

/** Returns a flow that expands every record into as many rows as its field `parts` says. Each row makes a request. */
const flow = (more = '') => `nodes:
  - { id: split, type: http, url: "https://api.example.com/split/{{parts}}", map: { part: "parts[]" }, when_empty: drop }
  - { id: each, type: http, url: "https://api.example.com/{{id}}/{{part}}", map: { value: value }${more} }
  - { type: set, fields: { label: "{{id}}-{{part}}" } }`;

/** Responds with the parts, and responds to each row with the row's path. Paths in `broken` get a 404. */
const answering =
  (broken: readonly string[] = []): FlowOptions['http'] =>
  ({ path }) => {
    const [, first, second] = path.split('/');
    if (first === 'split') return { body: { parts: Array.from({ length: Number(second) }, (_, index) => index) } };
    const afterMs = (100 - Number(second)) % 7;
    return broken.includes(path) ? { status: 404, afterMs } : { body: { value: path }, afterMs };
  };

describe('the rows of an expanded record', () => {
  test('stay in order, and the records do too', async () => {
    const { rows, requests } = await runFlow(
      flow(),
      [
        { id: 'a', parts: 3 },
        { id: 'b', parts: 1 },
        { id: 'c', parts: 150 },
      ],
      { http: answering() },
    );
    const expected = [...['a-0', 'a-1', 'a-2', 'b-0'], ...Array.from({ length: 150 }, (_, part) => `c-${part}`)];
    expect(rows.map(({ label }) => label)).toEqual(expected);
    expect(requests).toHaveLength(3 + expected.length);
  });

  test('do not exist if the array is empty', async () => {
    const { rows, failures, events } = await runFlow(
      flow(),
      [
        { id: 'a', parts: 0 },
        { id: 'b', parts: 1 },
      ],
      { http: answering() },
    );
    expect(rows.map(({ label }) => label)).toEqual(['b-0']);
    expect(failures).toEqual([]);
    expect(events.filter(({ type }) => type === 'record-done')).toEqual([
      { type: 'record-done', record: 1, rows: 0 },
      { type: 'record-done', record: 2, rows: 1 },
    ]);
  });

  test('all fail with their record if one of them fails: no row is written', async () => {
    const { rows, failures } = await runFlow(
      flow(),
      [
        { id: 'a', parts: 5 },
        { id: 'b', parts: 2 },
      ],
      { http: answering(['/a/1', '/a/3']) },
    );
    expect(rows.map(({ label }) => label)).toEqual(['b-0', 'b-1']);
    expect(failures).toMatchObject([{ record: 1, node: 'each', class: 'http', status: 404, fields: { id: 'a', parts: 5 } }]);
    expect(failures[0]?.fields).toEqual({ id: 'a', parts: 5 });
  });

  test('send no more requests after one of them has failed', async () => {
    const { requests } = await runFlow(flow(', concurrency: 1'), [{ id: 'a', parts: 500 }], { http: answering(['/a/0']) });
    expect(requests.length).toBeLessThan(70);
  });

  test('fail the record as soon as one of them fails, even while a different row waits', async () => {
    const http: FlowOptions['http'] = (request, index) =>
      request.path === '/a/0' ? { status: 503 } : (answering(['/a/1'])?.(request, index) ?? {});
    const { ending, failures, requests } = await runFlow(flow(), [{ id: 'a', parts: 2 }], { http });
    expect([ending, failures.map(({ status }) => status)]).toEqual(['complete', [404]]);
    expect(requests.map(({ path }) => path)).toEqual(['/split/2', '/a/0', '/a/1']);
  });

  test('are passed on one by one if on_error is "keep"', async () => {
    const { rows, failures, events } = await runFlow(flow(', on_error: keep'), [{ id: 'a', parts: 3 }], { http: answering(['/a/1']) });
    expect(failures).toEqual([]);
    expect(rows).toEqual([
      { id: 'a', parts: 3, part: 0, value: '/a/0', label: 'a-0' },
      {
        id: 'a',
        parts: 3,
        part: 1,
        label: 'a-1',
        _error: { node: 'each', class: 'http', status: 404, message: 'the server answered 404', attempts: 1, record: 1 },
      },
      { id: 'a', parts: 3, part: 2, value: '/a/2', label: 'a-2' },
    ]);
    expect(events.filter(({ type }) => type === 'record-passed-through')).toHaveLength(1);
  });

  test('make the run end if one of them fails and on_error is "stop"', async () => {
    const { ending, failures, rows } = await runFlow(
      flow(', on_error: stop'),
      [
        { id: 'a', parts: 1 },
        { id: 'b', parts: 3 },
      ],
      { http: answering(['/b/1']) },
    );
    expect(ending).toBe('on-error-stop');
    expect(rows.map(({ label }) => label)).toEqual(['a-0']);
    expect(failures).toMatchObject([{ record: 2 }]);
  });

  test('have their own idempotency keys, which are the same for every attempt', async () => {
    const keys = new Map<string, Set<string>>();
    const http: FlowOptions['http'] = (request, index) => {
      const known = keys.get(request.path) ?? new Set();
      keys.set(request.path, known.add(request.headers['Idempotency-Key'] ?? ''));
      return index === 3 ? { status: 503 } : (answering() as NonNullable<FlowOptions['http']>)(request, index);
    };
    await runFlow(
      flow(', idempotency_key: true'),
      [
        { id: 'a', parts: 3 },
        { id: 'b', parts: 2 },
      ],
      { http },
    );
    const used = [...keys].filter(([path]) => !path.startsWith('/split')).map(([, known]) => [...known]);
    expect(used.every((known) => known.length === 1)).toBe(true);
    expect(new Set(used.flat()).size).toBe(5);
  });
});

test('the shared failure of a cached request is reported for each record that waited for it', async () => {
  const cached = 'nodes: [{ id: look, type: http, url: "https://api.example.com/same", cache: 1h }]';
  const { failures, requests, credits } = await runFlow(cached, [{ id: 1 }, { id: 2 }, { id: 3 }], {
    http: () => ({ status: 404, afterMs: 5 }),
  });
  expect(failures.map(({ record, node, status }) => [record, node, status])).toEqual([1, 2, 3].map((record) => [record, 'look', 404]));
  expect([requests.length, credits]).toEqual([1, 1]);
});

test('the shared failure of a cached request is reported for each node that uses it', async () => {
  const nodes = [0, 1].map((id) => `  - { id: n${id}, type: http, url: "https://api.example.com/same", cache: 1h, when: id == ${id} }\n`);
  const { failures, requests } = await runFlow(`nodes:\n${nodes.join('')}`, [{ id: 0 }, { id: 1 }], {
    http: () => ({ status: 404, afterMs: 5 }),
  });
  expect([failures.map(({ node }) => node), requests.length]).toEqual([['n0', 'n1'], 1]);
});
