import { expect, test } from 'vitest';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

const origin = 'https://api.example.com';
const node = (id: string, more: string) => `{ id: ${id}, type: http, url: "${origin}/${id}/{{k}}", ${more} }`;
const pages = (id: string) => node(id, 'paginate: { type: cursor, path: next, param: c }, map: { k: "items[]" }');
const batch = (size: number, key = '') =>
  `{ id: b, type: http, method: POST, url: "${origin}/b${key}", batch: { size: ${size}, items: "{{k}}", match: { field: k, path: "results[].k" } }, body: { ks: "{{items}}" }, map: { v: "results[].v" } }`;
const flow = (...nodes: string[]) => `nodes:\n${nodes.map((text) => `  - ${text}\n`).join('')}`;

/** Responds with pages that have `items` items each and lead to the next page. */
function server(pageCount: number, items: number) {
  return (request: SentRequest) => {
    if (request.method === 'POST') {
      const { ks } = JSON.parse(request.body ?? '{}') as { ks: string[] };
      return { body: { results: ks.map((k) => ({ k, v: `v ${k}` })) } };
    }
    const page = Number(/c=(\d+)/.exec(request.path)?.[1] ?? 1);
    const [path] = request.path.split('?');
    const own = Array.from({ length: items }, (_, index) => `${path?.split('/').at(-1)}${page}${index}`);
    return { body: { items: own, next: page < pageCount ? page + 1 : null } };
  };
}

const sizes = (requests: readonly SentRequest[]) =>
  requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body ?? '').ks.length);

test('records from nested pages all reach a batch in a later node, without a deadlock', async () => {
  const { rows, requests } = await runFlow(flow(pages('a'), pages('c'), batch(10)), [{ k: 'x' }], { http: server(2, 2) });
  expect(rows).toHaveLength(16);
  expect(sizes(requests)).toEqual([10, 6]);
});

test('records from many small pages share full batches', async () => {
  const { requests } = await runFlow(flow(pages('a'), batch(100)), [{ k: 'x' }], { http: server(60, 5) });
  expect(sizes(requests)).toEqual([100, 100, 100]);
});

test('records from the pages of different rows share full batches', async () => {
  const expanding = node('e', 'map: { k: "items[]" }');
  const { requests, rows } = await runFlow(flow(expanding, pages('a'), batch(10)), [{ k: 'x' }], { http: server(1, 20) });
  expect(rows).toHaveLength(400);
  expect(sizes(requests)).toEqual(Array.from({ length: 40 }, () => 10));
});

test('batches with different request URLs are sent at the same time', async () => {
  const records = Array.from({ length: 32 }, (_, index) => ({ k: `k${index}` }));
  const polled = `{ type: poll, until: v != null, nodes: [${batch(10, '/{{k}}')}] }`;
  const { waitedMs } = await runFlow(flow(polled), records, { http: (request) => ({ ...server(1, 1)(request), afterMs: 200 }) });
  expect(waitedMs).toBe(400);
});

test('a record that has failed sends no more requests', async () => {
  const slow = node('s', 'map: { v: v }');
  const { requests, events, failures } = await runFlow(flow(pages('a'), slow), [{ k: 'x' }, { k: 'y' }], {
    http: (request) => {
      if (request.path.startsWith('/s/')) return { body: { v: 1 }, afterMs: 300 };
      if (request.path.startsWith('/a/x?c=2')) return { status: 404 };
      return request.path.startsWith('/a/y') ? { body: { items: ['z'], next: null }, afterMs: 5000 } : server(3, 100)(request);
    },
  });
  expect(failures).toMatchObject([{ record: 1, node: 'a', status: 404 }]);
  expect(requests.filter(({ path }) => path.startsWith('/s/x')).length).toBeLessThanOrEqual(16);
  const failed = events.findIndex(({ type }) => type === 'record-failed');
  expect(events.slice(failed).filter((event) => event.type === 'call-done' && event.record === 1)).toEqual([]);
});
