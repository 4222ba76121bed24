import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - { type: http, url: "https://api.example.com/{{id}}", ${more} }\n`;

/** Runs one record against answers in turn; the last one stays. An error is thrown. */
function against(more: string, answers: (FakeAnswer | Failure)[], options: FlowOptions = {}) {
  return runFlow(node(more), [{ id: 1 }], {
    ...options,
    http: (_request, index) => {
      const answer = answers[Math.min(index, answers.length - 1)] as FakeAnswer | Failure;
      if (answer instanceof Failure) throw answer;
      return answer;
    },
  });
}

const timesOf = ({ requests }: Awaited<ReturnType<typeof runFlow>>) => requests.map(({ atMs }) => atMs);

const lost = new Failure('network', 'the connection was reset', { retryable: true });
const late = new Failure('timeout', 'no response within 30000 ms', { retryable: true });

describe('what is tried again', () => {
  test.each([429, 500, 502, 503, 504, 599])('%i, by default three times', async (status) => {
    const result = await against('map: [a]', [{ status }]);
    expect(result.failures).toMatchObject([{ class: 'http', status, attempts: 4 }]);
    expect(timesOf(result)).toEqual([0, 1000, 3000, 7000]);
    expect(result.credits).toBe(1);
  });

  test.each([lost, late])('%s', async (failure) => {
    const result = await against('map: [a]', [failure]);
    expect(result.failures).toMatchObject([{ class: failure.kind, status: undefined, message: failure.message, attempts: 4 }]);
    expect(timesOf(result)).toEqual([0, 1000, 3000, 7000]);
  });

  test.each([400, 401, 403, 404, 409, 422])('%i is not', async (status) => {
    expect((await against('map: [a]', [{ status }])).failures).toMatchObject([{ status, attempts: 1 }]);
  });

  test('retry.on replaces the default: statuses, classes, timeout, network', async () => {
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
    expect(await attempts('[]', { status: 500 })).toBe(1);
  });

  test('what the network calls final is not, whatever the flow says', async () => {
    const certificate = new Failure('network', 'the TLS connection failed', { sent: false });
    expect((await against('retry: { on: [network] }', [certificate])).failures).toMatchObject([{ class: 'network', attempts: 1 }]);
  });

  test.each([0, 1, 5])('retry.max: %i', async (max) => {
    expect((await against(`retry: { max: ${max}, backoff: 1ms }`, [{ status: 500 }])).requests).toHaveLength(max + 1);
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('%s like every other method, byte for byte', async (method) => {
    const body = method === 'GET' || method === 'DELETE' ? '' : ', body: { id: "{{id}}" }';
    const { requests, rows } = await against(`method: ${method}, idempotency_key: true${body}`, [{ status: 500 }, lost, { status: 200 }]);
    expect(rows).toEqual([{ id: 1 }]);
    const sent = requests.map(({ atMs, ...request }) => request);
    expect(sent).toHaveLength(3);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[2]).toEqual(sent[0]);
  });

  test('a retry that succeeds leaves no trace but in the events', async () => {
    const { rows, failures, credits, events } = await against('map: [a]', [{ status: 503 }, { body: { a: 1 } }]);
    expect({ rows, failures, credits }).toEqual({ rows: [{ id: 1, a: 1 }], failures: [], credits: 1 });
    expect(events.filter(({ type }) => type === 'call-retried')).toMatchObject([{ record: 1, waitMs: 1000, status: 503, attempts: 1 }]);
    expect(events.filter(({ type }) => type === 'call-done')).toMatchObject([{ record: 1, attempts: 2 }]);
  });
});

describe('retry.backoff', () => {
  test.each([
    ['100ms', [0, 100, 300, 700]],
    ['{ initial: 1s, factor: 3 }', [0, 1000, 4000, 13_000]],
    ['{ initial: 1s, factor: 1 }', [0, 1000, 2000, 3000]],
    ['{ initial: 10s, factor: 10, max: 30s }', [0, 10_000, 40_000, 70_000]],
    ['{}', [0, 1000, 3000, 7000]],
    ['2m', [0, 120_000, 240_000, 360_000]],
  ])('%s', async (backoff, times) => {
    expect(timesOf(await against(`retry: { backoff: ${backoff} }`, [{ status: 500 }]))).toEqual(times);
  });

  test('no delay grows beyond 60 s by itself', async () => {
    const times = timesOf(await against('retry: { max: 8 }', [{ status: 500 }]));
    expect(times.map((time, index) => time - (times[index - 1] ?? 0))).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('jitter draws between half of a delay and all of it', async () => {
    const backoff = 'retry: { max: 1, backoff: { initial: 10s, jitter: true } }';
    expect(timesOf(await against(backoff, [{ status: 500 }], { random: 0 }))).toEqual([0, 5000]);
    expect(timesOf(await against(backoff, [{ status: 500 }], { random: 0.5 }))).toEqual([0, 7500]);
  });

  test('waiting holds no concurrency slot', async () => {
    const { requests } = await runFlow(node('concurrency: 1, retry: { max: 1, backoff: 10s }'), [{ id: 1 }, { id: 2 }], {
      http: ({ path }, index) => ({ status: path === '/1' && index === 0 ? 500 : 200, afterMs: 100 }),
    });
    expect(requests.map(({ path, atMs }) => [path, atMs])).toEqual([
      ['/1', 0],
      ['/2', 100],
      ['/1', 10_100],
    ]);
  });
});

describe('how long a server asks to be left alone', () => {
  test.each([
    ['Retry-After in seconds', { 'Retry-After': '7' }, 7000],
    ['Retry-After as a date', { 'Retry-After': 'Tue, 01 Jan 2030 00:00:30 GMT' }, 30_000],
    ['RateLimit', { RateLimit: '"default";r=0;t=20' }, 20_000],
    ['X-RateLimit-Reset as an epoch', { 'X-RateLimit-Reset': String(Date.UTC(2030, 0, 1) / 1000 + 40) }, 40_000],
    ['garbage', { 'Retry-After': 'soon' }, 1000],
    ['a negative number', { 'Retry-After': '-7' }, 1000],
  ])('%s replaces the delay', async (_what, headers, waitMs) => {
    expect(timesOf(await against('retry: { max: 1 }', [{ status: 429, headers }, {}]))).toEqual([0, waitMs]);
  });

  test('also with 503', async () => {
    expect(timesOf(await against('retry: { max: 1 }', [{ status: 503, headers: { 'Retry-After': '7' } }, {}]))).toEqual([0, 7000]);
  });

  test('longer than retry.max_wait, 5 minutes by default: the record fails at once', async () => {
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
    expect(timesOf(await against('map: [a]', [{ status: 429, headers: { 'Retry-After': '300' } }, {}]))).toEqual([0, 300_000]);
  });

  test('ten years are too long, and retry.max_wait says what is', async () => {
    expect((await against('map: [a]', [{ status: 503, headers: { 'Retry-After': '315360000' } }])).waitedMs).toBe(0);
    expect((await against('retry: { max_wait: 5s }', [{ status: 503, headers: { 'Retry-After': '6' } }])).requests).toHaveLength(1);
    expect((await against('retry: { max_wait: 10m }', [{ status: 503, headers: { 'Retry-After': '360' } }, {}])).waitedMs).toBe(360_000);
  });

  test('everyone who goes to the same place waits', async () => {
    const { requests } = await runFlow(node('concurrency: 1'), [{ id: 1 }, { id: 2 }, { id: 3 }], {
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : {}),
    });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 7000, 7000, 7000]);
  });

  test('but nobody who goes elsewhere, or with another credential', async () => {
    const yaml = `nodes:
  - { type: http, url: "{{url}}", auth: none, when: has(url) }
  - { type: http, url: "https://a.com/", auth: { type: bearer, credential: k }, when: "!has(url)" }
`;
    const { requests } = await runFlow(yaml, [{ url: 'https://a.com/' }, { url: 'https://b.com/' }, {}], {
      http: (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '7' } } : { afterMs: 1 }),
    });
    expect(requests.map(({ origin, auth, atMs }) => [origin, auth?.credential, atMs])).toEqual([
      ['https://a.com', undefined, 0],
      ['https://b.com', undefined, 0],
      ['https://a.com', 'k', 0],
      ['https://a.com', undefined, 7000],
    ]);
  });
});
