import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../src/flow/compile.ts';
import { type Forecast, Forecaster, type ForecastSettings } from '../../../src/preview/forecast/forecast.ts';
import { createFakeClock } from '../../helpers/fake-clock.ts';
import { nodeTypes } from '../../helpers/node-types.ts';
import { type FlowOptions, type GivenRecord, runFlow, toFields } from '../../helpers/run-flow.ts';

const planOf = (yaml: string) => compile(yaml, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: false });

async function forecast(yaml: string, records: readonly GivenRecord[], settings: Partial<ForecastSettings> = {}): Promise<Forecast> {
  const forecaster = new Forecaster(planOf(yaml), { clock: createFakeClock(), maxRequests: 3, ...settings });
  for (const [index, record] of records.entries()) {
    await forecaster.add({ number: index + 1, fields: toFields(record), end: { offset: 0, line: 0 } });
  }
  return forecaster.forecast();
}

const api = 'https://api.example.com';

describe("the forecast of a run's calls", () => {
  const written = fc.record({
    when: fc.constantFrom('', ', when: "n > 2"'),
    url: fc.constantFrom('{{n}}', '{{p}}'),
    map: fc.constantFrom('', ', map: { a: a }', ', map: { b: "list[].b" }'),
    onError: fc.constantFrom('', ', on_error: keep'),
    credits: fc.integer({ min: 0, max: 3 }),
  });
  interface Written {
    readonly when: string;
    readonly url: string;
    readonly map: string;
    readonly onError: string;
    readonly credits: number;
  }
  const nodeOf = ({ when, url, map, onError, credits }: Written) =>
    `{ type: http, url: "${api}/${url}"${when}${map}${onError}, credits: ${credits} }`;
  const flowOf = (nodes: readonly Written[]) => `nodes:\n${nodes.map((node) => `  - ${nodeOf(node)}\n`).join('')}`;
  const records = fc.array(fc.record({ n: fc.integer({ min: 0, max: 5 }), p: fc.constantFrom('x', '..', '') }), { maxLength: 8 });

  test('has a minimum and a maximum that hold for every run, whatever the servers respond', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(written, { minLength: 1, maxLength: 3 }),
        records,
        fc.infiniteStream(fc.nat(9)),
        async (nodes, given, luck) => {
          const found = await forecast(flowOf(nodes), given);
          const { requests, failures } = await runFlow(`${flowOf(nodes)}`, given, {
            http: () => {
              const drawn = luck.next().value;
              return { status: drawn === 0 ? 404 : 200, body: { a: 1, list: Array.from({ length: drawn % 4 }, (_, b) => ({ b })) } };
            },
          });
          expect(requests.length).toBeGreaterThanOrEqual(found.actions.least);
          expect(requests.length).toBeLessThanOrEqual(found.actions.most);
          expect(failures.length).toBeGreaterThanOrEqual(found.failing);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('equals the calls of a run in which every response is successful and has one element', async () => {
    const always = written.map((node) => ({ ...node, when: '', url: '{{n}}' }));
    await fc.assert(
      fc.asyncProperty(fc.array(always, { minLength: 1, maxLength: 3 }), records, async (nodes, given) => {
        const found = await forecast(flowOf(nodes), given);
        const { requests } = await runFlow(flowOf(nodes), given, { http: () => ({ body: { a: 1, list: [{ b: 1 }] } }) });
        expect(found.actions.expected).toBe(requests.length);
        expect(found.credits.expected).toBe(given.length * nodes.reduce((sum, { credits }) => sum + credits, 0));
      }),
      { numRuns: 30 },
    );
  });

  test('has a minimum and a maximum that hold even for nested nodes', async () => {
    const around = fc.constantFrom(
      (inside: string) => `  - { type: loop, max: 3, while: "n > 3", nodes: [${inside}] }\n`,
      (inside: string) => `  - { type: loop, max: 2, while: "n > 1", emit: last, on_error: keep, nodes: [${inside}] }\n`,
      (inside: string) => `  - { type: poll, every: 1s, timeout: 3s, until: "n < 4", when: "n != 2", nodes: [${inside}] }\n`,
      (inside: string) =>
        `  - { type: loop, max: 2, while: "n > 4", nodes: [{ type: set, fields: { m: "{{n}}" } }, { type: poll, every: 1ms, timeout: 3ms, until: "n < 4", nodes: [${inside}] }] }\n`,
      (inside: string) => `  - ${inside}\n`,
    );
    const parts = fc.array(fc.tuple(around, written), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(parts, records, fc.infiniteStream(fc.nat(9)), async (nodes, given, luck) => {
        const yaml = `nodes:\n${nodes.map(([wrap, node], index) => wrap(nodeOf(node).replace('{', `{ id: n${index},`))).join('')}`;
        const found = await forecast(yaml, given);
        const http: FlowOptions['http'] = () => {
          const drawn = luck.next().value;
          return { status: drawn === 0 ? 404 : 200, body: { a: 1, list: Array.from({ length: drawn % 4 }, (_, b) => ({ b })) } };
        };
        const { requests, failures } = await runFlow(yaml, given, { http });
        expect(requests.length).toBeGreaterThanOrEqual(found.actions.least);
        expect(requests.length).toBeLessThanOrEqual(found.actions.most);
        expect(failures.length).toBeGreaterThanOrEqual(found.failing);
      }),
      { numRuns: 60 },
    );
  });

  test('includes the correct duration if there is a rate limit', async () => {
    const flow = `nodes: [{ type: http, url: "${api}/{{id}}", rate: 4/s }, { type: http, url: "${api}/{{id}}", when: "id < 1000" }]`;
    const given = Array.from({ length: 50 }, (_, id) => ({ id }));
    const { waitedMs } = await runFlow(flow, given, { http: () => ({ afterMs: 200 }) });
    const { time } = await forecast(flow, given);
    expect(Math.abs((time?.ms ?? 0) - waitedMs)).toBeLessThan(500);
  });
});

test('the forecast of the duration includes all nodes of the flow', async () => {
  const flow = `nodes: [${['a', 'b', 'c'].map((path) => `{ type: http, url: "${api}/${path}/{{id}}", concurrency: 2 }`).join(', ')}]`;
  const given = Array.from({ length: 8 }, (_, id) => ({ id }));
  const { waitedMs } = await runFlow(flow, given, { http: () => ({ afterMs: 200 }) });
  const { time } = await forecast(flow, given);
  expect([time?.ms, waitedMs]).toEqual([1200, 1200]);
});

test('the forecast gives a failed record the same _error as the run', async () => {
  const inside = '{ type: set, id: age, fields: { n: { cel: "int(n)" } } }';
  const loops = (more: string) => `{ type: loop, id: around, max: 1, while: "true", on_error: keep, nodes: [${more}] }`;
  const asking = (when: string) => `{ type: http, url: "${api}/", when: '${when}' }`;
  const flowOf = (first: string, when: string) => `nodes: [${first}, ${asking(when)}]`;
  for (const flow of [
    flowOf(loops(inside), '_error.node == "age"'),
    flowOf(
      loops('{ type: set, fields: { n: 1 } }').replace('max: 1', 'max: 1, emit: last'),
      '_error.node == "around" && _error.attempts == 0',
    ),
  ]) {
    const given = [{ n: 'x' }, { n: 'y' }];
    const { requests } = await runFlow(flow, given);
    const { actions, passedThrough } = await forecast(flow, given);
    expect([requests.length, actions.expected, passedThrough], flow).toEqual([2, 2, 2]);
  }
});

test('the forecast runs a set node that renames a field which a record lacks, before and after the first call', async () => {
  const rename = (from: string, to: string) => `{ type: set, rename: { ${from}: ${to} } }`;
  const flow = `nodes: [${rename('a', 'b')}, { type: http, url: "${api}/{{n}}" }, ${rename('d', 'e')}]`;
  expect(await forecast(flow, [{ n: 1, a: 1, d: 1 }, { n: 2 }])).toMatchObject({ records: 2, failing: 0, actions: { expected: 2 } });
});

test('the forecast counts the rows that a loop emits before it fails, and the record that on_error passes through', async () => {
  const set = '{ type: set, fields: { n: 1 } }';
  const flow = `nodes: [{ type: loop, max: 3, while: "true", on_error: keep, nodes: [${set}] }, { type: http, url: "${api}/" }]`;
  const given = [{ n: 'x' }, { n: 'y' }];
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions]).toEqual([8, { least: 8, expected: 8, most: 8 }]);
});

test('the forecast counts the rows that a loop emits before the pass that makes the first call', async () => {
  const inside = `{ type: set, fields: { n: { cel: "n + 1" } } }, { type: http, url: "${api}/a", when: "n == 2" }`;
  const flow = `nodes: [{ type: loop, max: 2, while: "n < 2", carry: [n], nodes: [${inside}] }, { type: http, url: "${api}/b" }]`;
  const given = [{ n: 0 }, { n: 0 }];
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions.least, actions.expected]).toEqual([6, 4, 6]);
});

test('the forecast puts records into the same batch only if their requests are otherwise equal', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/{{who}}", batch: { size: 10, items: "{{id}}" }, body: { ids: "{{items}}" } }]`;
  const given = Array.from({ length: 60 }, (_, id) => ({ id, who: id < 25 ? 'a' : `b${id}` }));
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions.least, actions.expected]).toEqual([38, 38, 38]);
});

test('the forecast never puts conflicting records into the same batch', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: 10, items: { a: "{{a}}", b: "{{b}}" }, match: { field: a, path: "r[].a" }, missing: keep }, body: { ids: "{{items}}" } }]`;
  const given = Array.from({ length: 40 }, (_, id) => ({ a: id % 20, b: id < 20 ? 1 : 2 }));
  const { requests } = await runFlow(flow, [...given, ...given], { http: () => ({ body: { r: [] } }) });
  const { actions } = await forecast(flow, [...given, ...given]);
  expect([requests.length, actions.least]).toEqual([8, 8]);
});

test('the forecast keeps batches within max_bytes, and fails a record that alone exceeds it', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { items: "{{id}}", max_bytes: 20 }, body: { ids: "{{items}}" } }]`;
  const given = [...Array.from({ length: 12 }, (_, id) => ({ id: id % 10 })), { id: 'x'.repeat(20) }];
  const found = await forecast(flow, given);
  const { requests, failures } = await runFlow(flow, given, { http: () => ({ body: {} }) });
  expect([found.actions.least, found.actions.expected, requests.length]).toEqual([3, 3, 3]);
  expect(found.firstFailure).toEqual({ record: 13, message: failures[0]?.message });
});

test('the forecast adds no batch for conflicting records that are in different batches anyway', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: 2, items: { a: "{{a}}", b: "{{b}}" }, match: { field: a, path: "r[].a" }, missing: keep }, body: { ids: "{{items}}" } }]`;
  const record = fc.record({ a: fc.constantFrom('x', 'y', 'z'), b: fc.constantFrom('v', 'w') });
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 12 }), async (given) => {
      const { requests } = await runFlow(flow, given, { http: () => ({ body: { r: [] } }) });
      expect((await forecast(flow, given)).actions.least).toBeLessThanOrEqual(requests.length);
    }),
    { numRuns: 20 },
  );
  const apart = ['xv', 'yv', 'xw', 'zv'].map(([a, b]) => ({ a: a as string, b: b as string }));
  expect((await forecast(flow, apart)).actions.least).toBe(2);
});

test('the forecast counts identical requests once at a node with a cache, because they are sent once', async () => {
  const flow = `nodes: [{ type: http, url: "${api}/{{n}}", cache: 1h, map: [a] }, { type: http, url: "${api}/x", map: [b] }]`;
  const given = Array.from({ length: 30 }, (_, id) => ({ n: id % 3 }));
  const { requests } = await runFlow(flow, given, { http: () => ({ body: { a: 1, b: 2 } }) });
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions.least, actions.expected, actions.most]).toEqual([33, 0, 33, 60]);
});

describe('the forecast of tokens for a language model', () => {
  const llm = (more: string) => `{ type: llm, provider: ollama, model: m, max_tokens: 100, ${more} }`;

  test('assumes four characters per token, and the longest possible answers for the cost', async () => {
    const flow = `nodes: [${llm('system: "12345678", prompt: "{{t}}", price: { input: 1000, output: 2000 }')}]`;
    const { tokens } = await forecast(flow, [{ t: 'a'.repeat(40) }, { t: 'b'.repeat(8) }, { t: ' ' }]);
    expect(tokens).toEqual({ input: 12 + 4, maxOutput: 200, maxCost: 0.416, stops: [] });
  });

  test("includes the schema of the model's answer, and has no cost if no price is set", async () => {
    const { tokens } = await forecast(`nodes: [${llm('prompt: "{{t}}", output: { a: {} }')}]`, [{ t: 'a' }]);
    expect(tokens).toMatchObject({
      input: Math.ceil(
        (1 + '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}'.length) / 4,
      ),
    });
    expect(tokens?.maxCost).toBeUndefined();
  });

  test('counts a prompt only once if the cache has the answer for the other records', async () => {
    const { tokens } = await forecast(`nodes: [${llm('prompt: "{{t}}", cache: 1h')}]`, [{ t: '12345678' }, { t: '12345678' }]);
    expect(tokens).toMatchObject({ input: 2, maxOutput: 100 });
  });

  test('is an estimate for prompts that contain earlier responses', async () => {
    const flow = `nodes: [{ type: http, url: "${api}/{{n}}", map: [a] }, ${llm('prompt: "{{a}}1234567"')}]`;
    expect((await forecast(flow, [{ n: 1 }, { n: 2 }])).tokens).toMatchObject({ input: 4, maxOutput: 200 });
    const set = `{ type: set, fields: { long: "{{a}}${'x'.repeat(79)}" } }`;
    const withSet = `nodes: [{ type: http, url: "${api}/{{n}}", map: [a] }, ${set}, ${llm('prompt: "{{long}}"')}]`;
    expect((await forecast(withSet, [{ n: 1 }])).tokens).toMatchObject({ input: 20 });
  });

  test('is undefined if the flow has no language model', async () => {
    expect((await forecast(`nodes: [{ type: http, url: "${api}/" }]`, [{}])).tokens).toBeUndefined();
  });
});

test('a forecast shows identical requests of a node with a cache only once', async () => {
  const flow = `nodes: [{ type: http, url: "${api}/{{n}}", cache: 1h }]`;
  const { requests } = await forecast(flow, [{ n: 1 }, { n: 1 }, { n: 2 }, { n: 1 }, { n: 3 }, { n: 4 }]);
  expect(requests.map((request) => 'path' in request && request.path)).toEqual(['/1', '/2', '/3']);
});
