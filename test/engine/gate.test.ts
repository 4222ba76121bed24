import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const api = 'https://api.example.com/';
const node = (url: string, more = '') => `  - { type: http, url: "${url}{{id}}"${more} }\n`;
const times = (requests: readonly SentRequest[], start = api) =>
  requests.filter(({ url }) => url.startsWith(start)).map(({ atMs }) => atMs);

/** Returns the number of calls in the second with the most calls. */
function mostInASecond(atMs: readonly number[]): number {
  return Math.max(...atMs.map((from) => atMs.filter((at) => at >= from && at < from + 1000).length));
}

describe('a pause of a gate (all calls to one origin with one credential)', () => {
  const refusedOnce: FlowOptions['http'] = (_, index) =>
    index === 0 ? { status: 429, headers: { 'retry-after': '5' } } : { afterMs: 100 };

  test('applies to every call at the same gate after a 429', async () => {
    const flow = `nodes:\n${node(`${api}a/`, ', concurrency: 1')}${node(`${api}b/`)}`;
    const { requests, rows } = await runFlow(flow, numberedRecords(4), { http: refusedOnce });
    expect(times(requests).slice(0, 2)).toEqual([0, 5000]);
    expect(rows).toHaveLength(4);
  });

  test('lasts as long as the backoff if the 429 has no Retry-After', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 1')}`, numberedRecords(3), {
      http: (_, index) => (index === 0 ? { status: 429 } : {}),
    });
    expect(times(requests)).toEqual([0, 1000, 1000, 1000]);
  });

  test("is caused by a record's first 429 without Retry-After; later 429s delay only that record", async () => {
    const { requests, failures, events } = await runFlow(`nodes:\n${node(api, ', concurrency: 1')}`, numberedRecords(5), {
      http: ({ path }) => ({ status: path === '/0' ? 429 : 200, afterMs: 500 }),
    });
    expect(requests.map(({ path, atMs }) => [path, atMs])).toEqual([
      ['/0', 0],
      ['/1', 1500],
      ['/0', 2000],
      ...[2, 3, 4].map((id) => [`/${id}`, 1500 + id * 500]),
      ['/0', 4500],
      ['/0', 9000],
    ]);
    expect(failures).toMatchObject([{ record: 1, status: 429, attempts: 4 }]);
    expect(events.filter(({ type }) => type === 'gate-paused')).toEqual([
      { type: 'gate-paused', gate: 'https://api.example.com', status: 429, waitMs: 1000 },
    ]);
  });

  test("is not caused by a 429 without Retry-After at the record's last attempt", async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 1, retry: { max: 1 }')}`, numberedRecords(3), {
      http: ({ path }) => ({ status: path === '/0' ? 429 : 200 }),
    });
    expect(times(requests)).toEqual([0, 1000, 1000, 1000]);
  });

  test('is caused by every 429 with Retry-After', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 1, retry: { max: 1 }')}`, numberedRecords(3), {
      http: ({ path }) => (path === '/0' ? { status: 429, headers: { 'retry-after': '5' }, afterMs: 500 } : { afterMs: 500 }),
    });
    expect(times(requests)).toEqual([0, 5500, 6000, 11_500]);
  });

  test('applies to every call at the same gate if a response of any status has a Retry-After', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 1')}`, numberedRecords(3), {
      http: (_, index) => (index === 0 ? { status: 503, headers: { 'retry-after': '5' } } : {}),
    });
    expect(times(requests)).toEqual([0, 5000, 5000, 5000]);
  });

  test('is not caused by a 503 without Retry-After', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 1')}`, numberedRecords(3), {
      http: (_, index) => (index === 0 ? { status: 503 } : {}),
    });
    expect(times(requests)).toEqual([0, 0, 0, 1000]);
  });

  test('is not caused by a Retry-After longer than max_wait, which only fails the record', async () => {
    const flow = `nodes:\n${node(api, ', concurrency: 1, retry: { max_wait: 2s }')}`;
    const { requests, failures } = await runFlow(flow, numberedRecords(3), { http: refusedOnce });
    expect(times(requests)).toEqual([0, 0, 100]);
    expect(failures).toMatchObject([{ record: 1 }]);
  });

  test('lasts as long as the longest of several pauses', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', concurrency: 2')}`, numberedRecords(3), {
      http: (_, index) => (index < 2 ? { status: 429, headers: { 'retry-after': index === 0 ? '60' : '2' } } : {}),
    });
    expect(times(requests)).toEqual([0, 0, 60_000, 60_000, 60_000]);
  });

  test('applies to the other records even if the record that caused it is not retried', async () => {
    const { requests, failures } = await runFlow(`nodes:\n${node(api, ', concurrency: 1, retry: { max: 0 }')}`, numberedRecords(2), {
      http: refusedOnce,
    });
    expect(times(requests)).toEqual([0, 5000]);
    expect(failures).toMatchObject([{ record: 1, status: 429 }]);
  });

  test('does not affect calls to a different origin', async () => {
    const flow = `nodes:\n${node(api, ', concurrency: 1, on_error: keep, retry: { max: 0 }')}${node('https://other.example.com/')}`;
    const { requests } = await runFlow(flow, numberedRecords(2), { http: refusedOnce });
    expect(times(requests)).toEqual([0, 5000]);
    expect(times(requests, 'https://other.example.com/')).toEqual([0, 5100]);
  });

  test('does not affect calls with a different credential', async () => {
    const signed = (credential: string) =>
      `, concurrency: 1, on_error: keep, retry: { max: 0 }, auth: { type: bearer, credential: ${credential} }`;
    const { requests } = await runFlow(`nodes:\n${node(`${api}a/`, signed('one'))}${node(`${api}b/`, signed('two'))}`, numberedRecords(2), {
      http: refusedOnce,
    });
    expect(times(requests, `${api}a/`)).toEqual([0, 5000]);
    expect(times(requests, `${api}b/`)[0]).toBe(0);
  });
});

describe('a rate limit', () => {
  const limited = (more = '') => `nodes:\n${node(api, `, rate: 10/s${more}`)}`;

  test('of 10/s allows one call every 100 ms', async () => {
    const { requests } = await runFlow(limited(), numberedRecords(50));
    expect(times(requests).at(-1)).toBeGreaterThanOrEqual(4890);
    expect(times(requests).at(-1)).toBeLessThanOrEqual(4900);
    expect(mostInASecond(times(requests))).toBeLessThan(12);
  });

  test('applies to the calls and retries of all nodes at the same gate together', async () => {
    const flow = `nodes:\n${node(`${api}a/`, ', rate: 10/s')}${node(`${api}b/`, ', rate: 10/s')}`;
    const { requests } = await runFlow(flow, numberedRecords(20), { http: (_, index) => ({ status: index % 5 === 0 ? 503 : 200 }) });
    expect(requests.length).toBeGreaterThan(45);
    expect(mostInASecond(times(requests))).toBeLessThan(12);
  });

  test('is the lowest of the rates of all nodes at the gate', async () => {
    const { requests } = await runFlow(
      `nodes:\n${node(`${api}a/`, ', rate: 100/s')}${node(`${api}b/`, ', rate: 1/s')}`,
      numberedRecords(5),
    );
    expect(mostInASecond(times(requests).slice(2))).toBeLessThanOrEqual(2);
  });

  test('does not allow a burst of calls after a time without calls', async () => {
    const http: FlowOptions['http'] = (_, index) => (index === 0 ? { afterMs: 10_000 } : {});
    const { requests } = await runFlow(limited(', concurrency: 1'), numberedRecords(30), { http });
    expect(times(requests)[1]).toBe(10_000);
    expect(mostInASecond(times(requests))).toBeLessThan(12);
  });

  test('of 10/s allows close to 10 calls in a second, and never 12, even if timers are late', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 20 }), async (lateness) => {
        const { requests } = await runFlow(limited(), numberedRecords(60), { clock: lateClock(lateness) });
        expect(mostInASecond(times(requests))).toBeLessThan(12);
      }),
      { numRuns: 50 },
    );
    const { requests } = await runFlow(limited(), numberedRecords(60), { clock: lateClock([1, 0, 5, 2, 10, 0]) });
    expect(times(requests).at(-1)).toBeLessThanOrEqual(5910);
  });

  test('from the command line replaces the rate in the flow', async () => {
    const { requests } = await runFlow(limited(), numberedRecords(5), { intervalMs: 1000 });
    expect(times(requests).at(-1)).toBeGreaterThan(3900);
  });

  test('does not affect calls to a different origin', async () => {
    const { requests } = await runFlow(`nodes:\n${node(api, ', rate: 1/s')}${node('https://other.example.com/')}`, numberedRecords(3));
    expect(times(requests, 'https://other.example.com/')).toEqual(times(requests));
  });
});

/** Creates a clock whose sleeps end late by these delays in ms, used in turn. */
function lateClock(lateness: readonly number[]): Clock {
  const clock = createFakeClock();
  let next = 0;
  return { ...clock, sleepUntil: (untilMs, signal) => clock.sleepUntil(untilMs + (lateness[next++ % lateness.length] as number), signal) };
}

describe('the concurrency of calls', () => {
  /** Responds after 100 ms, and records the maximum number of requests in flight. */
  function counting() {
    const maxInFlight: Record<string, number> = {};
    const running: Record<string, number> = {};
    const clock = createFakeClock();
    const http: FlowOptions['http'] = async ({ path }) => {
      for (const name of ['all', path.split('/')[1] as string]) {
        running[name] = (running[name] ?? 0) + 1;
        maxInFlight[name] = Math.max(maxInFlight[name] ?? 0, running[name]);
      }
      await clock.sleepUntil(clock.now() + 100);
      for (const name of ['all', path.split('/')[1] as string]) running[name] = (running[name] as number) - 1;
      return {};
    };
    return { clock, http, maxInFlight };
  }

  test('is 16 per node by default', async () => {
    const { maxInFlight, ...options } = counting();
    await runFlow(`nodes:\n${node(`${api}a/`)}${node(`${api}b/`)}`, numberedRecords(100), options);
    expect(maxInFlight).toEqual({ all: 32, a: 16, b: 16 });
  });

  test('is counted separately for each node', async () => {
    const { maxInFlight, ...options } = counting();
    await runFlow(`nodes:\n${node(`${api}a/`, ', concurrency: 5')}${node(`${api}b/`, ', concurrency: 3')}`, numberedRecords(100), options);
    expect(maxInFlight).toMatchObject({ a: 5, b: 3 });
  });

  test('is shared by all nodes of a connection if the connection sets it', async () => {
    const { maxInFlight, ...options } = counting();
    const connections = `connections: { api: { type: http, base_url: "${api}", concurrency: 4 } }\n`;
    await runFlow(
      `${connections}nodes:\n${node('a/', ', connection: api')}${node('b/', ', connection: api')}`,
      numberedRecords(50),
      options,
    );
    expect(maxInFlight.all).toBe(4);
  });

  test("applies to all origins of a node's records together", async () => {
    const { maxInFlight, ...options } = counting();
    const links = numberedRecords(40).map(({ id }) => ({ link: `https://host-${id % 10}.example.com/a/` }));
    await runFlow('nodes: [{ type: http, url: "{{link}}", concurrency: 4 }]', links, options);
    expect(maxInFlight.all).toBe(4);
  });

  test('is used fully', async () => {
    const { maxInFlight, ...options } = counting();
    const { waitedMs } = await runFlow(`nodes:\n${node(`${api}a/`, ', concurrency: 5')}`, numberedRecords(50), options);
    expect(maxInFlight.all).toBe(5);
    expect(waitedMs).toBeLessThan(1000 + 200);
  });

  test('from the command line replaces the concurrency in the flow', async () => {
    const { maxInFlight, ...options } = counting();
    await runFlow(`nodes:\n${node(`${api}a/`, ', concurrency: 3')}`, numberedRecords(50), { ...options, concurrency: 7 });
    expect(maxInFlight.all).toBe(7);
  });

  test('from the command line is still shared by all nodes of a connection', async () => {
    const { maxInFlight, ...options } = counting();
    const connections = `connections: { api: { type: http, base_url: "${api}", concurrency: 4 } }\n`;
    const flow = `${connections}nodes:\n${node('a/', ', connection: api')}${node('b/', ', connection: api')}${node('c/', ', connection: api, concurrency: 2')}`;
    await runFlow(flow, numberedRecords(50), { ...options, concurrency: 3 });
    expect(maxInFlight).toEqual({ all: 6, a: expect.any(Number), b: expect.any(Number), c: 3 });
  });
});

describe('a node that sends requests to 3000 origins', () => {
  const links = Array.from({ length: 3000 }, (_, id) => ({ link: `https://host-${id}.example.com/` }));

  test.each([0, 10])('sends all its calls if each call takes %i ms', async (afterMs) => {
    const { rows, requests } = await runFlow('nodes: [{ type: http, url: "{{link}}" }]', links, { http: () => ({ afterMs }) });
    expect(rows).toHaveLength(3000);
    expect(new Set(requests.map(({ origin }) => origin)).size).toBe(3000);
  });

  test.each([
    ['paused', ''],
    ['slow', ', rate: 1/min'],
  ])('does not forget, among so many gates, that one gate is %s', async (_, more) => {
    const first = { link: `${api}x` };
    const { requests } = await runFlow(`nodes: [{ type: http, url: "{{link}}", retry: { max: 0 }${more} }]`, [first, ...links, first], {
      http: ({ url }) => (url === first.link && more === '' ? { status: 429, headers: { 'retry-after': '60' } } : {}),
    });
    expect(times(requests)[1]).toBeGreaterThanOrEqual(59_000);
  });
});
