import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { ToolAnswer, Tools } from '../../src/core/tools.ts';
import { Gates } from '../../src/engine/gates.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, type FlowResult, runFlow } from '../helpers/run-flow.ts';

const api = 'https://api.example.com';

/** Creates a process with several runs. Its server responds after 100 ms and records the maximum number of requests in flight. */
function process() {
  const clock = createFakeClock();
  const gates = new Gates(clock);
  const paths: string[] = [];
  const inFlight = { now: 0, max: 0 };
  const http: FlowOptions['http'] = async ({ path }) => {
    paths.push(path);
    inFlight.max = Math.max(inFlight.max, ++inFlight.now);
    await clock.sleepUntil(clock.now() + 100);
    inFlight.now--;
    return {};
  };
  const run = (yaml: string, records: number, options: FlowOptions = {}) =>
    runFlow(yaml, numberedRecords(records), { clock, gates, http, ...options });
  return { clock, gates, run, inFlight, paths };
}

const rowsOf = (results: readonly FlowResult[]) => results.map(({ rows }) => rows.length);

describe('the concurrency limit of a node', () => {
  const flow = (name: string, concurrency = 3) =>
    `name: ${name}\nnodes: [{ type: http, url: "${api}/${name}/{{id}}", concurrency: ${concurrency} }]`;

  test('applies to all runs and calls of the same flow together, and is fully used', async () => {
    const { run, inFlight } = process();
    const runs = [30, 30, 30, 1, 1, 1, 1, 1, 1].map((records) => run(flow('people'), records));
    const results = await Promise.all(runs);
    expect(rowsOf(results)).toEqual([30, 30, 30, 1, 1, 1, 1, 1, 1]);
    expect(inFlight.max).toBe(3);
    expect(Math.max(...results.map(({ waitedMs }) => waitedMs))).toBe(3200);
  });

  test('makes a call wait for only one request of each run, not for all records of the runs', async () => {
    const { run, clock } = process();
    const big = [run(flow('people'), 1000), run(flow('people'), 1000)];
    await clock.sleepUntil(1050);
    const { waitedMs } = await run(flow('people'), 1);
    expect(waitedMs).toBeLessThanOrEqual(1300);
    expect(rowsOf(await Promise.all(big))).toEqual([1000, 1000]);
  });

  test('is counted separately for each flow', async () => {
    const { run, inFlight } = process();
    await Promise.all([run(flow('people'), 30), run(flow('places'), 30)]);
    expect(inFlight.max).toBe(6);
  });

  test('is the lower of the two limits if two versions of the flow run at the same time', async () => {
    const { run, inFlight, clock } = process();
    const versions = [run(flow('people', 2), 10), run(flow('people', 5), 50)];
    await clock.sleepUntil(850);
    expect(inFlight.max).toBe(2);
    await Promise.all(versions);
    expect(inFlight.max).toBe(5);
    expect(clock.now()).toBeLessThan(2500);
  });

  test('does not count a record that waits for its retry', async () => {
    const { run, clock } = process();
    const refused = run(flow('people', 1), 1, { http: (_, index) => ({ status: index === 0 ? 503 : 200 }) });
    await clock.nextTurn();
    const { waitedMs } = await run(flow('people', 1), 1);
    expect(waitedMs).toBe(100);
    expect((await refused).waitedMs).toBe(1000);
  });

  test('does not count a call that waits at a paused gate', async () => {
    const { run, clock } = process();
    const links = (host: string) => `name: links\nnodes: [{ type: http, url: "https://${host}.example.com/{{id}}", concurrency: 1 }]`;
    const http: FlowOptions['http'] = (_, index) => (index === 0 ? { status: 429, headers: { 'retry-after': '60' } } : {});
    const paused = run(links('slow'), 5, { http });
    await clock.nextTurn();
    const { waitedMs } = await run(links('fast'), 3);
    expect(waitedMs).toBe(300);
    expect((await paused).rows).toHaveLength(5);
  });
});

describe('the concurrency limit of a connection', () => {
  const flow = (name: string, connections = '') =>
    `name: ${name}\n${connections}nodes: [{ type: http, connection: api, url: "/${name}/{{id}}" }, { type: http, connection: api, url: "/${name}/again" }]`;
  const connection = { type: 'http', base_url: api, concurrency: 4 };
  const savedConnections = { api: connection };

  test('applies to all flows together that use the same saved connection', async () => {
    const { run, inFlight } = process();
    const results = await Promise.all(['people', 'places'].map((name) => run(flow(name), 20, { savedConnections })));
    expect(rowsOf(results)).toEqual([20, 20]);
    expect(inFlight.max).toBe(4);
  });

  test('applies to only one flow if that flow itself defines the connection', async () => {
    const { run, inFlight } = process();
    const own = `connections: { api: ${JSON.stringify(connection)} }\n`;
    await Promise.all([run(flow('people', own), 20), run(flow('people', own), 20)]);
    expect(inFlight.max).toBe(4);
    await Promise.all([run(flow('people', own), 20), run(flow('places'), 20, { savedConnections })]);
    expect(inFlight.max).toBe(8);
  });
});

describe('a public server with a usage policy', () => {
  const nodes = {
    Overpass: 'type: places, lookup: points, category: amenity/cafe, near: { lat: "{{id}}", lon: 13, radius: 500m }',
    Nominatim: 'type: geocode, provider: nominatim, address: "{{id}} Main St"',
    Photon: 'type: geocode, provider: photon, address: "{{id}} Main St"',
  };
  const flow = (name: string, node: string, more = '') => `name: ${name}\nnodes: [{ ${node}${more} }]`;
  /** Creates a server that takes 5 s to respond, which is longer than the 1 s required between two requests. */
  const slow = ({ clock, inFlight }: ReturnType<typeof process>): FlowOptions['http'] => {
    return async ({ path }) => {
      inFlight.max = Math.max(inFlight.max, ++inFlight.now);
      await clock.sleepUntil(clock.now() + 5000);
      inFlight.now--;
      return { body: path.startsWith('/search') ? [] : { elements: [], features: [] } };
    };
  };

  test.each(Object.entries(nodes))(
    'gets only one request at a time from all flows and runs together if the node is %s',
    async (_, node) => {
      const all = process();
      const http = slow(all);
      const runs = [
        all.run(flow('one', node), 3, { http }),
        all.run(flow('one', node), 1, { http }),
        all.run(flow('two', node, ', concurrency: 9, rate: 100/s'), 2, { http, concurrency: 20, intervalMs: 1 }),
        all.run(`name: three\nnodes: [{ ${node} }, { ${node.replace('500m', '600m').replace('Main', 'Oak')} }]`, 1, { http }),
      ];
      await Promise.all(runs);
      expect([all.inFlight.max, all.clock.now()]).toEqual([1, 40_000]);
    },
  );

  test('does not delay requests to other servers', async () => {
    const all = process();
    const http = slow(all);
    const own = { type: 'http', base_url: 'https://own.example.com' };
    await Promise.all([
      all.run(flow('one', nodes.Overpass), 1, { http }),
      all.run(flow('one', nodes.Photon), 1, { http }),
      all.run(flow('two', nodes.Photon, ', connection: own'), 3, { http, savedConnections: { own } }),
    ]);
    expect([all.inFlight.max, all.clock.now()]).toEqual([5, 5000]);
  });
});

describe('a run that stops or fails', () => {
  const llm = 'type: llm, provider: ollama, model: m, max_tokens: 10, prompt: "{{id}}"';
  const inner = `nodes: [{ id: call, type: http, url: "${api}/{{id}}", concurrency: 1, map: { s: s } }]`;
  const flows: readonly (readonly [string, string])[] = [
    ['http', `{ type: http, url: "${api}/{{id}}", concurrency: 1 }`],
    [
      'http with pages',
      `{ type: http, url: "${api}/{{id}}", concurrency: 1, paginate: { type: next_url, path: next }, map: { n: "list[].n" } }`,
    ],
    [
      'http with a batch',
      `{ type: http, method: POST, url: "${api}/", batch: { size: 2, items: "{{id}}" }, body: "{{items}}", concurrency: 1 }`,
    ],
    ['poll', `{ type: poll, until: 's == "done"', ${inner} }`],
    ['loop', `{ type: loop, while: 's == "more"', carry: [s], ${inner} }`],
    ['mcp', '{ type: mcp, connection: search, tool: search, concurrency: 1 }'],
    ['llm', `{ ${llm}, concurrency: 1 }`],
    ['a lookup with a server', '{ type: geocode, provider: census-us, address: "{{id}} Main St", concurrency: 1 }'],
  ];
  const yamlOf = (node: string) =>
    `connections: { search: { type: mcp, url: https://search.example.com/mcp } }\nname: people\nnodes: [${node}]\n`;

  /** Creates tools that count their calls. Each call hangs until it is aborted, and then fails. */
  function hangingTools(called: () => void): Tools {
    const aborting = new AbortController();
    const aborted = () =>
      new Promise<ToolAnswer>((_, reject) => aborting.signal.addEventListener('abort', () => reject(new Failure('network', 'aborted'))));
    return {
      call: () => {
        called();
        return aborted();
      },
      server: () => Promise.reject(new Error('not asked for')),
      abort: () => aborting.abort(),
    };
  }

  /** Starts a run whose calls never end by themselves. `sent.calls` is the number of calls that it has sent so far. */
  function hanging({ run }: ReturnType<typeof process>, yaml: string) {
    const sent = { calls: 0 };
    let stop = () => {};
    const count = () => void sent.calls++;
    const ended = run(yaml, 8, {
      http: () => {
        count();
        return new Promise(() => {});
      },
      tools: hangingTools(count),
      started: ({ phase }) => {
        stop = () => phase.advance('stopped');
      },
    });
    return { ended, sent, stop: () => stop() };
  }

  test.each(flows)('gives up its slot and its position in the queue if the node is %s', async (_, node) => {
    const all = process();
    const yaml = yamlOf(node);
    const first = hanging(all, yaml);
    await all.clock.nextTurn();
    const second = hanging(all, yaml);
    const third = hanging(all, yaml);
    await all.clock.nextTurn();
    expect([first, second, third].map(({ sent }) => sent.calls)).toEqual([1, 0, 0]);
    second.stop();
    await second.ended;
    first.stop();
    await first.ended;
    await all.clock.nextTurn();
    expect([first, second, third].map(({ sent }) => sent.calls)).toEqual([1, 0, 1]);
    third.stop();
    await third.ended;
    const last = hanging(all, yaml);
    await all.clock.nextTurn();
    expect(last.sent.calls).toBe(1);
    last.stop();
    await last.ended;
  });

  test.each(flows.slice(0, 5))('gives up its slot if its calls fail and the node is %s', async (_, node) => {
    const { run } = process();
    const failing = { http: () => ({ status: 400, afterMs: 10 }) };
    const results = await Promise.all([run(yamlOf(node), 3, failing), run(yamlOf(node), 3, failing)]);
    for (const { failures } of results) expect(failures).toHaveLength(3);
  });

  test('gives up its slot if the output fails', async () => {
    const { run, inFlight, clock } = process();
    const flow = (concurrency: number) => `name: people\nnodes: [{ type: http, url: "${api}/{{id}}", concurrency: ${concurrency} }]`;
    const broken = run(flow(1), 5, {
      output: (output) => ({ ...output, flush: () => Promise.reject(new Error('the disk is full')) }),
    });
    await expect(broken).rejects.toThrow('the disk is full');
    await clock.sleepUntil(1000);
    await run(flow(4), 20);
    expect(inFlight.max).toBe(4);
  });
});
