import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock, Output } from '../../src/core/ports.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, type GivenRecord, rowsInMemory, runFlow } from '../helpers/run-flow.ts';

const flow = (more = '') => `nodes: [{ type: http, url: "https://api.example.com/{{id}}"${more} }]`;
const ids = (count: number) => Array.from({ length: count }, (_, id) => id);
const idOf = (path: string) => Number(path.slice(1));

/** Creates records and counts how many of them have been read. */
function counted(count: number) {
  const reading = { read: 0 };
  function* read(): Generator<GivenRecord> {
    for (let id = 0; id < count; id++) {
      reading.read++;
      yield { id };
    }
  }
  return { reading, records: read() };
}

/** Creates an output that takes `ms` for each write, and counts the records written. */
function slowOutput(ms: number) {
  const state = { put: 0, written: 0 };
  const output = (inner: Output, clock: Clock): Output => ({
    waiting: 0,
    park: () => false,
    partialRows: rowsInMemory,
    put(item, outcome) {
      state.put++;
      return inner.put(item, outcome);
    },
    async flush() {
      const { put } = state;
      await clock.sleepUntil(clock.now() + ms);
      state.written = put;
    },
  });
  return { state, output };
}

describe('the output of a run', () => {
  test('is in input order, whatever the latencies, failures and retries', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 500 }), status: fc.constantFrom(200, 200, 200, 404, 503) }), {
          maxLength: 80,
        }),
        fc.integer({ min: 1, max: 20 }),
        async (answers, concurrency) => {
          const retried = new Set<string>();
          const http: FlowOptions['http'] = ({ path }) => {
            const answer = answers[idOf(path)] as { status: number; afterMs: number };
            if (answer.status !== 503 || retried.has(path)) return { ...answer, status: answer.status === 503 ? 200 : answer.status };
            retried.add(path);
            return answer;
          };
          const { rows, failures, requests } = await runFlow(flow(), numberedRecords(answers.length), { http, concurrency });
          const failing = ids(answers.length).filter((id) => answers[id]?.status === 404);
          expect(rows.map(({ id }) => id)).toEqual(ids(answers.length).filter((id) => !failing.includes(id)));
          expect(failures.map(({ record }) => record - 1)).toEqual(failing);
          expect(requests).toHaveLength(answers.length + retried.size);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('with --unordered, is in the order in which the records finish', async () => {
    const http: FlowOptions['http'] = ({ path }) => ({ afterMs: 1000 - idOf(path) });
    const { rows } = await runFlow(flow(', concurrency: 100'), numberedRecords(50), { http, unordered: true });
    expect(rows.map(({ id }) => id)).toEqual(ids(50).reverse());
  });
});

describe('a slow record', () => {
  const slowFirst: FlowOptions['http'] = ({ path }) => ({ afterMs: path === '/0' ? 3000 : 10 });

  test('does not delay the requests of later records', async () => {
    const { requests, waitedMs, rows } = await runFlow(flow(', concurrency: 4'), numberedRecords(900), { http: slowFirst });
    expect(requests.at(-1)?.atMs).toBeLessThan(3100);
    expect(waitedMs).toBeLessThan(3200);
    expect(rows.map(({ id }) => id)).toEqual(ids(900));
  });

  test('delays nothing with --unordered, even if 3,000 records follow', async () => {
    const { rows, waitedMs } = await runFlow(flow(', concurrency: 4'), numberedRecords(3000), { http: slowFirst, unordered: true });
    expect(rows).toHaveLength(3000);
    expect(waitedMs).toBeLessThan((3000 / 3) * 10 + 200);
  });
});

describe('reading the input', () => {
  test.each([16, 500])('is ahead of the output by twice the concurrency (%i)', async (concurrency) => {
    const { reading, records } = counted(6000);
    const clock = createFakeClock();
    let answered = 0;
    let furthest = 0;
    const http: FlowOptions['http'] = async () => {
      await clock.sleepUntil(clock.now() + 10);
      furthest = Math.max(furthest, reading.read - answered++);
      return {};
    };
    await runFlow(flow(`, concurrency: ${concurrency}`), records, { http, clock, batch: 10 });
    expect(furthest).toBeGreaterThanOrEqual(2 * concurrency);
    expect(furthest).toBeLessThanOrEqual(2 * concurrency + 10);
  });

  test('continues with records for other hosts while calls to one host are paused', async () => {
    const { rows } = await runFlow(
      'nodes: [{ type: http, url: "https://{{host}}.example.com/{{id}}", concurrency: 4 }]',
      ids(1000).map((id) => ({ id, host: id % 10 === 0 ? 'busy' : 'idle' })),
      {
        unordered: true,
        http: ({ path, atMs }) => (path === '/0' && atMs < 30_000 ? { status: 429, headers: { 'retry-after': '30' } } : {}),
      },
    );
    expect(rows).toHaveLength(1000);
    expect(rows.slice(-90).every(({ host }) => host === 'busy')).toBe(true);
  });

  test('stops after 1024 records if the first record never finishes', async () => {
    const { reading, records } = counted(6000);
    const { rows } = await runFlow(flow(), records, {
      batch: 1,
      http: ({ path }) => ({ afterMs: path === '/0' ? 60_000 : 1 }),
      started: ({ phase }, clock) =>
        void clock.sleepUntil(50_000).then(() => phase.advance('finishing', { ending: 'interrupted', message: 'enough' })),
    });
    expect(reading.read).toBeLessThanOrEqual(1025);
    expect(rows.map(({ id }) => id)).toEqual(ids(1024));
  });

  test('stops after 1024 calls instead of 1024 records if the flow has several nodes', async () => {
    const node = (name: string) => `{ type: http, url: "https://api.example.com/${name}/{{id}}" }`;
    const { requests } = await runFlow(`nodes: [${['a', 'b', 'c', 'd'].map(node).join(', ')}]`, counted(6000).records, {
      batch: 1,
      http: ({ path }) => ({ afterMs: path === '/a/0' ? 60_000 : 1 }),
      started: ({ phase }, clock) =>
        void clock.sleepUntil(50_000).then(() => phase.advance('finishing', { ending: 'interrupted', message: 'enough' })),
    });
    expect(requests.length).toBeLessThanOrEqual(1024);
    expect(requests.length).toBeGreaterThan(1000);
  });

  test('waits if the output is slow', async () => {
    const { reading, records } = counted(5000);
    const { state, output } = slowOutput(1000);
    const clock = createFakeClock();
    let furthest = 0;
    const http: FlowOptions['http'] = () => {
      furthest = Math.max(furthest, reading.read - state.written);
      return {};
    };
    const { rows } = await runFlow(flow(), records, { http, clock, output, batch: 1 });
    expect(furthest).toBeLessThanOrEqual(1025);
    expect(state).toEqual({ put: 5000, written: 5000 });
    expect(rows).toHaveLength(5000);
  });
});

test('finished records are written during the run, not just at its end', async () => {
  const { state, output } = slowOutput(0);
  const seen: number[] = [];
  const http: FlowOptions['http'] = () => {
    seen.push(state.written);
    return { afterMs: 1000 };
  };
  await runFlow(flow(', concurrency: 1'), numberedRecords(4), { http, output });
  expect(seen).toEqual([0, 1, 2, 3].map((count) => Math.max(0, count - 1)));
});
