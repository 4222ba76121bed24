import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/core/failure.ts';
import { createForecaster, type Forecast, type ForecastSettings } from '../../../src/engine/forecast/forecast.ts';
import { plainRecords } from '../../../src/engine/forecast/plain-records.ts';
import { compile } from '../../../src/flow/compile.ts';
import { nodeTypes } from '../../../src/nodes/index.ts';
import { type FlowOptions, type GivenRecord, runFlow, toFields } from '../../helpers/run-flow.ts';

const planOf = (yaml: string, textCells = false) => compile(yaml, { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells });

async function forecast(yaml: string, records: readonly GivenRecord[], settings: Partial<ForecastSettings> = {}): Promise<Forecast> {
  const forecaster = createForecaster(planOf(yaml), { shown: 3, ...settings });
  for (const [index, record] of records.entries()) {
    await forecaster.add({ number: index + 1, fields: toFields(record), end: { offset: 0, line: 0 } });
  }
  return forecaster.forecast();
}

const api = 'https://api.example.com';

describe('what is forecast holds', () => {
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

  test('whatever the servers answer', async () => {
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
      { numRuns: 120 },
    );
  });

  test('and exactly what is expected, when every answer is a success with one element', async () => {
    const always = written.map((node) => ({ ...node, when: '', url: '{{n}}' }));
    await fc.assert(
      fc.asyncProperty(fc.array(always, { minLength: 1, maxLength: 3 }), records, async (nodes, given) => {
        const found = await forecast(flowOf(nodes), given);
        const { requests } = await runFlow(flowOf(nodes), given, { http: () => ({ body: { a: 1, list: [{ b: 1 }] } }) });
        expect(found.actions.expected).toBe(requests.length);
        expect(found.credits.expected).toBe(given.length * nodes.reduce((sum, { credits }) => sum + credits, 0));
      }),
      { numRuns: 100 },
    );
  });

  test('with nodes inside nodes, too', async () => {
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
      { numRuns: 120 },
    );
  });

  test('for the time, at a rate', async () => {
    const flow = `nodes: [{ type: http, url: "${api}/{{id}}", rate: 4/s }, { type: http, url: "${api}/{{id}}", when: "id < 1000" }]`;
    const given = Array.from({ length: 50 }, (_, id) => ({ id }));
    const { waitedMs } = await runFlow(flow, given, { http: () => ({ afterMs: 200 }) });
    const { time } = await forecast(flow, given);
    expect(Math.abs((time?.ms ?? 0) - waitedMs)).toBeLessThan(500);
  });
});

test('a chain takes the time of all its calls', async () => {
  const flow = `nodes: [${['a', 'b', 'c'].map((path) => `{ type: http, url: "${api}/${path}/{{id}}", concurrency: 2 }`).join(', ')}]`;
  const given = Array.from({ length: 8 }, (_, id) => ({ id }));
  const { waitedMs } = await runFlow(flow, given, { http: () => ({ afterMs: 200 }) });
  const { time } = await forecast(flow, given);
  expect([time?.ms, waitedMs]).toEqual([1200, 1200]);
});

test('a record that is kept says why as it does in a run: of which node inside another, and after how many tries', async () => {
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
    const { actions, kept } = await forecast(flow, given);
    expect([requests.length, actions.expected, kept], flow).toEqual([2, 2, 2]);
  }
});

test('what a loop hands on before it fails goes on, and so does the record that is kept', async () => {
  const set = '{ type: set, fields: { n: 1 } }';
  const flow = `nodes: [{ type: loop, max: 3, while: "true", on_error: keep, nodes: [${set}] }, { type: http, url: "${api}/" }]`;
  const given = [{ n: 'x' }, { n: 'y' }];
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions]).toEqual([8, { least: 8, expected: 8, most: 8 }]);
});

test('what a loop hands on before the pass in which it first asks goes on, too', async () => {
  const inside = `{ type: set, fields: { n: { cel: "n + 1" } } }, { type: http, url: "${api}/a", when: "n == 2" }`;
  const flow = `nodes: [{ type: loop, max: 2, while: "n < 2", carry: [n], nodes: [${inside}] }, { type: http, url: "${api}/b" }]`;
  const given = [{ n: 0 }, { n: 0 }];
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions.least, actions.expected]).toEqual([6, 4, 6]);
});

test('batches hold only those whose requests are alike', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/{{who}}", batch: { size: 10, items: "{{id}}" }, body: { ids: "{{items}}" } }]`;
  const given = Array.from({ length: 60 }, (_, id) => ({ id, who: id < 25 ? 'a' : `b${id}` }));
  const { requests } = await runFlow(flow, given);
  const { actions } = await forecast(flow, given);
  expect([requests.length, actions.least, actions.expected]).toEqual([38, 38, 38]);
});

test('batches hold no two that could be taken for each other', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: 10, items: { a: "{{a}}", b: "{{b}}" }, match: { field: a, path: "r[].a" }, missing: keep }, body: { ids: "{{items}}" } }]`;
  const given = Array.from({ length: 40 }, (_, id) => ({ a: id % 20, b: id < 20 ? 1 : 2 }));
  const { requests } = await runFlow(flow, [...given, ...given], { http: () => ({ body: { r: [] } }) });
  const { actions } = await forecast(flow, [...given, ...given]);
  expect([requests.length, actions.least]).toEqual([8, 8]);
});

test('batches hold only so many bytes, and a record that is larger by itself would fail', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { items: "{{id}}", max_bytes: 20 }, body: { ids: "{{items}}" } }]`;
  const given = [...Array.from({ length: 12 }, (_, id) => ({ id: id % 10 })), { id: 'x'.repeat(20) }];
  const found = await forecast(flow, given);
  const { requests, failures } = await runFlow(flow, given, { http: () => ({ body: {} }) });
  expect([found.actions.least, found.actions.expected, requests.length]).toEqual([3, 3, 3]);
  expect(found.firstFailure).toEqual({ record: 13, message: failures[0]?.message });
});

test('those that could be taken for each other cost no batch more where they come apart', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: 2, items: { a: "{{a}}", b: "{{b}}" }, match: { field: a, path: "r[].a" }, missing: keep }, body: { ids: "{{items}}" } }]`;
  const record = fc.record({ a: fc.constantFrom('x', 'y', 'z'), b: fc.constantFrom('v', 'w') });
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 12 }), async (given) => {
      const { requests } = await runFlow(flow, given, { http: () => ({ body: { r: [] } }) });
      expect((await forecast(flow, given)).actions.least).toBeLessThanOrEqual(requests.length);
    }),
    { numRuns: 40 },
  );
  const apart = ['xv', 'yv', 'xw', 'zv'].map(([a, b]) => ({ a: a as string, b: b as string }));
  expect((await forecast(flow, apart)).actions.least).toBe(2);
});

describe('plain records', () => {
  const flow = (more: string, url = `${api}/a/{{v}}`) => `nodes: [{ type: http, url: "${url}"${more} }]`;
  const post = (body: string) => flow(`, method: POST, body: ${body}`);

  test.each([
    ['a path', flow(''), true],
    ['a header', flow(', headers: { X-V: "{{v}}" }'), true],
    ['a mapping as body', post('{ v: "{{v}}", "{{v}}": "a {{v}}" }'), true],
    ['JSON text with a reference in quotes', post('\'{"v": "{{v}}"}\''), true],
    ['JSON text with a reference outside quotes', post('\'{"v": {{v}}}\''), true],
    ['JSON text where only a number may stand', post('\'{"v": -{{v}}}\''), false],
    ['JSON text where only a string may stand', post("'{ {{v}}: 1 }'"), false],
    ['a host', flow('', 'https://{{v}}.example.com/'), false],
    ['the beginning of a URL', flow('', '{{v}}/x'), false],
    ['a batch of those with the same', post('{ ids: "{{items}}" }, batch: { items: "x" }').replace('/a/', '/'), false],
    ['a condition', flow(', when: "has(v)"'), false],
    ['another node before it', flow('').replace('[', '[{ type: set, fields: { w: "1" } }, '), false],
    ['no request at all', 'nodes: [{ type: set, fields: { w: "1" } }]', false],
  ])('of %s', (_what, yaml, arePlain) => {
    expect(plainRecords(planOf(yaml)) !== undefined).toBe(arePlain);
  });

  test('of a table have no JSON outside quotes', () => {
    expect(plainRecords(planOf(post('\'{"v": {{v}}}\''), true))).toBeUndefined();
  });

  test('with a path under a base URL, which may as well be a URL, there are none', () => {
    const yaml = `connections: { c: { type: http, base_url: "${api}" } }\nnodes: [{ type: http, connection: c, url: "{{v}}" }]`;
    expect(plainRecords(planOf(yaml))).toBeUndefined();
  });

  test('can all be rendered, and all go the same way', () => {
    const plans = [
      flow(''),
      flow(', headers: { X-V: "a{{v}}" }', `${api}/.{{v}}/%2e{{w}}?q={{v}}`),
      post('{ v: "{{v}}", "{{w}}": "a {{v}}" }'),
      post('\'{"v": {{v}}, "w": "{{w}}"}\''),
    ].map((yaml) => planOf(yaml));
    const value = fc.oneof(
      fc.constantFrom('', '.', '..', '%2e', '...', 'https://other.example.com', '\u0085', '\ud800', '\n', 'ü', '\\', '"'),
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constant(undefined),
    );
    fc.assert(
      fc.property(fc.constantFrom(...plans), value, value, (plan, v, w) => {
        const plain = plainRecords(plan);
        const fields = toFields(Object.entries({ v, w }).filter(([, given]) => given !== undefined));
        const render = () => plan.steps[0]?.node.action?.request(fields);
        if (plain?.has(fields)) expect(render()?.origin).toBe(plain.request.origin);
        else if (plain === undefined) throw new Error('these flows have plain records');
        else {
          try {
            render();
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test('are counted as if they had been rendered', async () => {
    const yaml = flow(', rate: 1/s');
    const given = ['a', 'b', 'c', 'd', '..', 'f', '', null, 5].map((v) => ({ v }));
    const found = await forecast(yaml, given);
    expect(found).toMatchObject({ records: 9, failing: 1, firstFailure: { record: 5 }, actions: { least: 8, expected: 8, most: 8 } });
    expect(found.time).toMatchObject({ by: 'rate', ms: 7200 });
    const shown = await forecast(yaml, given, { shown: 100 });
    expect({ ...shown, requests: [] }).toEqual({ ...found, requests: [] });
    expect(shown.requests).toHaveLength(8);
  });
});

test.each([
  [1, 100, 1, 1],
  [2, 100, 1, 3],
  [7, 3, 3, 11],
  [8, 1, 8, 8],
])('%i records in batches of %i are halved into at most so many requests', async (count, size, least, most) => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: ${size}, items: "{{id}}" }, body: ["{{items}}"] }]`;
  const given = Array.from({ length: count }, (_, id) => ({ id }));
  expect((await forecast(flow, given)).actions).toMatchObject({ least, most });
  const { requests } = await runFlow(flow, given, { http: () => ({ status: 400 }) });
  expect(requests).toHaveLength(most);
});

test('a record that becomes very many is counted', async () => {
  const loop = (field: string, max: number, node: string) =>
    `{ type: loop, max: ${max}, while: ${field} < ${max}, carry: [${field}], nodes: [{ type: set, fields: { ${field}: { cel: ${field} + 1 } } }${node}] }`;
  const flow = `nodes:
  - { type: set, fields: { n: 0, m: 0 } }
  - ${loop('n', 2, `, ${loop('m', 140_000, '')}`)}
  - { type: http, when: m == 7, url: "${api}/{{n}}" }
`;
  expect((await forecast(flow, [{ id: 1 }])).actions).toMatchObject({ expected: 2 });
});

test('what is not asked for is no action', async () => {
  const flow = `nodes: [{ type: http, method: POST, url: "${api}/", batch: { size: 2, items: "{{id}}", match: { field: id, path: "r[].id" }, missing: keep }, body: ["{{items}}"] }]`;
  expect((await forecast(flow, [{ id: null }])).actions).toMatchObject({ least: 0, expected: 0, most: 0 });
  expect((await forecast(flow, [{ id: null }, { id: 'a' }, { id: null }])).actions).toMatchObject({ least: 1, expected: 1, most: 1 });
});
