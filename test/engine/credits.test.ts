import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const flow = (more = '') => `nodes: [{ type: http, url: "https://api.example.com/{{id}}"${more} }]`;

describe('an action', () => {
  test.each<[string, number, FlowOptions['http']]>([
    ['a success', 1, () => ({})],
    ['a failure that the server answered', 1, () => ({ status: 404 })],
    ['an action with several attempts', 1, (_, index) => ({ status: index < 3 ? 503 : 200 })],
    ['an action that never succeeds', 1, () => ({ status: 503 })],
    [
      'a request that may have reached the server',
      1,
      () => {
        throw new Failure('timeout', 'no response within 30 s', { retryable: true });
      },
    ],
    [
      'a request that was refused before it was sent',
      0,
      () => {
        throw new Failure('request', 'a metadata address', { sent: false });
      },
    ],
    [
      'a request that reached the server only at its second attempt',
      1,
      (_, index) => {
        if (index === 0) throw new Failure('network', 'refused', { sent: false, retryable: true });
        return { status: 500 };
      },
    ],
  ])('%s costs %i', async (_name, credits, http) => {
    expect((await runFlow(flow(), numberedRecords(1), { http: http ?? (() => ({})) })).credits).toBe(credits);
  });

  test('costs nothing for a record that cannot be rendered, or skips the node', async () => {
    const { credits, failures } = await runFlow(flow(', when: "id > 1"'), [{ id: 1 }, { id: 2 }, { id: '..' }], {});
    expect(failures).toHaveLength(1);
    expect(credits).toBe(1);
  });

  test('costs one credit at every node', async () => {
    const two = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}" }, { type: http, url: "https://api.example.com/{{id}}" }]';
    expect((await runFlow(two, numberedRecords(5))).credits).toBe(10);
  });
});

describe('when the credits are used up', () => {
  test('no further action starts, those in flight finish, and their records are written', async () => {
    const { ending, credits, requests, rows, events } = await runFlow(flow(), numberedRecords(100), {
      credits: 10,
      http: () => ({ afterMs: 50 }),
    });
    expect({ ending, credits, requests: requests.length }).toEqual({ ending: 'max-credits', credits: 10, requests: 10 });
    expect(rows).toEqual(numberedRecords(10));
    expect(events).toContainEqual({ type: 'stopping', ending: 'max-credits', reason: 'the credits are used up' });
  });

  test('an action in flight is still retried', async () => {
    const http: FlowOptions['http'] = (_, index) => ({ status: index === 0 ? 503 : 200, afterMs: 10 });
    const { requests, rows, credits } = await runFlow(flow(), numberedRecords(9), { credits: 3, http });
    expect(rows).toEqual(numberedRecords(3));
    expect([requests.length, credits]).toEqual([4, 3]);
  });

  test('a run with exactly enough credits is complete', async () => {
    expect(await runFlow(flow(), numberedRecords(10), { credits: 10 })).toMatchObject({ ending: 'complete', credits: 10 });
  });

  test.each([
    [20, 10],
    [21, 10],
    [7, 3],
  ])('%i of them bring %i records through two nodes, and are not all spent at the first one', async (most, written) => {
    const two = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}" }, { type: http, url: "https://api.example.com/{{id}}" }]';
    const { ending, credits, rows } = await runFlow(two, numberedRecords(60), { credits: most, http: () => ({ afterMs: 20 }) });
    expect({ ending, credits, rows }).toEqual({ ending: 'max-credits', credits: most, rows: numberedRecords(written) });
  });

  test.each([
    [61, 1],
    [63, 3],
  ])('%i of them are enough for 60 records with one call each, and %i for all', async (most, batches) => {
    const flow = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}" }
  - { type: http, method: POST, url: "https://api.example.com/", batch: { size: ${60 / batches}, items: "{{id}}" }, body: ["{{items}}"] }`;
    const http: FlowOptions['http'] = ({ method }) => ({ afterMs: 20, ...(method === 'POST' ? { body: '[]' } : {}) });
    const { ending, credits, rows } = await runFlow(flow, numberedRecords(60), { credits: most, http });
    expect({ ending, credits, rows: rows.length }).toEqual({ ending: 'complete', credits: most, rows: 60 });
  });

  test.each([
    [
      'a loop',
      `{ type: loop, while: page < 9, carry: [page], emit: last, nodes: [{ type: http, url: "https://api.example.com/{{id}}/{{page}}", map: [page] }] }`,
    ],
    ['pages', '{ type: http, url: "https://api.example.com/{{id}}", paginate: { type: page, items: items }, map: { page: "items[]" } }'],
  ])('as many records are finished as there can be: %s', async (_, node) => {
    const http: FlowOptions['http'] = ({ url }) => {
      const { pathname, searchParams } = new URL(url);
      const page = Number(searchParams.get('page') ?? Number(pathname.split('/')[2]) + 1);
      return { afterMs: 5, body: { page, items: page < 9 ? [page] : [] } };
    };
    const flow = `nodes:\n  - { type: set, fields: { page: 0 } }\n  - ${node}\n`;
    const { ending, credits, rows } = await runFlow(flow, numberedRecords(60), { credits: 200, http });
    expect({ ending, credits }).toEqual({ ending: 'max-credits', credits: 200 });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(Math.floor(200 / 9));
  });

  test.each([
    ['no records can share one', '?g={{id}}', 100, 50],
    ['two records can share one', '?g={{pair}}', 100, 66],
    ['all records can share one', '', 102, 100],
  ])('batches are as full as they can be: %s', async (_, query, most, written) => {
    const flow = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}" }
  - { type: http, method: POST, url: "https://api.example.com/${query}", batch: { size: 50, items: "{{id}}" }, body: ["{{items}}"] }`;
    const http: FlowOptions['http'] = ({ method }) => ({ afterMs: 20, ...(method === 'POST' ? { body: '[]' } : {}) });
    const given = numberedRecords(300).map(({ id }) => ({ id, pair: Math.floor(id / 2) }));
    const { ending, credits, rows } = await runFlow(flow, given, { credits: most, http });
    expect([ending, credits <= most, rows.length >= written - 4]).toEqual(['max-credits', true, true]);
  });

  test('a node that records skip holds back fewer and fewer records', async () => {
    const flow = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}" }
  - { type: http, when: "false", url: "https://api.example.com/p", paginate: { type: page, items: items }, map: { x: "items[]" } }`;
    const options: FlowOptions = { credits: 300, http: () => ({ afterMs: 10 }) };
    const { ending, rows, waitedMs } = await runFlow(flow, numberedRecords(300), options);
    expect([ending, rows.length]).toEqual(['complete', 300]);
    expect(waitedMs).toBeLessThan(400);
  });

  test.each([3, 4, 40])('%i records of a poll do not wait any longer', async (count) => {
    const flow = `nodes:
  - type: poll
    every: 1h
    timeout: 5h
    until: status == "done"
    nodes: [{ type: http, url: "https://api.example.com/{{id}}", map: [status] }]`;
    const http: FlowOptions['http'] = ({ path }) => ({ body: { status: path === '/0' ? 'done' : 'working' } });
    const { ending, rows, credits, waitedMs } = await runFlow(flow, numberedRecords(count), { credits: 3, http });
    expect([ending, rows.length, credits]).toEqual(['max-credits', 1, 3]);
    expect(waitedMs).toBeLessThan(1000);
  });

  test('a run without any sends nothing', async () => {
    expect(await runFlow(flow(), numberedRecords(10), { credits: 0 })).toMatchObject({ ending: 'max-credits', requests: [], rows: [] });
  });

  test('a credit that is given back can be spent by another record', async () => {
    const http: FlowOptions['http'] = ({ path }) => {
      if (path === '/0') throw new Failure('request', 'refused', { sent: false });
      return {};
    };
    const { rows, credits } = await runFlow(flow(', concurrency: 1'), numberedRecords(4), { credits: 3, http });
    expect(rows.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(credits).toBe(3);
  });

  test('no more are spent, and the output is the beginning of the input, whatever the concurrency, retries and rows', async () => {
    const expanding = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}", map: { part: "parts[]" } }
  - { type: http, url: "https://api.example.com/{{id}}/{{part}}" }`;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 80 }),
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 7, maxLength: 7 }),
        async (credits, concurrency, luck) => {
          const http: FlowOptions['http'] = (_, index) => {
            const drawn = luck[index % 7] as number;
            if (drawn < 10) throw new Failure('network', 'refused', { sent: false, retryable: true });
            return { status: drawn < 20 ? 503 : 200, afterMs: drawn, body: { parts: [1, 2, 3].slice(0, drawn % 4) } };
          };
          const result = await runFlow(expanding, numberedRecords(30), { credits, concurrency, http });
          expect(result.credits).toBeLessThanOrEqual(credits);
          const ended = new Set([...result.rows.map(({ id }) => id as number), ...result.failures.map(({ record }) => record - 1)]);
          expect([...ended].sort((a, b) => a - b)).toEqual(Array.from({ length: ended.size }, (_, id) => id));
          if (result.ending === 'complete') expect(ended.size).toBe(30);
        },
      ),
      { numRuns: 100 },
    );
  });
});
