import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { httpFlow, numberedRecords, startsOf } from '../helpers/flows.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

/**
 * Runs a flow over one record. The server responds with `answers` in turn; the last response repeats. If one of them is a Failure, the
 * request throws it.
 */
function against(more: string, answers: (FakeAnswer | Failure)[], options: FlowOptions = {}) {
  return runFlow(httpFlow(more), [{ id: 1 }], {
    ...options,
    http: (_request, index) => {
      const answer = answers[Math.min(index, answers.length - 1)] as FakeAnswer | Failure;
      if (answer instanceof Failure) throw answer;
      return answer;
    },
  });
}

const lost = new Failure('network', 'the connection was reset', { retryable: true });
const late = new Failure('timeout', 'no response within 30 s', { retryable: true });
const down = { status: 503 };

describe('the wait in retry.after', () => {
  const refused = (body: unknown, headers = {}) => ({ status: 429, body, headers });

  test('is read from the body in seconds, takes precedence over the headers, and may have a fraction', async () => {
    const telegram = refused({ ok: false, parameters: { retry_after: 35 } }, { 'Retry-After': '2' });
    const result = await against('retry: { after: body.parameters.retry_after }', [telegram, {}]);
    expect([startsOf(result), result.failures]).toEqual([[0, 35_000], []]);
    expect(startsOf(await against('retry: { after: body.retry_after }', [refused({ retry_after: 0.25 }), {}]))).toEqual([0, 250]);
    expect(startsOf(await against('retry: { after: body.ms / 1000.0 }', [refused({ ms: 1500.5 }), {}]))).toEqual([0, 1500.5]);
    expect(startsOf(await against('retry: { after: \'headers["x-wait"]\' }', [refused({}, { 'X-Wait': '7' }), {}]))).toEqual([0, 7000]);
  });

  test.each([[{ other: 1 }], [{ retry_after: 0 }], [{ retry_after: null }], [{ retry_after: 'soon' }], ['<html>']])(
    'is that of the headers if the body states none: %j',
    async (body) => {
      expect(startsOf(await against('retry: { after: body.retry_after }', [refused(body, { 'Retry-After': '2' }), {}]))).toEqual([0, 2000]);
      expect(startsOf(await against('retry: { after: body.retry_after }', [refused(body), {}]))).toEqual([0, 1000]);
    },
  );

  test('makes the record fail at once if it is longer than max_wait', async () => {
    const { failures } = await against('retry: { after: body.retry_after, max_wait: 10s }', [refused({ retry_after: 11 })]);
    expect(failures).toMatchObject([
      { attempts: 1, message: expect.stringContaining('it asks to wait 11 s, longer than retry.max_wait of 10 s') },
    ]);
  });

  test('also holds for an answer that retry_when refuses', async () => {
    const slow = { body: { ok: false, wait: 4 } };
    expect(startsOf(await against('retry: { after: body.wait }, retry_when: body.ok == false', [slow, { body: { ok: true } }]))).toEqual([
      0, 4000,
    ]);
  });

  test('is refused if it is no expression about the answer', async () => {
    await expect(against('retry: { after: parameters.retry_after }', [{}])).rejects.toThrow(
      'no variable "parameters"; expected status, headers or body\nwrite body.parameters for a part of the answer',
    );
  });
});

describe('the retries of a node', () => {
  test.each([429, 500, 502, 503, 504, 599])(
    'are made up to three times by default after the status %i, for one credit in total',
    async (status) => {
      const result = await against('map: [a]', [{ status }]);
      expect(result.failures).toMatchObject([{ class: 'http', status, attempts: 4, message: `the server answered ${status}` }]);
      expect(startsOf(result)).toEqual([0, 1000, 3000, 7000]);
      expect(result.credits).toBe(1);
    },
  );

  test.each([lost, late])('are made up to three times by default if %s', async (failure) => {
    const result = await against('map: [a]', [failure]);
    expect(result.failures).toMatchObject([{ class: failure.kind, status: undefined, message: failure.message, attempts: 4 }]);
    expect(startsOf(result)).toEqual([0, 1000, 3000, 7000]);
  });

  test.each([301, 400, 401, 403, 404, 409, 422])('are not made after the status %i', async (status) => {
    expect((await against('map: [a]', [{ status }])).failures).toMatchObject([{ status, attempts: 1 }]);
  });

  test('are made after the failures in retry.on instead of the default failures', async () => {
    const attempts = async (on: string, answer: FakeAnswer | Failure) =>
      (await against(`retry: { on: ${on} }`, [answer])).failures[0]?.attempts;
    expect(await attempts('[404]', { status: 404 })).toBe(4);
    expect(await attempts('[404]', { status: 503 })).toBe(1);
    expect(await attempts('[4xx]', { status: 418 })).toBe(4);
    expect(await attempts('[5xx]', { status: 429 })).toBe(1);
    expect(await attempts('[timeout]', late)).toBe(4);
    expect(await attempts('[timeout]', lost)).toBe(1);
    expect(await attempts('[network]', lost)).toBe(4);
    expect(await attempts('[network]', late)).toBe(1);
    expect(await attempts('[429]', lost)).toBe(1);
    expect(await attempts('[]', { status: 500 })).toBe(1);
  });

  test('are not made after a permanent network failure', async () => {
    const certificate = new Failure('network', 'the TLS connection failed', { sent: false });
    expect((await against('retry: { on: [network] }', [certificate])).failures).toMatchObject([{ class: 'network', attempts: 1 }]);
  });

  test.each([0, 1, 5])('are made up to %i times if retry.max is set to this value', async (max) => {
    expect((await against(`retry: { max: ${max}, backoff: 1ms }`, [{ status: 500 }])).requests).toHaveLength(max + 1);
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('repeat the same %s request byte for byte', async (method) => {
    const body = method === 'GET' || method === 'DELETE' ? '' : ', body: { id: "{{id}}" }';
    const { requests, rows } = await against(`method: ${method}, idempotency_key: true${body}`, [{ status: 500 }, lost, { status: 200 }]);
    expect(rows).toEqual([{ id: 1 }]);
    const sent = requests.map(({ atMs, ...request }) => request);
    expect(sent).toHaveLength(3);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[2]).toEqual(sent[0]);
  });

  test("appear only in the run's events if a retry succeeds", async () => {
    const { rows, failures, credits, events } = await against('map: [a]', [down, down, { body: { a: 1 } }]);
    expect({ rows, failures, credits }).toEqual({ rows: [{ id: 1, a: 1 }], failures: [], credits: 1 });
    expect(events.filter(({ type }) => type === 'call-retried')).toMatchObject([
      { record: 1, waitMs: 1000, status: 503, attempts: 1 },
      { record: 1, waitMs: 2000, attempts: 2 },
    ]);
    expect(events).toContainEqual({ type: 'call-done', record: 1, node: 'http-1', attempts: 3, ms: 3000, responseMs: 0 });
  });
});

describe('the event for a failed call', () => {
  test('is written once, after the last attempt', async () => {
    const { events } = await against('retry: { max: 2 }', [down]);
    const ofCalls = events.filter(({ type }) => type.startsWith('call-'));
    expect(ofCalls.map(({ type }) => type)).toEqual(['call-retried', 'call-retried', 'call-failed']);
    expect(ofCalls.at(-1)).toEqual({ type: 'call-failed', record: 1, node: 'http-1', attempts: 3, responseMs: 0 });
  });

  test('is written even if the record is passed on', async () => {
    const { events, failures } = await against('on_error: keep', [{ status: 404 }]);
    expect(failures).toEqual([]);
    expect(events).toContainEqual({ type: 'call-failed', record: 1, node: 'http-1', attempts: 1, responseMs: 0 });
  });

  test('is not written if the response only lacks a required path', async () => {
    const { events, failures } = await against('map: { a: { path: a, required: true } }', [{ body: { b: 1 } }]);
    expect(failures).toHaveLength(1);
    expect(events.map(({ type }) => type)).not.toContain('call-failed');
  });
});

describe('the retry.backoff option', () => {
  test.each([
    ['{}', [0, 1000, 3000, 7000]],
    ['100ms', [0, 100, 300, 700]],
    ['2m', [0, 120_000, 240_000, 360_000]],
    ['{ initial: 1s, factor: 3 }', [0, 1000, 4000, 13_000]],
    ['{ initial: 1s, factor: 1 }', [0, 1000, 2000, 3000]],
    ['{ initial: 100, factor: 3, max: 500ms }', [0, 100, 400, 900]],
    ['{ initial: 10s, factor: 10, max: 30s }', [0, 10_000, 40_000, 70_000]],
  ])('determines the waits between attempts: %s', async (backoff, times) => {
    expect(startsOf(await against(`retry: { backoff: ${backoff} }`, [{ status: 500 }]))).toEqual(times);
  });

  test('increases the waits to 60 s at most by default', async () => {
    const times = startsOf(await against('retry: { max: 8 }', [{ status: 500 }]));
    expect(times.map((time, index) => time - (times[index - 1] ?? 0))).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('begins each wait when the response arrives', async () => {
    expect(startsOf(await against('retry: { max: 2 }', [{ status: 503, afterMs: 300 }]))).toEqual([0, 1300, 3600]);
  });

  test('shortens each wait at random, by up to half, if jitter is on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), async (random) => {
        const jitter = 'retry: { max: 2, backoff: { initial: 1s, jitter: true } }';
        const [, second, third] = startsOf(await against(jitter, [down], { random })) as [number, number, number];
        expect(second).toBeCloseTo(500 + 500 * random);
        expect(third - second).toBeCloseTo(1000 + 1000 * random);
      }),
      { numRuns: 20 },
    );
  });

  test('does not occupy a concurrency slot during a wait', async () => {
    const http: FlowOptions['http'] = ({ path }, index) => (path === '/0' && index === 0 ? down : { afterMs: 100 });
    const { requests, waitedMs } = await runFlow(httpFlow('concurrency: 1'), numberedRecords(6), { http });
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
});

describe('a wait that the server requires (Retry-After and others)', () => {
  const seconds = Date.UTC(2030, 0, 1) / 1000;

  test.each([
    ['Retry-After in seconds', { 'Retry-After': '7' }, 7000],
    ['Retry-After as a date', { 'Retry-After': 'Tue, 01 Jan 2030 00:00:30 GMT' }, 30_000],
    ['RateLimit', { RateLimit: '"default";r=0;t=20' }, 20_000],
    ['X-RateLimit-Reset in seconds', { 'X-RateLimit-Reset': '3', 'X-RateLimit-Remaining': '0' }, 3000],
    ['X-RateLimit-Reset as an epoch', { 'X-RateLimit-Reset': String(seconds + 40), 'X-RateLimit-Remaining': '0' }, 40_000],
  ])('replaces the backoff: %s', async (_name, headers, waitMs) => {
    for (const status of [429, 503]) {
      expect(startsOf(await against('retry: { max: 1 }', [{ status, headers: headers as Record<string, string> }, {}]))).toEqual([
        0,
        waitMs,
      ]);
    }
  });

  test.each(['soon', '-7'])('is ignored if its value is %s', async (value) => {
    expect(startsOf(await against('retry: { max: 1 }', [{ status: 429, headers: { 'Retry-After': value } }, {}]))).toEqual([0, 1000]);
  });

  test('replaces only one wait, and the next wait follows the backoff', async () => {
    expect(startsOf(await against('map: [a]', [{ status: 503, headers: { 'Retry-After': '10' } }, down]))).toEqual([
      0, 10_000, 12_000, 16_000,
    ]);
  });

  test('makes the record fail at once if it is longer than retry.max_wait (5 minutes by default)', async () => {
    const tooLong = await against('map: [a]', [{ status: 429, headers: { 'Retry-After': '301' } }]);
    expect(tooLong.failures).toMatchObject([
      {
        class: 'http',
        status: 429,
        attempts: 1,
        message: 'the server answered 429 (it asks to wait 5 min 1 s, longer than retry.max_wait of 5 min)',
      },
    ]);
    expect(tooLong.waitedMs).toBe(0);
    expect(startsOf(await against('map: [a]', [{ status: 429, headers: { 'Retry-After': '300' } }, {}]))).toEqual([0, 300_000]);
  });

  test.each([
    ['map: [a]', '315360000', 0],
    ['retry: { max_wait: 5s }', '6', 0],
    ['retry: { max_wait: 10m }', '360', 360_000],
  ])('is compared with retry.max_wait: options "%s", Retry-After %s', async (more, value, waitedMs) => {
    expect((await against(more, [{ status: 503, headers: { 'Retry-After': value } }, {}])).waitedMs).toBe(waitedMs);
  });

  test('is not the only wait that retry.max_wait limits: a longer backoff also makes the record fail', async () => {
    const result = await against('retry: { max_wait: 1500ms }', [down]);
    expect(startsOf(result)).toEqual([0, 1000]);
    expect(result.failures[0]?.message).toBe(
      'the server answered 503 (the next attempt would wait 2 s, longer than retry.max_wait of 1.5 s)',
    );
  });

  test('pauses all calls to the same server', async () => {
    const result = await runFlow(httpFlow('concurrency: 1'), [{ id: 1 }, { id: 2 }, { id: 3 }], {
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : {}),
    });
    expect(startsOf(result)).toEqual([0, 7000, 7000, 7000]);
  });

  test('does not pause calls to other servers or with other credentials', async () => {
    const yaml = `nodes:
  - { type: http, url: "{{url}}", auth: none, when: has(url) }
  - { type: http, url: "https://a.com/", auth: { type: bearer, credential: k }, when: "!has(url)" }
`;
    const { requests } = await runFlow(yaml, [{ url: 'https://a.com/' }, { url: 'https://b.com/' }, {}], {
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : { afterMs: 1 }),
    });
    expect(requests.map(({ origin, auth, atMs }) => [origin, auth?.[0]?.credential, atMs])).toEqual([
      ['https://a.com', undefined, 0],
      ['https://b.com', undefined, 0],
      ['https://a.com', 'k', 0],
      ['https://a.com', undefined, 7000],
    ]);
  });
});

describe("the order of a run's calls", () => {
  test('puts a retry before the first calls of later records', async () => {
    const http: FlowOptions['http'] = ({ path }, index) => (path === '/0' && index === 0 ? down : { afterMs: 100 });
    const { requests } = await runFlow(httpFlow('concurrency: 1'), numberedRecords(500), { http });
    expect(requests.filter(({ path }) => path === '/0').map(({ atMs }) => atMs)).toEqual([0, 1000]);
  });

  test('puts the records in progress before new records', async () => {
    const two = `nodes:
  - { type: http, url: "https://api.example.com/first/{{id}}", rate: 10/s }
  - { type: http, url: "https://api.example.com/second/{{id}}", rate: 10/s }`;
    const { requests } = await runFlow(two, numberedRecords(4));
    expect(requests.map(({ path }) => path)).toEqual([0, 1, 2, 3].flatMap((id) => [`/first/${id}`, `/second/${id}`]));
  });
});

test.each([
  ['{ type: loop, max: 1, while: "true", nodes: [NODE] }', 'mapping'],
  ['{ type: loop, while: missing > 1, nodes: [NODE] }', 'template'],
  ['{ type: poll, until: missing > 1, nodes: [NODE] }', 'template'],
  ['{ type: poll, until: "false", fail_when: "true", nodes: [NODE] }', 'http'],
])('a failure of a node with inner nodes counts one attempt if an inner node sent a request, otherwise 0: %s', async (around, kind) => {
  const attempts = async (inner: string) => {
    const { failures } = await runFlow(`nodes: [${around.replace('NODE', inner)}]`, [{ id: 'a' }], {
      http: () => ({ status: 200, body: {} }),
    });
    return failures.map((failure) => [failure.class, failure.attempts]);
  };
  expect(await attempts('{ type: http, url: "https://api.example.com/{{id}}" }')).toEqual([[kind, 1]]);
  expect(await attempts('{ type: set, fields: { n: 1 } }')).toEqual([[kind, 0]]);
});
