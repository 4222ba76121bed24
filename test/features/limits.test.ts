import { describe, expect, test } from 'vitest';
import { compilePath } from '../../src/core/answer/path.ts';
import { costOf } from '../../src/nodes/calling.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index + 1 }));

/** Returns the highest number of simultaneous requests to a path. Each request takes 100 ms. */
function mostAtOnce(requests: readonly SentRequest[], place = ''): number {
  const times = requests.filter(({ url }) => url.startsWith(place)).map(({ atMs }) => atMs);
  return Math.max(...times.map((time) => times.filter((other) => other <= time && time < other + 100).length));
}

const slow = { http: () => ({ afterMs: 100 }) };

describe('the concurrency of a node', () => {
  test.each([
    ['', 16],
    [', concurrency: 3', 3],
    [', concurrency: 100', 50],
  ])('with the options %j allows %i calls at the same time', async (more, most) => {
    const { requests } = await runFlow(`nodes: [{ type: http, url: "https://a.com/{{id}}"${more} }]`, many(50), slow);
    expect(mostAtOnce(requests)).toBe(most);
    expect(requests).toHaveLength(50);
  });

  test('is separate for each node', async () => {
    const yaml = `nodes:
  - { type: http, url: "https://a.com/1/{{id}}", concurrency: 2 }
  - { type: http, url: "https://a.com/2/{{id}}", concurrency: 3 }
`;
    const { requests } = await runFlow(yaml, many(20), slow);
    expect(mostAtOnce(requests, 'https://a.com/1')).toBe(2);
    expect(mostAtOnce(requests)).toBe(4);
  });

  test("is shared by all of a connection's nodes, except nodes with their own concurrency", async () => {
    const flow = (more: string) => `connections: { a: { type: http, base_url: "https://a.com", concurrency: 2 } }
nodes:
  - { type: http, connection: a, url: "/1/{{id}}" }
  - { type: http, connection: a, url: "/2/{{id}}"${more} }
`;
    expect(mostAtOnce((await runFlow(flow(''), many(20), slow)).requests)).toBe(2);
    expect(mostAtOnce((await runFlow(flow(', concurrency: 1'), many(20), slow)).requests)).toBe(3);
  });

  test('does not affect the order of the output', async () => {
    const { rows } = await runFlow('nodes: [{ type: http, url: "https://a.com/{{id}}" }]', many(40), {
      http: ({ path }) => ({ afterMs: 1000 / Number(path.slice(1)) }),
    });
    expect(rows).toEqual(many(40));
  });
});

describe('the rate of a node', () => {
  const times = ({ requests }: { requests: SentRequest[] }) => requests.map(({ atMs }) => atMs);

  test('is unlimited by default', async () => {
    const result = await runFlow('nodes: [{ type: http, url: "https://a.com/{{id}}", concurrency: 10 }]', many(10));
    expect(new Set(times(result))).toEqual(new Set([0]));
  });

  test.each([
    ['10/s', 100],
    ['600/min', 100],
    ['3600/h', 1000],
  ])('determines the interval between calls: %s', async (rate, intervalMs) => {
    const last = times(await runFlow(`nodes: [{ type: http, url: "https://a.com/{{id}}", rate: ${rate} }]`, many(11))).at(-1) as number;
    expect(last).toBeGreaterThanOrEqual(10 * intervalMs - 20);
    expect(last).toBeLessThanOrEqual(10 * intervalMs);
  });

  test('limits all nodes of a connection and their retries together if the connection sets it', async () => {
    const yaml = `connections: { a: { type: http, base_url: "https://a.com", rate: 10/s } }
nodes:
  - { type: http, connection: a, url: "/1/{{id}}", retry: { max: 1, backoff: 1ms } }
  - { type: http, connection: a, url: "/2/{{id}}" }
`;
    const result = await runFlow(yaml, many(4), { http: (_request, index) => ({ status: index === 0 ? 500 : 200 }) });
    expect(result.requests).toHaveLength(9);
    expect(times(result).at(-1)).toBeGreaterThanOrEqual(780);
  });
});

test.each([
  ['0', 0],
  [' 2.5 ', 2.5],
  ['', undefined],
  ['-1', undefined],
  ['many', undefined],
  ['1e300', undefined],
])('a response that states its cost as "%s" is charged as %s', (told, cost) => {
  expect(costOf({ cost: compilePath('cost') }, { status: 200, header: () => undefined, body: { cost: told } })).toBe(cost);
});

describe('a node with the cache option', () => {
  const flow = (more: string) => `nodes:\n  - { type: http, url: "https://a.com/{{id}}", cache: 1h, map: { a: a }, ${more} }\n`;
  const answer = { http: (_request: SentRequest, index: number) => ({ body: { a: index } }) };

  test('sends identical requests only once, for one credit', async () => {
    const { rows, requests, credits } = await runFlow(flow('concurrency: 1'), [{ id: 1 }, { id: 2 }, { id: 1 }], answer);
    expect(rows).toEqual([
      { id: 1, a: 0 },
      { id: 2, a: 1 },
      { id: 1, a: 0 },
    ]);
    expect({ sent: requests.length, credits }).toEqual({ sent: 2, credits: 2 });
  });

  test.each([
    ['5s', 2],
    ['1h', 1],
  ])('uses a response for as long as the option says: %s leads to %i requests in 10 s', async (cache, count) => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, cache: ${cache} }
  - { type: http, url: https://slow.example.com }
  - { type: http, url: https://a.com, cache: ${cache} }
`;
    const { requests } = await runFlow(yaml, [{}], { http: ({ origin }) => ({ afterMs: origin === 'https://a.com' ? 1 : 10_000 }) });
    expect(requests.filter(({ origin }) => origin === 'https://a.com')).toHaveLength(count);
  });

  test.each([
    ['the URL', 'concurrency: 16'],
    ['a header', 'headers: { X: "{{m}}" }'],
    ['the body', 'method: POST, body: { m: "{{m}}" }'],
  ])('never shares responses between requests that differ in %s', async (what, more) => {
    const records = ['a', 'b', 'a'].map((m) => ({ id: what === 'the URL' ? m : 1, m }));
    expect((await runFlow(flow(more), records, answer)).requests).toHaveLength(2);
  });

  test.each([
    ['the method', 'method: GET', 'method: POST'],
    ['the credential', 'auth: { type: bearer, credential: k }', 'auth: { type: bearer, credential: l }'],
    ['no credential', 'auth: { type: bearer, credential: k }', 'auth: none'],
    ['the user name', 'auth: { type: basic, username: u, credential: k }', 'auth: { type: basic, username: v, credential: k }'],
    ['what counts as success', 'success: [2xx]', 'success: [2xx, 404]'],
  ])('never shares responses with a node that differs in %s', async (_what, one, other) => {
    const nodes = [one, other, one, other].map(
      (more, index) => `  - { type: http, url: https://a.com, cache: 1h, map: { a${index}: a }, ${more} }\n`,
    );
    const { rows, requests } = await runFlow(`nodes:\n${nodes.join('')}`, [{}], answer);
    expect(requests).toHaveLength(2);
    expect(rows).toEqual([{ a0: 0, a1: 1, a2: 0, a3: 1 }]);
  });

  test('shares responses whatever the order and case of the header names', async () => {
    const nodes = ['headers: { A: 1, B: 2 }', 'headers: { b: 2, a: 1 }'].map(
      (more) => `  - { type: http, url: https://a.com, cache: 1h, ${more} }\n`,
    );
    expect((await runFlow(`nodes:\n${nodes.join('')}`, [{}], answer)).requests).toHaveLength(1);
  });

  test('shares responses whatever the idempotency keys are', async () => {
    const { requests } = await runFlow(flow('method: POST, idempotency_key: true'), [{ id: 1 }, { id: 1 }], answer);
    expect(requests).toHaveLength(1);
  });

  test('does not store an unsuccessful response', async () => {
    const yaml = `nodes:
  - { type: http, url: https://a.com, cache: 1h, map: [a], retry: { max: 0 }, on_error: keep }
  - { type: http, url: https://a.com, cache: 1h, map: [a] }
`;
    const { rows } = await runFlow(yaml, [{}], { http: (_request, index) => (index === 0 ? { status: 500 } : { body: { a: 1 } }) });
    expect(rows).toMatchObject([{ a: 1, _error: { status: 500 } }]);
  });

  test('fails all records that waited for a failed request, each under its own record number', async () => {
    const { failures, requests } = await runFlow(flow('retry: { max: 0 }'), [{ id: 1 }, { id: 1 }], {
      http: () => ({ status: 500, afterMs: 5 }),
    });
    expect(requests).toHaveLength(1);
    expect(failures).toMatchObject([
      { record: 1, status: 500, node: 'http-1' },
      { record: 2, status: 500, node: 'http-1' },
    ]);
  });
});

describe('the limit on credits', () => {
  test('ends the run when it is reached, and the finished records are written', async () => {
    const { rows, requests, ending, credits, failures } = await runFlow(
      'nodes: [{ type: http, url: "https://a.com/{{id}}", concurrency: 2 }]',
      many(10),
      { ...slow, credits: 3 },
    );
    expect({ sent: requests.length, ending, credits, failures }).toEqual({ sent: 3, ending: 'max-credits', credits: 3, failures: [] });
    expect(rows).toEqual(many(3));
  });
});
