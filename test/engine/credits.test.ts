import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const flow = (more = '') => `nodes: [{ type: http, url: "https://api.example.com/{{id}}"${more} }]`;

describe('a call', () => {
  test.each<[string, number, FlowOptions['http']]>([
    ['succeeds', 1, () => ({})],
    ['fails with a response', 1, () => ({ status: 404 })],
    ['is retried several times', 1, (_, index) => ({ status: index < 3 ? 503 : 200 })],
    ['never succeeds', 1, () => ({ status: 503 })],
    [
      'might have reached the server',
      1,
      () => {
        throw new Failure('timeout', 'no response within 30 s', { retryable: true });
      },
    ],
    [
      'fails before its request is sent',
      0,
      () => {
        throw new Failure('request', 'a metadata address', { sent: false });
      },
    ],
    [
      'reaches the server only at its second attempt',
      1,
      (_, index) => {
        if (index === 0) throw new Failure('network', 'refused', { sent: false, retryable: true });
        return { status: 500 };
      },
    ],
  ])('that %s costs this number of credits: %i', async (_name, credits, http) => {
    expect((await runFlow(flow(), numberedRecords(1), { http: http ?? (() => ({})) })).credits).toBe(credits);
  });

  test('costs nothing if its request cannot be rendered or the record skips the node', async () => {
    const { credits, failures } = await runFlow(flow(', when: "id > 1"'), [{ id: 1 }, { id: 2 }, { id: '..' }], {});
    expect(failures).toHaveLength(1);
    expect(credits).toBe(1);
  });

  test('costs one credit at each node', async () => {
    const two = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}" }, { type: http, url: "https://api.example.com/{{id}}" }]';
    expect((await runFlow(two, numberedRecords(5))).credits).toBe(10);
  });
});

describe('a run whose credits are used up', () => {
  test('starts no further calls, lets calls in flight finish, and writes their records', async () => {
    const { ending, credits, requests, rows, events } = await runFlow(flow(), numberedRecords(100), {
      credits: 10,
      http: () => ({ afterMs: 50 }),
    });
    expect({ ending, credits, requests: requests.length }).toEqual({ ending: 'max-credits', credits: 10, requests: 10 });
    expect(rows).toEqual(numberedRecords(10));
    expect(events).toContainEqual({ type: 'stopping', ending: 'max-credits', reason: 'the credits are used up' });
  });

  test('still retries a call that has begun', async () => {
    const http: FlowOptions['http'] = (_, index) => ({ status: index === 0 ? 503 : 200, afterMs: 10 });
    const { requests, rows, credits } = await runFlow(flow(), numberedRecords(9), { credits: 3, http });
    expect(rows).toEqual(numberedRecords(3));
    expect([requests.length, credits]).toEqual([4, 3]);
  });

  test('is complete if the credits are exactly enough', async () => {
    expect(await runFlow(flow(), numberedRecords(10), { credits: 10 })).toMatchObject({ ending: 'complete', credits: 10 });
  });

  test.each([
    [20, 10],
    [21, 10],
    [7, 3],
  ])('with %i credits takes %i records through both nodes instead of spending all credits at the first node', async (most, written) => {
    const two = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}" }, { type: http, url: "https://api.example.com/{{id}}" }]';
    const { ending, credits, rows } = await runFlow(two, numberedRecords(60), { credits: most, http: () => ({ afterMs: 20 }) });
    expect({ ending, credits, rows }).toEqual({ ending: 'max-credits', credits: most, rows: numberedRecords(written) });
  });

  test.each([
    [61, 1],
    [63, 3],
  ])('with %i credits finishes 60 records that need one call each and %i batches', async (most, batches) => {
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
  ])('finishes as many records as possible if they go through %s', async (_, node) => {
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
    ['no records can share a batch', '?g={{id}}', 100, 50],
    ['two records can share a batch', '?g={{pair}}', 100, 66],
    ['all records can share a batch', '', 102, 100],
  ])('fills its batches as much as possible if %s', async (_, query, most, written) => {
    const flow = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}" }
  - { type: http, method: POST, url: "https://api.example.com/${query}", batch: { size: 50, items: "{{id}}" }, body: ["{{items}}"] }`;
    const http: FlowOptions['http'] = ({ method }) => ({ afterMs: 20, ...(method === 'POST' ? { body: '[]' } : {}) });
    const given = numberedRecords(300).map(({ id }) => ({ id, pair: Math.floor(id / 2) }));
    const { ending, credits, rows } = await runFlow(flow, given, { credits: most, http });
    expect([ending, credits <= most, rows.length >= written - 4]).toEqual(['max-credits', true, true]);
  });

  test('reserves fewer and fewer credits for a node that records skip', async () => {
    const flow = `nodes:
  - { type: http, url: "https://api.example.com/{{id}}" }
  - { type: http, when: "false", url: "https://api.example.com/p", paginate: { type: page, items: items }, map: { x: "items[]" } }`;
    const options: FlowOptions = { credits: 300, http: () => ({ afterMs: 10 }) };
    const { ending, rows, waitedMs } = await runFlow(flow, numberedRecords(300), options);
    expect([ending, rows.length]).toEqual(['complete', 300]);
    expect(waitedMs).toBeLessThan(400);
  });

  test.each([3, 4, 40])('ends at once although some of its %i records are waiting in a poll', async (count) => {
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

  test('sends nothing if there were no credits from the start', async () => {
    expect(await runFlow(flow(), numberedRecords(10), { credits: 0 })).toMatchObject({ ending: 'max-credits', requests: [], rows: [] });
  });

  test('lets another record spend the credit of a call that was never sent', async () => {
    const http: FlowOptions['http'] = ({ path }) => {
      if (path === '/0') throw new Failure('request', 'refused', { sent: false });
      return {};
    };
    const { rows, credits } = await runFlow(flow(', concurrency: 1'), numberedRecords(4), { credits: 3, http });
    expect(rows.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(credits).toBe(3);
  });

  test('never spends more than its credits, and leaves no gaps in its output', async () => {
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
      { numRuns: 40 },
    );
  });
});
