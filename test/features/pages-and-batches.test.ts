import { expect, test } from 'vitest';
import { byCursor, cursor, origin, paging } from '../helpers/paging.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

const lookup = `{ id: lookup, type: http, method: POST, url: "${origin}/lookup", batch: { size: 3, items: "{{n}}" }, body: { ids: "{{items}}" }, map: { d: "found[]" } }`;

/** Responds with `pages` pages of two items, and to batch requests with the result of `looksUp`. */
const answering = (pages: number, looksUp: (ids: number[]) => object) => (request: SentRequest) =>
  request.path === '/lookup' ? looksUp(JSON.parse(String(request.body)).ids) : { ...byCursor(pages)(request), afterMs: 10 };

test('a batch in a loop is sent although records that could still join it wait for its response', async () => {
  const inner = `{ type: http, url: "${origin}/inner/{{n}}", paginate: { ${cursor} }, map: { n: "items[].n" } }`;
  const behind = `  - { type: set, fields: { pass: 0 } }
  - type: loop
    while: pass < 2
    carry: [pass]
    nodes: [{ type: set, fields: { pass: { cel: pass + 1 } } }, ${inner}, ${lookup}]
`;
  const http = answering(2, (ids) => ({ body: { found: ids.map((n) => `d${n}`) } }));
  const { rows, ending } = await runFlow(paging(cursor, '', behind), [{ id: 'a' }], { http });
  expect([rows.length, ending]).toEqual([4 * 2 * 4, 'complete']);
}, 5000);

test('a record that fails after a node with pages ends when its last request has ended', async () => {
  const http = answering(30, (ids) => {
    if (ids.includes(4)) return { status: 404, afterMs: 15 };
    return { body: { found: ids.map((n) => `d${n}`) }, afterMs: 1000 };
  });
  const { rows, failures, requests, credits } = await runFlow(paging(cursor, '', `  - ${lookup}\n`), [{ id: 'a' }], { http });
  expect([rows, failures]).toMatchObject([[], [{ node: 'lookup', status: 404 }]]);
  expect(credits).toBe(requests.length);
});
