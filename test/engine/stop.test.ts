import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { AutomateError, Failure } from '../../src/core/failure.ts';
import { defineNode } from '../../src/core/node.ts';
import type { Output } from '../../src/core/ports.ts';
import type { Run } from '../../src/engine/run.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, type GivenRecord, rowsInMemory, runFlow } from '../helpers/run-flow.ts';

const node = (more = '') => `  - { type: http, url: "https://api.example.com/{{id}}"${more} }\n`;
const flow = (more = '') => `nodes:\n${node(more)}`;
const ids = (count: number) => Array.from({ length: count }, (_, id) => id);
const idOf = (path: string) => Number(path.slice(1));
const failingFrom =
  (first: number): FlowOptions['http'] =>
  ({ path }) => ({ status: idOf(path) >= first ? 404 : 200, afterMs: 10 });

/** Creates an output that records what is written, for runs that end with an error. */
function watched() {
  const written: unknown[] = [];
  let put: unknown[] = [];
  const output = (inner: Output): Output => ({
    waiting: 0,
    park: () => false,
    partialRows: rowsInMemory,
    put(item, outcome) {
      put.push(!('failure' in outcome) ? item.number : -item.number);
      return inner.put(item, outcome);
    },
    async flush() {
      written.push(...put);
      put = [];
    },
  });
  return { written, output };
}

describe('a run with --max-errors', () => {
  test.each([
    [0, 1],
    [3, 4],
  ])('ends after more than %i failed records', async (count, failed) => {
    const { ending, failures, rows, requests } = await runFlow(flow(', concurrency: 1'), numberedRecords(50), {
      http: failingFrom(5),
      maxErrors: { count },
    });
    expect(ending).toBe('max-errors');
    expect(rows).toHaveLength(5);
    // One more request might already have been sent when the record failed.
    expect(failures.length - failed).toBeOneOf([0, 1]);
    expect(requests).toHaveLength(5 + failures.length);
  });

  test('continues if exactly that many records have failed', async () => {
    const { ending, failures } = await runFlow(flow(), numberedRecords(8), { http: failingFrom(5), maxErrors: { count: 3 } });
    expect([ending, failures.length]).toEqual(['complete', 3]);
  });

  test('ends when more than the allowed percentage has failed, but not before the hundredth record', async () => {
    const fails = (id: number) => id < 10 || id % 10 === 0;
    const http: FlowOptions['http'] = ({ path }) => ({ status: fails(idOf(path)) ? 404 : 200, afterMs: 1 });
    expect(await runFlow(flow(), numberedRecords(1000), { http, maxErrors: { share: 0.3 } })).toMatchObject({ ending: 'complete' });
    const tenFail = { http: failingFrom(90), maxErrors: { share: 0.1 } };
    expect(await runFlow(flow(), numberedRecords(100), tenFail)).toMatchObject({ ending: 'complete' });
    const { ending, rows, failures } = await runFlow(flow(', concurrency: 1'), numberedRecords(1000), { http, maxErrors: { share: 0.1 } });
    expect(ending).toBe('max-errors');
    expect(rows.length + failures.length).toBeGreaterThanOrEqual(100);
    expect(rows.length + failures.length).toBeLessThan(110);
  });

  test('also counts records that failed before their request was sent', async () => {
    const { ending, events } = await runFlow('nodes: [{ type: set, fields: { a: "{{nothing}}" } }]', numberedRecords(500), {
      maxErrors: { count: 2 },
    });
    expect(ending).toBe('max-errors');
    expect(events.find(({ type }) => type === 'stopping')).toEqual({
      type: 'stopping',
      ending: 'max-errors',
      reason: 'more than 2 records have failed',
      code: 'option-reached',
      details: { option: 'maxErrors', value: '2' },
    });
  });
});

describe('a run with on_error: stop', () => {
  test('ends when a record fails, and names the failed record as the reason', async () => {
    const { ending, rows, requests, failures, events } = await runFlow(flow(', concurrency: 1, on_error: stop'), numberedRecords(9), {
      http: failingFrom(3),
    });
    expect(ending).toBe('on-error-stop');
    expect([rows.length, requests.length]).toEqual([3, 4]);
    expect(failures[0]).toMatchObject({ record: 4, status: 404 });
    expect(events).toContainEqual({
      type: 'stopping',
      ending: 'on-error-stop',
      reason: 'record 4 failed at http-1: the server answered 404',
    });
  });
});

test('on_error: stop reports a second failed record if it comes earlier in the input', async () => {
  const { events } = await runFlow(flow(', on_error: stop'), numberedRecords(9), {
    http: ({ path }) => (path.endsWith('/2') ? { status: 404, afterMs: 50 } : path.endsWith('/5') ? { status: 404 } : { afterMs: 10 }),
  });
  expect(events.filter(({ type }) => type === 'stopping').map((event) => (event as { reason?: string }).reason)).toEqual([
    'record 6 failed at http-1: the server answered 404',
    'record 3 failed at http-1: the server answered 404',
  ]);
});
describe('a run whose server cannot be reached', () => {
  const refused = () => {
    throw new Failure('network', 'https://api.example.com: the connection was refused (ECONNREFUSED)', { retryable: true });
  };

  test('ends after ten attempts, including retries, and leaves its records unfinished instead of failed', async () => {
    const { ending, requests, failures, events } = await runFlow(flow(', concurrency: 4'), numberedRecords(20_000), {
      http: refused,
      batch: 100,
    });
    expect([ending, failures]).toEqual(['unreachable', []]);
    expect(requests.length).toBeLessThan(10 + 4);
    const stopping = events.find(({ type }) => type === 'stopping');
    expect(stopping).toMatchObject({ ending: 'unreachable', reason: expect.stringMatching(/the connection was refused/) });
  });

  test('ends even if only four records make all the attempts', async () => {
    expect(await runFlow(flow(), numberedRecords(2), { http: refused })).toMatchObject({ ending: 'complete' });
    const four = await runFlow(flow(', concurrency: 1'), numberedRecords(4), { http: refused });
    expect([four.ending, four.failures]).toEqual(['unreachable', []]);
    // The run ended just before the third round of attempts.
    expect(four.requests.map(({ atMs }) => atMs)).toEqual([0, 1000, 3000].flatMap((atMs) => [atMs, atMs, atMs, atMs]));
    expect(four.events.filter(({ type }) => type === 'call-retried')).toHaveLength(8);
  });

  test.each(['network', 'timeout'] as const)('ends exactly at the tenth attempt that fails because of "%s"', async (kind) => {
    const http = () => {
      throw new Failure(kind, 'in vain');
    };
    expect(await runFlow(flow(), numberedRecords(9), { http })).toMatchObject({ ending: 'complete' });
    expect(await runFlow(flow(), numberedRecords(10), { http })).toMatchObject({ ending: 'unreachable' });
    expect(await runFlow(flow(), numberedRecords(10), { http, keepGoing: true })).toMatchObject({ ending: 'complete' });
  });

  test.each([
    ['has responded once', (index: number) => (index === 0 ? { status: 500 } : refused())],
    ['has responded once with a success', (index: number) => (index === 0 ? {} : refused())],
    ['has responded to an attempt that will still be retried', (index: number) => (index < 16 ? { status: 503 } : refused())],
  ])('continues if the server %s', async (_name, answer) => {
    const { ending, rows, failures } = await runFlow(flow(', concurrency: 1, retry: { max: 1 }'), numberedRecords(100), {
      http: (_, index) => answer(index),
    });
    expect([ending, rows.length + failures.length]).toEqual(['complete', 100]);
  });

  test('continues if its records use many servers', async () => {
    const links = ids(100).map((id) => ({ link: `https://host-${id}.example.com/` }));
    const { ending, failures } = await runFlow('nodes: [{ type: http, url: "{{link}}" }]', links, { http: refused });
    expect([ending, failures.length]).toEqual(['complete', 100]);
  });
});

describe('records that all fail in the same way', () => {
  const refused: FlowOptions['http'] = () => ({ status: 401, afterMs: 10 });

  test('end the run after the first twenty records', async () => {
    const { ending, failures, requests, events } = await runFlow(flow(', concurrency: 1'), numberedRecords(500), { http: refused });
    expect([ending, requests.length, failures.length]).toEqual(['same-failure', 20, 20]);
    const reason = 'the first 20 records all failed at http-1 with http 401';
    expect(events).toContainEqual({ type: 'stopping', ending: 'same-failure', reason });
  });

  test.each([
    ['600', 'same-failure'],
    ['1', 'complete'],
  ])('and are asked to wait %s s end the run only if that is longer than retry.max_wait (%s)', async (seconds, ending) => {
    const busy = () => ({ status: 429, headers: { 'retry-after': seconds } });
    const result = await runFlow(flow(', concurrency: 1, retry: { max: 0 }'), numberedRecords(30), { http: busy });
    expect(result.ending).toBe(ending);
  });

  test('do not end the run with --keep-going', async () => {
    const { ending, failures } = await runFlow(flow(), numberedRecords(100), { http: refused, keepGoing: true });
    expect([ending, failures.length]).toEqual(['complete', 100]);
  });

  test('do not end the run if on_error is "keep"', async () => {
    const { ending, rows } = await runFlow(flow(', on_error: keep'), numberedRecords(100), { http: refused });
    expect([ending, rows.length]).toEqual(['complete', 100]);
  });
});

/** Runs a flow, and calls `act` with the run after `afterMs`. */
async function interrupted(
  act: (run: Run) => void,
  afterMs: number,
  options: FlowOptions & { flow?: string; records?: Iterable<GivenRecord> },
) {
  return runFlow(options.flow ?? flow(), options.records ?? numberedRecords(500), {
    ...options,
    started: (run, clock) => void clock.sleepUntil(afterMs).then(() => act(run)),
  });
}

const stop = ({ phase }: Run) => phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' });
const hurry = ({ phase }: Run) => phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT', patienceMs: 10_000 });
const endByErrors = ({ phase }: Run) => phase.advance('finishing', { ending: 'max-errors', message: 'too many' });
const abort = ({ phase }: Run) => phase.advance('stopped');

describe('a run that stops early but finishes its records', () => {
  test('finishes the records already begun, including retries and later nodes, and begins no new records', async () => {
    const http: FlowOptions['http'] = ({ path }, index) => ({ status: index === 0 ? 503 : 200, afterMs: path.startsWith('/b') ? 30 : 100 });
    const twoNodes = `nodes:
  - { type: http, url: "https://api.example.com/a/{{id}}", concurrency: 4 }
  - { type: http, url: "https://api.example.com/b/{{id}}", concurrency: 4 }`;
    const { ending, rows, requests, failures } = await interrupted(stop, 150, { flow: twoNodes, http });
    const begun = new Set(requests.filter(({ atMs }) => atMs <= 150).map(({ path }) => path.split('/')[2]));
    expect(ending).toBe('interrupted');
    expect(failures).toEqual([]);
    expect(rows.map(({ id }) => String(id))).toEqual([...begun]);
    expect(new Set(requests.map(({ path }) => path.split('/')[2]))).toEqual(begun);
    expect(requests.filter(({ path }) => path.startsWith('/b'))).toHaveLength(begun.size);
  });

  test('finishes a poll, with its usual waits between passes', async () => {
    const poll = `nodes:
  - type: poll
    until: isDone
    nodes: [{ type: http, url: "https://api.example.com/{{id}}", map: { isDone: done } }]`;
    const { rows, requests } = await interrupted(hurry, 1000, {
      flow: poll,
      records: numberedRecords(1),
      http: (_, index) => ({ body: { done: index === 2 } }),
    });
    expect(rows).toEqual([{ id: 0, isDone: true }]);
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 5000, 10_000]);
  });

  test('finishes all records of a batch if one record has begun', async () => {
    const batched = `nodes:
  - { type: http, url: "https://api.example.com/a/{{id}}", when: id == 1 }
  - { type: http, method: POST, url: "https://api.example.com/", batch: { size: 10, items: "{{id}}" }, body: ["{{items}}"] }
  - { type: http, url: "https://api.example.com/b/{{id}}" }`;
    const { rows, requests } = await interrupted(stop, 50, { flow: batched, records: numberedRecords(3), http: () => ({ afterMs: 100 }) });
    expect(rows).toEqual(numberedRecords(3));
    expect(requests.map(({ path }) => path)).toEqual(['/a/1', '/', '/b/0', '/b/1', '/b/2']);
  });

  test('leaves no gaps in its output, whenever it stops', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 50, maxLength: 50 }),
        fc.integer({ min: 0, max: 1500 }),
        fc.constantFrom(stop, abort),
        async (latencies, afterMs, act) => {
          const http: FlowOptions['http'] = ({ path }) => ({
            afterMs: latencies[idOf(path) % 50] as number,
            status: idOf(path) % 7 === 3 ? 404 : 200,
          });
          const { rows, failures, requests } = await interrupted(act, afterMs, { http, records: numberedRecords(200), concurrency: 5 });
          const ended = [...rows.map(({ id }) => id as number), ...failures.map(({ record }) => record - 1)].sort((a, b) => a - b);
          expect(ended).toEqual(ids(ended.length));
          expect(new Set(requests.map(({ path }) => path)).size).toBe(requests.length);
          if (act === stop) expect(ended).toHaveLength(requests.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('with --unordered, writes every record already begun', async () => {
    const { rows, requests } = await interrupted(stop, 250, {
      http: ({ path }) => ({ afterMs: 1 + ((idOf(path) * 7) % 90) }),
      unordered: true,
    });
    expect(rows).toHaveLength(requests.length);
    expect(rows.map(({ id }) => id)).not.toEqual(ids(rows.length));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  test.each([
    ['second', ['max-credits', 'interrupted'] as const],
    ['first', ['interrupted', 'max-credits'] as const],
  ])('uses the shorter grace period of two reasons to stop, here the grace period of the %s reason', async (_, asking) => {
    const both = (run: Run) => {
      for (const ending of asking)
        run.phase.advance('finishing', { ending, message: 'the reason', ...(ending === 'interrupted' && { patienceMs: 10_000 }) });
    };
    const later = { http: () => ({ status: 429, headers: { 'retry-after': '60' } }) };
    const { ending, waitedMs, failures } = await interrupted(both, 150, { ...later, records: numberedRecords(5) });
    expect([ending, failures, waitedMs]).toEqual([asking[0], [], 150]);
  });

  test('reports only once that it stops early, with the first reason', async () => {
    const again = (run: Run) => {
      stop(run);
      endByErrors(run);
    };
    const { events, ending } = await interrupted(again, 150, { http: () => ({ afterMs: 100 }) });
    expect(ending).toBe('interrupted');
    expect(events.filter(({ type }) => type === 'stopping')).toEqual([
      { type: 'stopping', ending: 'interrupted', reason: 'received SIGINT' },
    ]);
  });
});

describe('a run that is stopped at once', () => {
  test('ends immediately, even while it waits for a retry', async () => {
    const http: FlowOptions['http'] = ({ path }) => (path === '/0' ? { status: 503, headers: { 'retry-after': '100' } } : {});
    const { waitedMs, rows } = await interrupted(abort, 250, { http });
    expect(waitedMs).toBeLessThan(400);
    expect(rows).toEqual([]);
  });

  test.each(['', ', retry: { max: 0 }'])(
    'aborts calls in flight, and counts their records neither as written nor as failed%s',
    async (more) => {
      const { rows, failures, requests } = await interrupted(abort, 250, {
        flow: flow(more),
        http: ({ path }) => ({ afterMs: idOf(path) < 3 ? 10 : 100_000 }),
      });
      expect(rows.map(({ id }) => id)).toEqual([0, 1, 2]);
      expect(failures).toEqual([]);
      expect(requests).toHaveLength(16 + 3);
    },
  );

  test('with --unordered, still writes the records after an unfinished record', async () => {
    const http: FlowOptions['http'] = ({ path }) => ({ afterMs: idOf(path) === 0 ? 100_000 : 10 });
    const { rows, failures } = await interrupted(abort, 250, { http, records: numberedRecords(5), unordered: true });
    expect([rows.map(({ id }) => id), failures]).toEqual([[1, 2, 3, 4], []]);
  });

  test('aborts calls to MCP tools in the same way as HTTP requests', async () => {
    let aborted = 0;
    const tools = {
      call: () => Promise.reject(),
      server: () => Promise.reject(),
      abort: () => aborted++,
    } as unknown as FlowOptions['tools'];
    await interrupted(abort, 250, { http: () => ({ afterMs: 1000 }), ...(tools && { tools }) });
    expect(aborted).toBe(1);
  });
});

/** A node with a bug that appears at record 7. */
const buggy = defineNode({
  name: 'buggy',
  summary: '',
  example: '',
  options: z.strictObject({}),
  build: () => ({
    reads: [],
    columns: (before) => [...before],
    async run(fields) {
      if (fields.get('id') === 7) throw new TypeError('x is not a function');
      return [fields];
    },
  }),
});

describe('an error that is not caused by a record', () => {
  test('in a node ends the run and is thrown, and the earlier records are written', async () => {
    const { written, output } = watched();
    const http: FlowOptions['http'] = ({ path }) => ({ afterMs: idOf(path) * 10, status: idOf(path) === 3 ? 404 : 200 });
    const run = runFlow(`${flow()}  - { type: buggy }`, numberedRecords(50), { nodeTypes: [buggy], http, output });
    await expect(run).rejects.toThrow(new TypeError('x is not a function'));
    expect(written).toEqual([1, 2, 3, -4, 5, 6, 7]);
  });

  test("in one of a record's rows ends the run and is thrown", async () => {
    const http = () => ({ body: { ids: [1, 7, 2] } });
    const expanded = 'nodes: [{ type: http, url: "https://api.example.com/", map: { id: "ids[]" } }, { type: buggy }]';
    await expect(runFlow(expanded, [{ id: 1 }], { nodeTypes: [buggy], http })).rejects.toThrow('x is not a function');
  });

  test('in the output ends the run and is thrown', async () => {
    const output = (inner: Output): Output => ({
      ...inner,
      put(item, outcome) {
        if (item.number === 5) throw new RangeError('Invalid string length');
        return inner.put(item, outcome);
      },
    });
    await expect(runFlow(flow(), numberedRecords(50), { output })).rejects.toThrow('Invalid string length');
  });

  test('in the input ends the run and is thrown, and the earlier records are finished and written', async () => {
    const { written, output } = watched();
    function* broken() {
      yield* numberedRecords(7);
      throw new AutomateError('input', 'rows.csv:9: a quote is never closed');
    }
    const run = runFlow(flow(), broken(), { http: () => ({ afterMs: 500 }), output, batch: 1 });
    await expect(run).rejects.toThrow('a quote is never closed');
    expect(written).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});

describe('an output that fails while it is written', () => {
  test('ends the run without further calls and writes', async () => {
    let flushes = 0;
    const output = (inner: Output): Output => ({
      ...inner,
      async flush() {
        if (++flushes >= 3) throw new AutomateError('output', 'out.csv cannot be written: ENOSPC: no space left on device');
      },
    });
    let requests = 0;
    const http = () => {
      requests++;
      return { afterMs: 10 };
    };
    await expect(runFlow(flow(), numberedRecords(5000), { http, output })).rejects.toThrow('out.csv cannot be written: ENOSPC');
    // The maximum is three flushes of 100 ms each, with 16 requests every 10 ms.
    expect(requests).toBeLessThan(700);
    expect(flushes).toBe(3);
  });

  test('gets no later records, because that would leave a gap in the output', async () => {
    const clock = createFakeClock();
    const late = defineNode({
      ...{ name: 'late', summary: '', example: '', options: z.strictObject({}) },
      build: () => ({
        reads: [],
        columns: (before) => [...before],
        run: (fields) => clock.sleepUntil(Number(fields.get('id')) * 500).then(() => [fields]),
      }),
    });
    let flushes = 0;
    const output = (inner: Output): Output => ({
      ...inner,
      async flush() {
        if (++flushes === 1) throw new AutomateError('output', 'out.csv cannot be written: EIO: i/o error');
      },
    });
    const run = runFlow('nodes: [{ type: late }]', numberedRecords(3), { nodeTypes: [late], clock, output });
    await expect(run).rejects.toThrow('out.csv cannot be written: EIO');
    expect(flushes).toBe(1);
  });
});

describe('a record that has begun to expand into rows', () => {
  const counting = (field: string, more: string, nodes: string) =>
    `{ type: loop, while: ${field} < 3, carry: [${field}], ${more}nodes: [${nodes}{ type: set, fields: { ${field}: { cel: ${field} + 1 } } }] }`;
  const becoming = (behind: string) => `nodes:
  - { type: set, fields: { m: 2, n: 0 } }
  - ${counting('m', 'emit: last, ', `${counting('n', '', '')}, `)}
  - { type: http, ${behind}, map: { v: v } }
`;
  const http: FlowOptions['http'] = () => ({ afterMs: 500, body: { v: 1 } });

  test.each([
    ['an interruption', hurry],
    ['too many errors', endByErrors],
  ])('is finished even if the run ends because of %s', async (_, act) => {
    const flow = becoming('url: "https://api.example.com/{{id}}/{{n}}", concurrency: 1');
    const started: FlowOptions['started'] = (run, clock) => void clock.sleepUntil(700).then(() => act(run));
    const { requests, rows } = await runFlow(flow, numberedRecords(4), { http, started });
    expect(requests.map(({ path }) => path)).toEqual(['/0/1', '/0/2', '/0/3']);
    expect(rows.map(({ id, n }) => [id, n])).toEqual([1, 2, 3].map((n) => [0, n]));
  });

  test('is finished even if its rows share batches and too many errors end the run', async () => {
    const flow = becoming(
      'method: POST, url: "https://api.example.com/", concurrency: 1, batch: { size: 2, items: "{{n}}" }, body: ["{{items}}"]',
    );
    const started: FlowOptions['started'] = (run, clock) => void clock.sleepUntil(200).then(() => endByErrors(run));
    const answer = { http: () => ({ afterMs: 500, body: [[1, 2]] }) };
    const { requests, rows } = await runFlow(flow.replace('map: { v: v }', 'on_error: keep'), numberedRecords(2), { ...answer, started });
    expect(requests).toHaveLength(2);
    expect(rows.map(({ id }) => id)).toEqual([0, 0, 0]);
  });
});

test('a run that stops early does not continue long computations of records that have sent no request', async () => {
  const flow = `nodes:
  - { type: http, when: id == 0, url: "https://api.example.com/{{id}}", on_error: stop }
  - { type: set, fields: { n: 0 } }
  - { type: loop, max: 1000000, while: "true", carry: [n], emit: last, nodes: [{ type: set, fields: { n: { cel: n + 1 } } }] }
`;
  const clock = createFakeClock();
  let looks = 0;
  const yieldIfLong = () => (++looks % 50 === 0 ? clock.nextTurn() : undefined);
  const http: FlowOptions['http'] = () => ({ status: 404 });
  const { ending, rows, failures } = await runFlow(flow, numberedRecords(3), { http, clock: { ...clock, yieldIfLong } });
  expect([ending, rows, failures.length]).toEqual(['on-error-stop', [], 1]);
  expect(looks).toBeLessThan(100_000);
});

describe('a run that on_error: stop ends', () => {
  const bad = (count: number, at: number) => ids(count).map((id) => ({ id, n: id === at ? 'x' : '40' }));
  const judged = '  - { type: set, fields: { n: { cel: "int(n)" } }, on_error: stop }\n';

  test('finishes all records before the failed record, and none after it', async () => {
    const { ending, requests, rows, failures } = await runFlow(`nodes:\n${judged}${node()}`, bad(100, 60), {
      http: () => ({ afterMs: 10 }),
    });
    expect([ending, rows.map(({ id }) => id), failures.length]).toEqual(['on-error-stop', ids(60), 1]);
    expect(requests.map(({ path }) => idOf(path)).filter((id) => id > 60)).toEqual([]);
  });

  test('finishes the records before the failed record, even if they compute for a long time', async () => {
    const loop = '{ type: loop, emit: last, while: i < n, carry: [i], nodes: [{ type: set, fields: { i: { cel: i + 1 } } }] }';
    const clock = createFakeClock();
    let looks = 0;
    const yieldIfLong = () => (++looks % 7 === 0 ? clock.nextTurn() : undefined);
    const flow = `nodes:\n${judged}  - { type: set, fields: { i: 0 } }\n  - ${loop}\n`;
    const { ending, rows, failures } = await runFlow(flow, bad(30, 20), { clock: { ...clock, yieldIfLong } });
    expect([ending, rows.length, failures.length]).toEqual(['on-error-stop', 20, 1]);
  });

  test('does not finish records that have sent no request if it is also interrupted', async () => {
    const started: FlowOptions['started'] = (run, clock) => void clock.sleepUntil(15).then(() => hurry(run));
    const flow = `nodes:\n${judged}${node(', concurrency: 1')}`;
    const { requests, rows } = await runFlow(flow, bad(100, 60), { http: () => ({ afterMs: 10 }), started });
    expect([requests.length, rows.length]).toEqual([2, 2]);
  });
});
