import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

/** When each try of one record was sent, and what came of it. */
async function tries(retry: string, http: FlowOptions['http'], options: FlowOptions = {}) {
  const flow = `nodes: [{ type: http, url: "https://api.example.com/{{id}}", retry: ${retry} }]`;
  const { requests, failures, rows, events } = await runFlow(flow, [{ id: 1 }], { ...options, http: http ?? (() => ({})) });
  return { atMs: requests.map((request) => request.atMs), requests, failures, rows, events };
}

const down = () => ({ status: 503 });
/** Refuses the first try with these headers. */
const refusedOnce =
  (headers: Record<string, string>, status = 503) =>
  (_: unknown, index: number) =>
    index === 0 ? { status, headers } : {};

describe('the backoff', () => {
  test('waits 1 s, 2 s and 4 s, and then gives up', async () => {
    const { atMs, failures } = await tries('{}', down);
    expect(atMs).toEqual([0, 1000, 3000, 7000]);
    expect(failures).toMatchObject([{ class: 'http', status: 503, attempts: 4, message: 'the server answered 503' }]);
  });

  test.each([
    ['{ max: 2, backoff: 250ms }', [0, 250, 750]],
    ['{ max: 4, backoff: { initial: 100, factor: 3 } }', [0, 100, 400, 1300, 4000]],
    ['{ max: 4, backoff: { initial: 100, factor: 3, max: 500ms } }', [0, 100, 400, 900, 1400]],
    ['{ max: 3, backoff: { initial: 1s, factor: 1 } }', [0, 1000, 2000, 3000]],
    ['{ max: 0 }', [0]],
  ])('is what the flow says: %s', async (retry, expected) => {
    expect((await tries(retry, down)).atMs).toEqual(expected);
  });

  test('begins when the answer has come, not when the request was sent', async () => {
    expect((await tries('{ max: 2 }', () => ({ status: 503, afterMs: 300 }))).atMs).toEqual([0, 1300, 3600]);
  });

  test('with jitter is between a half and the whole of each step', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), async (random) => {
        const { atMs } = await tries('{ max: 2, backoff: { initial: 1s, jitter: true } }', down, { random });
        expect(atMs[1]).toBeCloseTo(500 + 500 * random);
        expect((atMs[2] as number) - (atMs[1] as number)).toBeCloseTo(1000 + 1000 * random);
      }),
      { numRuns: 20 },
    );
  });
});

describe('is tried again', () => {
  test.each([
    [429, 4],
    [500, 4],
    [404, 1],
    [301, 1],
  ])('a %i by default %i times', async (status, expected) => {
    expect((await tries('{}', () => ({ status }))).atMs).toHaveLength(expected);
  });

  test.each(['network', 'timeout'] as const)('a failure of class %s, unless the flow says otherwise', async (kind) => {
    const fails = () => {
      throw new Failure(kind, 'broken', { retryable: true });
    };
    expect((await tries('{}', fails)).atMs).toHaveLength(4);
    const once = await tries('{ on: [429] }', fails);
    expect(once.atMs).toHaveLength(1);
    expect(once.failures).toMatchObject([{ class: kind, message: 'broken', attempts: 1 }]);
  });

  test('the same request, byte for byte', async () => {
    const { requests } = await tries('{}', down);
    const [first, ...others] = requests.map(({ atMs: _, ...request }) => request);
    for (const other of others) expect(other).toEqual(first);
  });

  test('until it succeeds; then nothing is left of the failures', async () => {
    const { rows, failures, events } = await tries('{}', (_, index) => ({ status: index < 2 ? 503 : 200 }));
    expect(rows).toEqual([{ id: 1 }]);
    expect(failures).toEqual([]);
    expect(events.filter(({ type }) => type === 'call-retried')).toMatchObject([
      { waitMs: 1000, attempts: 1, status: 503 },
      { waitMs: 2000, attempts: 2 },
    ]);
    expect(events).toContainEqual({ type: 'call-done', record: 1, node: 'http-1', attempts: 3, ms: 3000 });
  });
});

describe('what the server asks for replaces the step', () => {
  test.each([
    ['Retry-After in seconds', { 'retry-after': '7' }, 7000],
    ['Retry-After as a date', { 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT', date: 'Tue, 01 Jan 2030 00:00:10 GMT' }, 20_000],
    ['Retry-After of nothing', { 'retry-after': '0' }, 0],
    ['Retry-After in the past', { 'retry-after': 'Tue, 01 Jan 2030 00:00:00 GMT', date: 'Tue, 01 Jan 2030 00:00:10 GMT' }, 1000],
    ['a reset that is now', { 'x-ratelimit-reset': '1893456000', 'x-ratelimit-remaining': '0' }, 1000],
    ['RateLimit', { ratelimit: '"default";r=0;t=12' }, 12_000],
    ['X-RateLimit-Reset', { 'x-ratelimit-reset': '3', 'x-ratelimit-remaining': '0' }, 3000],
    ['nothing that can be read', { 'retry-after': 'soon' }, 1000],
    ['a negative Retry-After', { 'retry-after': '-5' }, 1000],
  ])('%s', async (_name, headers, waitMs) => {
    expect((await tries('{}', refusedOnce(headers as Record<string, string>))).atMs).toEqual([0, waitMs]);
  });

  test('and the steps after it are those of the policy', async () => {
    const http = (_: unknown, index: number) => ({ status: 503, headers: index === 0 ? { 'retry-after': '10' } : {} });
    expect((await tries('{}', http)).atMs).toEqual([0, 10_000, 12_000, 16_000]);
  });

  test('a wait longer than max_wait fails the record at once', async () => {
    const { atMs, failures } = await tries('{ max_wait: 5s }', () => ({ status: 429, headers: { 'retry-after': '3600' } }));
    expect(atMs).toEqual([0]);
    expect(failures).toMatchObject([{ class: 'http', status: 429, attempts: 1 }]);
    expect(failures[0]?.message).toMatch(/^the server answered 429 \(it asks to wait 1 h.*, longer than retry\.max_wait of 5/);
  });

  test('so does a step of the backoff', async () => {
    expect((await tries('{ max_wait: 1500ms }', down)).atMs).toEqual([0, 1000]);
  });
});

describe('many records', () => {
  const flow = (more = '') => `nodes: [{ type: http, url: "https://api.example.com/{{id}}"${more} }]`;
  const records = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));

  test('waiting for a retry holds no slot', async () => {
    const http: FlowOptions['http'] = ({ path }, index) => (path === '/0' && index === 0 ? { status: 503 } : { afterMs: 100 });
    const { requests, waitedMs } = await runFlow(flow(', concurrency: 1'), records(6), { http });
    expect(requests.map(({ path, atMs }) => [path, atMs])).toEqual([
      ['/0', 0],
      ['/1', 0],
      ['/2', 100],
      ['/3', 200],
      ['/4', 300],
      ['/5', 400],
      ['/0', 1000],
    ]);
    expect(waitedMs).toBeLessThan(1300);
  });

  test('a retry goes before the records that were read after it', async () => {
    const http: FlowOptions['http'] = ({ path }, index) => (path === '/0' && index === 0 ? { status: 503 } : { afterMs: 100 });
    const { requests } = await runFlow(flow(', concurrency: 1'), records(500), { http });
    expect(requests.filter(({ path }) => path === '/0').map(({ atMs }) => atMs)).toEqual([0, 1000]);
  });

  test('a record that has begun is brought to its end before others begin', async () => {
    const two = `nodes:
  - { type: http, url: "https://api.example.com/first/{{id}}", rate: 10/s }
  - { type: http, url: "https://api.example.com/second/{{id}}", rate: 10/s }`;
    const { requests } = await runFlow(two, records(4));
    expect(requests.map(({ path }) => path)).toEqual([
      '/first/0',
      '/second/0',
      '/first/1',
      '/second/1',
      '/first/2',
      '/second/2',
      '/first/3',
      '/second/3',
    ]);
  });
});

test.each([
  ['{ type: loop, max: 1, while: "true", nodes: [NODE] }', 'mapping'],
  ['{ type: loop, while: missing > 1, nodes: [NODE] }', 'template'],
  ['{ type: poll, until: missing > 1, nodes: [NODE] }', 'template'],
  ['{ type: poll, until: "false", fail_when: "true", nodes: [NODE] }', 'http'],
])('a node around others tells one try where they have sent something, and none where they have not: %s', async (around, kind) => {
  const attempts = async (inner: string) => {
    const { failures } = await runFlow(`nodes: [${around.replace('NODE', inner)}]`, [{ id: 'a' }], {
      http: () => ({ status: 200, body: {} }),
    });
    return failures.map((failure) => [failure.class, failure.attempts]);
  };
  expect(await attempts('{ type: http, url: "https://api.example.com/{{id}}" }')).toEqual([[kind, 1]]);
  expect(await attempts('{ type: set, fields: { n: 1 } }')).toEqual([[kind, 0]]);
});
