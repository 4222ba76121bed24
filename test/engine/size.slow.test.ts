import { expect, test } from 'vitest';
import type { Output } from '../../src/core/ports.ts';
import { type GivenRecord, rowsInMemory, runFlow } from '../helpers/run-flow.ts';

function* records(count: number): Generator<GivenRecord> {
  for (let id = 0; id < count; id++) yield { id, text: `a text of record ${id}` };
}

/** Creates an output that discards what is written to it, and measures the memory in use. */
function forgetful(every = 20_000) {
  const seen = { rows: 0, heapMb: [] as number[] };
  const output = (): Output => ({
    waiting: 0,
    park: () => false,
    partialRows: rowsInMemory,
    put(_item, outcome) {
      seen.rows++;
      if (seen.rows % every === 0) seen.heapMb.push(process.memoryUsage().heapUsed / 1e6);
      return outcome;
    },
    flush: async () => undefined,
  });
  return { seen, output };
}

test('with --unordered, records that overtake a slow record take no memory', async () => {
  const { seen, output } = forgetful(2000);
  const text = (id: number) => Buffer.alloc(40_000, String(id)).toString('latin1');
  const given = function* (): Generator<GivenRecord> {
    for (let id = 0; id < 10_000; id++) yield { id, text: text(id) };
  };
  const { ending } = await runFlow('nodes: [{ type: http, url: "https://api.example.com/{{id}}" }]', given(), {
    ...{ output, batch: 50, forget: true, unordered: true },
    http: ({ path }) => ({ afterMs: path === '/0' ? 1_000_000 : 1 }),
  });
  expect([ending, seen.rows]).toEqual(['complete', 10_000]);
  expect(Math.max(...seen.heapMb) - (seen.heapMb[0] as number)).toBeLessThan(150);
});

test('a run over 100,000 records uses as much memory at its end as at its beginning', async () => {
  const { seen, output } = forgetful();
  const { ending } = await runFlow('nodes: [{ type: set, fields: { label: "{{id}}!" } }]', records(100_000), {
    output,
    batch: 500,
    forget: true,
  });
  expect([ending, seen.rows]).toEqual(['complete', 100_000]);
  expect(Math.max(...seen.heapMb) - (seen.heapMb[0] as number)).toBeLessThan(60);
});

test('a loop frees the memory of values that it has carried from pass to pass', async () => {
  const heapMb: number[] = [];
  const flow = `nodes:
  - type: loop
    max: 5000
    while: n < 1500
    carry: [cursor, n]
    emit: last
    nodes: [{ type: http, url: "https://api.example.com/{{n}}", map: [cursor, n] }]`;
  const { rows } = await runFlow(flow, [{ cursor: '', n: 0 }], {
    forget: true,
    http: ({ path }) => {
      const n = Number(path.slice(1)) + 1;
      if (n % 250 === 0) heapMb.push(process.memoryUsage().heapUsed / 1e6);
      return { body: { cursor: Buffer.alloc(100_000, String(n)).toString('latin1'), n } };
    },
  });
  expect(rows).toHaveLength(1);
  expect(Math.max(...heapMb) - (heapMb[0] as number)).toBeLessThan(60);
});
