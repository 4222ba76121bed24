import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

/** Returns a flow that polls the state of a job. */
function polling(options: string, more = '') {
  return `nodes:
  - type: poll
    until: status == "done"
    ${options}
    nodes: [{ id: ask, type: http, url: "https://api.example.com/{{id}}", map: { status: status }${more} }]
`;
}

/** Returns how many passes a poll makes at most, according to its plan. */
const most = (options: string) => planFor(polling(options)).steps[0]?.node.inner?.maxPasses;

/** Responds to each record's requests with "working", and from request number `times` on with "done". */
function doneAfter(times: number, more: Record<string, unknown> = {}) {
  const asked = new Map<string, number>();
  return ({ path }: { path: string }) => {
    const count = (asked.get(path) ?? 0) + 1;
    asked.set(path, count);
    return { body: { status: count < times ? 'working' : 'done' }, ...more };
  };
}

const moments = ({ requests }: { requests: readonly { atMs: number }[] }) => requests.map(({ atMs }) => atMs);

describe('a poll node', () => {
  test.each([
    ['every: 2s', [0, 2000, 4000, 6000]],
    ['', [0, 5000, 10_000, 15_000]],
    ['every: { initial: 1s, factor: 3, max: 4s }', [0, 1000, 4000, 8000]],
    ['every: { max: 20s }', [0, 5000, 15_000, 35_000]],
    ['every: { initial: 90s }', [0, 90_000, 180_000, 270_000]],
  ])('repeats its inner nodes at intervals until its condition is true: %s', async (options, times) => {
    const result = await runFlow(polling(options), [{ id: 'a' }], { http: doneAfter(4) });
    expect(result.rows).toEqual([{ id: 'a', status: 'done' }]);
    expect(moments(result)).toEqual(times);
    expect(result.credits).toBe(4);
  });

  test.each([
    [1, 1, 1],
    [5, 1, 1000],
    [100, 1.5, 2000],
    [125, 2, 1000],
    [100, 2, 800],
    [999, 1.01, 60_000],
    [2000, 3, 60_000],
    [7, 2.3, 50],
  ])('derives its maximum number of requests from its waits (first %i ms, then times %d, up to %i ms)', (initial, factor, max) => {
    for (const timeoutMs of [1, 99, 100, 250, 875, 1500, 1875, 10_000, 3_600_000]) {
      let passes = 0;
      for (let atMs = 0, waitMs = initial; atMs <= timeoutMs; waitMs = Math.min(max, waitMs * factor)) {
        passes++;
        atMs += Math.min(waitMs, 1000);
      }
      const every = `every: { initial: ${initial}ms, factor: ${factor}, max: ${max}ms }`;
      expect([timeoutMs, most(`${every}\n    timeout: ${timeoutMs}ms`)]).toEqual([timeoutMs, passes]);
    }
  });

  test('quickly calculates its maximum number of passes, even if its waits hardly grow', () => {
    const passes = most('every: { initial: 1ms, factor: 1.0000000000001, max: 2s }\n    timeout: 20d');
    expect(passes).toBeGreaterThan(1_727_850_000);
    expect(passes).toBeLessThan(1_727_851_000);
  });

  test('waits as long as the server requires, while other records continue', async () => {
    const result = await runFlow(polling('every: 1s'), [{ id: 'a' }, { id: 'b' }], {
      http: doneAfter(2, { headers: { 'retry-after': '7' } }),
    });
    expect(moments(result)).toEqual([0, 0, 7000, 7000]);
  });

  test('pauses all calls to a server whose error has a Retry-After', async () => {
    const answers = [{ status: 429, headers: { 'retry-after': '3' } }, { body: { status: 'done' } }];
    const result = await runFlow(polling('every: 1s'), [{ id: 'a' }], { http: (_, index) => answers[index] ?? {} });
    expect(moments(result)).toEqual([0, 3000]);
  });

  test.each([
    ['every: 4s\n    timeout: 10s', 4000, '10 s'],
    ['every: 4s\n    timeout: 8s', 4000, '8 s'],
    ['every: 5m', 300_000, '10 min'],
  ])('fails the record if the next wait would end after the timeout: %s', async (options, everyMs, timeout) => {
    const result = await runFlow(polling(options), [{ id: 'a' }], { http: doneAfter(99) });
    expect(moments(result)).toEqual([0, everyMs, 2 * everyMs]);
    expect(result.waitedMs).toBe(2 * everyMs);
    expect(result.failures).toMatchObject([
      { node: 'poll-1', class: 'timeout', message: `not done within ${timeout}, after 3 passes: status is "working"` },
    ]);
  });

  test('measures its timeout from the arrival of the first response', async () => {
    const records = Array.from({ length: 9 }, (_, id) => ({ id }));
    const { rows, failures } = await runFlow(polling('every: 2s\n    timeout: 3s', ', rate: 1/s'), records, { http: doneAfter(2) });
    expect([rows.length, failures]).toEqual([9, []]);
  });

  test('drops the record if a pass produces no records', async () => {
    const flow = polling('').replace('status: status }', 'status: "jobs[].status" }, when_empty: drop');
    const result = await runFlow(flow, [{ id: 'a' }], { http: () => ({ body: { jobs: [] } }) });
    expect([result.rows, result.failures, result.requests.length]).toEqual([[], [], 1]);
  });

  test('refuses the cache option, even in an inner loop', () => {
    const cached = '{ type: http, url: "https://api.example.com/{{id}}", map: { status: status }, cache: 1h }';
    const inside = (nodes: string) =>
      flowProblems(`nodes:\n  - { type: poll, until: status == "done", nodes: [${nodes}] }\n`).map(onOneLine);
    const refused = expect.stringContaining('a cached answer never changes, so a poll would never end');
    expect(inside(cached)).toEqual([refused]);
    expect(inside(`{ type: loop, while: "false", nodes: [{ type: set, fields: { a: 1 } }, ${cached}] }`)).toEqual([refused]);
  });

  test('fails the record at once if the server requires a wait that ends after the timeout', async () => {
    const result = await runFlow(polling('timeout: 10s'), [{ id: 'a' }], { http: doneAfter(99, { headers: { 'retry-after': '600' } }) });
    expect(moments(result)).toEqual([0]);
    expect(result.failures).toMatchObject([
      { class: 'timeout', message: 'not done within 10 s, after 1 pass (the server asks you to wait 10 min more): status is "working"' },
    ]);
  });

  test.each([
    ['0', 'every: 5s', [0, 5000, 10_000, 15_000]],
    ['2', 'every: 5s', [0, 2000, 4000, 6000]],
    ['0.01', 'every: 5s', [0, 1000, 2000, 3000]],
    ['0.01', 'every: 100ms', [0, 100, 200, 300]],
  ])('waits at least a second even if Retry-After is shorter: Retry-After %s, %s', async (seconds, every, times) => {
    const result = await runFlow(polling(every), [{ id: 'a' }], { http: doneAfter(4, { headers: { 'retry-after': seconds } }) });
    expect(moments(result)).toEqual(times);
  });

  test("pauses all records if the server's response says that a quota is used up", async () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' };
    const result = await runFlow(polling('every: 1s'), [{ id: 'a' }, { id: 'b' }], {
      http: (_, index) => ({ body: { status: 'done' }, ...(index === 0 && { headers }) }),
      concurrency: 1,
    });
    expect(moments(result)).toEqual([0, 7000]);
  });

  test('refuses the value 0 for its wait', () => {
    expect(flowProblems(polling('every: 0')).map(onOneLine)).toEqual([expect.stringContaining('expected a wait from 1ms to 24d')]);
  });

  test('fails the record if fail_when is true', async () => {
    const result = await runFlow(polling('fail_when: status == "working"'), [{ id: 'a' }], { http: doneAfter(2) });
    expect(result.failures).toMatchObject([
      { node: 'poll-1', class: 'http', message: 'it failed: status is "working" (fail_when, pass 1)' },
    ]);
  });

  test.each([
    ['has(status) && status != "done"', 'it failed: status is "working" (fail_when, pass 1)'],
    ['!has(result)', 'it failed: result is absent (fail_when, pass 1)'],
    ['true', 'it failed (fail_when, pass 1)'],
  ])('fails the record with a message that shows the values in fail_when: %s', async (condition, message) => {
    const result = await runFlow(polling(`fail_when: ${JSON.stringify(condition)}`), [{ id: 'a' }], { http: doneAfter(2) });
    expect(result.failures).toMatchObject([{ node: 'poll-1', message }]);
  });

  test('passes the record on without the mapped fields if on_error is "keep"', async () => {
    const { rows } = await runFlow(polling('on_error: keep\n    fail_when: status == "working"'), [{ id: 'a' }], { http: doneAfter(2) });
    expect(rows).toMatchObject([{ id: 'a', _error: { node: 'poll-1', class: 'http' } }]);
  });

  test('lets thousands of records wait without using concurrency slots', async () => {
    const records = Array.from({ length: 3000 }, (_, index) => ({ id: String(index) }));
    const result = await runFlow(polling('every: 60s', ', concurrency: 4'), records, { http: doneAfter(3) });
    expect(result.rows).toHaveLength(3000);
    expect(result.waitedMs).toBe(120_000);
  });

  test('stops waiting once the credits are used up', async () => {
    const records = Array.from({ length: 6 }, (_, index) => ({ id: String(index) }));
    const { ending, waitedMs, requests, rows } = await runFlow(polling('every: 40s'), records, { http: doneAfter(3), credits: 3 });
    expect([ending, requests.length, rows]).toEqual(['max-credits', 3, []]);
    expect(waitedMs).toBeLessThan(1000);
  });

  test('retries a call that has already been paid for even after the credits are used up', async () => {
    const records = Array.from({ length: 6 }, (_, index) => ({ id: String(index) }));
    const http = (_request: SentRequest, index: number) => (index < 3 ? { status: 503 } : { body: { status: 'done' } });
    const { ending, requests, rows } = await runFlow(polling('every: 40s'), records, { http, credits: 3 });
    expect([ending, requests.length, rows.length]).toEqual(['max-credits', 6, 3]);
  });

  test('does not report a failure that on_error: keep passed on in an earlier pass', async () => {
    const answers = [{ status: 404 }, { status: 404 }, { body: { status: 'done' } }];
    const flow = polling('', ', on_error: keep').replace('until: ', 'until: has(status) && ');
    const { rows, events } = await runFlow(flow, [{ id: 'a' }], { http: (_, index) => answers[index] ?? {} });
    expect(rows).toEqual([{ id: 'a', status: 'done' }]);
    expect(events.filter(({ type }) => type === 'record-passed-through')).toEqual([]);
  });

  test('reports a failure that on_error: keep passed on in the last pass', async () => {
    const flow = polling('', ', on_error: keep').replace('until: ', 'until: has(_error) || ');
    const { rows, events } = await runFlow(flow, [{ id: 'a' }], { http: () => ({ status: 404 }) });
    expect(rows).toMatchObject([{ id: 'a', _error: { status: 404 } }]);
    expect(events.filter(({ type }) => type === 'record-passed-through')).toMatchObject([{ record: 1, node: 'ask', status: 404 }]);
  });

  test('mentions the earlier failure that left a field of the condition missing', async () => {
    const { failures } = await runFlow(polling('', ', on_error: keep'), [{ id: 'a' }], { http: () => ({ status: 404 }) });
    const message = 'until: the record has no field "status"; before, ask: the server answered 404';
    expect(failures).toMatchObject([{ node: 'poll-1', class: 'template', message }]);
  });

  test('fails the record if an inner node fails', async () => {
    const { failures } = await runFlow(polling(''), [{ id: 'a' }], { http: () => ({ status: 404 }) });
    expect(failures).toMatchObject([{ node: 'ask', class: 'http', status: 404 }]);
  });
});
