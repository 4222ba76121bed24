import { expect, test } from 'vitest';
import { planFor } from '../helpers/flow-problems.ts';
import { byId, listIn, records } from '../helpers/lookups.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

const names = (request: SentRequest) => ({
  body: { results: listIn(request).map((id) => ({ id, name: `name ${id}`, state: request.atMs > 0 ? 'done' : 'working' })) },
});
const ask = (batch: string, { url = '', body = '{ ids: "{{items}}" }' } = {}) =>
  `{ id: ask, type: http, method: POST, url: "https://api.example.com/${url}", batch: { ${batch}, items: "{{id}}", ${byId} }, body: ${body}, map: { name: "results[].name", state: "results[].state" } }`;
const asked = ({ requests }: { requests: readonly SentRequest[] }) =>
  requests.flatMap((request) => (request.method === 'POST' ? [[request.atMs, listIn(request).length]] : []));

test('a batch can consist of one record', async () => {
  const result = await runFlow(`nodes:\n  - ${ask('size: 1')}\n`, records(3), { http: names });
  expect([asked(result).length, result.credits, result.rows.length]).toEqual([3, 3, 3]);
});

test.each([false, true])(
  'batches larger than the window of records are still filled, except the last one (unordered: %s)',
  async (unordered) => {
    const result = await runFlow(`nodes:\n  - ${ask('size: 3000')}\n`, records(10_000), {
      http: names,
      batch: 256,
      unordered,
      concurrency: 1,
    });
    expect(asked(result).map(([, size]) => size)).toEqual([3000, 3000, 3000, 1000]);
  },
);

test('records that wait equally long in a poll also share a batch in the next pass', async () => {
  const result = await runFlow(
    `nodes:\n  - { type: poll, every: 5s, until: 'state == "done"', nodes: [${ask('size: 10')}] }\n`,
    records(25),
    { http: names },
  );
  expect(asked(result)).toEqual([
    [0, 10],
    [0, 10],
    [0, 5],
    [5000, 10],
    [5000, 10],
    [5000, 5],
  ]);
});

test('in a loop with two batches, the first is sent, and its records then join the second', async () => {
  const flow = `nodes:
  - type: loop
    while: "false"
    nodes:
      - ${ask('size: 100', { url: 'a' }).replace('id: ask,', 'id: a, when: id.endsWith("1") || id.endsWith("2"),')}
      - ${ask('size: 100', { url: 'b' }).replace('id: ask,', 'id: b,')}
`;
  const { requests } = await runFlow(flow, records(30), { http: names });
  expect(requests.map((request) => [request.path, listIn(request).length])).toEqual([
    ['/a', 6],
    ['/b', 30],
  ]);
});

test('records that leave a poll at different times still share a batch in a later node', async () => {
  const seen = new Map<string, number>();
  const flow = `nodes:
  - { type: poll, every: 5s, until: s == "done", nodes: [{ type: http, url: "https://api.example.com/{{id}}", map: { s: s } }] }
  - ${ask('size: 100')}
`;
  const result = await runFlow(flow, records(20), {
    http: (request) => {
      if (request.method === 'POST') return names(request);
      const times = (seen.get(request.path) ?? 0) + 1;
      seen.set(request.path, times);
      return { body: { s: times > Number(request.path.slice(2)) % 4 ? 'done' : 'working' } };
    },
  });
  expect(asked(result)).toEqual([[15_000, 20]]);
});

test('records from numbered pages and from pages with a cursor share a batch', async () => {
  const flow = `nodes:
  - { type: http, url: "https://api.example.com/p", map: { id: "ids[]" }, paginate: { type: page, param: c, start: 0, items: ids } }
  - ${ask('size: 100')}
`;
  const result = await runFlow(flow, [{ a: 1 }], {
    http: (request) => {
      const page = Number(/c=(\d+)/.exec(request.path)?.[1] ?? 0);
      return request.method === 'POST'
        ? names(request)
        : { body: { ids: page > 19 ? [] : Array.from({ length: 10 }, (_, id) => `${page * 10 + id}`) } };
    },
  });
  expect(asked(result).map(([, size]) => size)).toEqual([100, 100]);
});

test('{{items}} in the URL of a node with batches refers to the record\'s field "items"', async () => {
  const { requests } = await runFlow(
    `nodes:\n  - ${ask('size: 9', { url: '{{items}}' })}\n`,
    [
      { id: 1, items: 'x' },
      { id: 2, items: 'y' },
    ],
    { http: names },
  );
  expect(requests.map(({ path, body }) => [path, body])).toEqual([
    ['/x', '{"ids":[1]}'],
    ['/y', '{"ids":[2]}'],
  ]);
});

test('max_bytes limits the whole body, even if the body contains the list several times', async () => {
  const body = '{ ids: "{{items}}", text: "ids: {{items}}" }';
  const { requests } = await runFlow(
    `nodes:\n  - ${ask('max_bytes: 60', { body })}\n`,
    Array.from({ length: 10 }, (_, id) => ({ id: `"${id}` })),
    { http: names },
  );
  for (const request of requests) expect(request.body?.length).toBeLessThanOrEqual(60);
});

test('the condition of a loop or poll does not treat a mapped value as a CSV cell', () => {
  const inner = 'nodes: [{ type: http, url: "https://a.com", map: { progress: progress } }]';
  expect(planFor(`nodes: [{ type: poll, until: progress == 100, ${inner} }]`).warnings()).toEqual([]);
  expect(planFor(`nodes: [{ type: loop, while: progress != 100, ${inner} }]`).warnings()).toEqual([]);
});
