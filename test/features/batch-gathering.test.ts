import { describe, expect, test } from 'vitest';
import type { Item } from '../../src/core/item.ts';
import { RunSpending } from '../../src/credits/spending.ts';
import { Gates } from '../../src/engine/gates.ts';
import { startRun } from '../../src/engine/run.ts';
import { compile } from '../../src/flow/compile.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { toResponse } from '../helpers/fake-answer.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { byId, idsOf, listIn, lists, lookup, named, names, records, sizes } from '../helpers/lookups.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { rowsInMemory, runFlow, type SentRequest, toFields } from '../helpers/run-flow.ts';

/** Refuses every list that contains a bad id. */
const refusing =
  (bad: readonly unknown[], answer: FakeAnswer = { status: 400 }) =>
  (request: SentRequest): FakeAnswer =>
    listIn(request).some((id) => bad.includes(id)) ? answer : names()(request);

describe('records that reach a node with batches', () => {
  const own = (url: string, more: string, body = '{ ids: "{{items}}" }') => `nodes:
  - { id: ask, type: http, method: POST, url: "https://api.example.com/${url}", batch: { size: 2, items: "{{id}}", ${byId} }, body: ${body}, ${named}${more} }
`;
  const mixed = [1, 2, 3, 4, 5, 6].map((id) => ({ id, team: id % 2 ? 'a' : 'b' }));

  test.each([
    ['URL', own('{{team}}/lookup', '')],
    ['query', own('lookup?team={{team}}', '')],
    ['header', own('lookup', ', headers: { X-Team: "{{team}}" }')],
    ['body', own('lookup', '', '{ team: "{{team}}", ids: "{{items}}" }')],
  ])('share a batch only if their requests have the same %s', async (_, flow) => {
    const result = await runFlow(flow, mixed, { http: names() });
    expect(lists(result)).toEqual([[1, 3], [2, 4], [5], [6]]);
    const teamOf = ({ url, headers, body }: SentRequest) =>
      /team=(.)|com\/(.)\/|"X-Team":"(.)"|"team":"(.)"/
        .exec(url + JSON.stringify(headers) + body)
        ?.slice(1)
        .find(Boolean);
    expect(result.requests.map(teamOf)).toEqual(['a', 'b', 'a', 'b']);
    expect(result.rows).toEqual(mixed.map((record) => ({ ...record, name: `name ${record.id}` })));
  });

  test('never share a batch with records at a different node', async () => {
    const flow = `${lookup({ more: `${named}, when: int(id) % 2 == 0` })}${lookup({ more: `${named}, when: int(id) % 2 == 1` })
      .split('\n')[1]
      ?.replace('id: ask', 'id: other')}\n`;
    const result = await runFlow(flow, mixed, { http: names() });
    expect(lists(result)).toEqual([
      [2, 4, 6],
      [1, 3, 5],
    ]);
  });

  test("stay out of the batch if the node's condition (when) is false for them", async () => {
    const result = await runFlow(lookup({ more: `${named}, when: id != "r2"` }), records(3), { http: names() });
    expect(lists(result)).toEqual([['r1', 'r3']]);
    expect(result.rows).toEqual([{ id: 'r1', name: 'name r1' }, { id: 'r2' }, { id: 'r3', name: 'name r3' }]);
  });
});

describe('the idempotency key of a batch', () => {
  const keyed = lookup({ batch: `size: 4, ${byId}`, more: `${named}, idempotency_key: true` });
  const keys = ({ requests }: { requests: readonly SentRequest[] }) => requests.map(({ headers }) => headers['Idempotency-Key']);

  test('is the same for every retry and in every run', async () => {
    const http = (request: SentRequest, index: number) => (index === 0 ? { status: 500 } : names()(request));
    const first = keys(await runFlow(keyed, records(4), { http }));
    expect(first).toHaveLength(2);
    expect(new Set(first).size).toBe(1);
    expect(keys(await runFlow(keyed, records(4), { http }))).toEqual(first);
  });

  test('is different for each batch, and for each half of a halved batch', async () => {
    const halves = keys(await runFlow(keyed, records(8), { http: refusing(['r1']) }));
    expect(halves).toHaveLength(6);
    expect(new Set(halves).size).toBe(6);
  });
});

describe('a batch that collects records', () => {
  const single = (more = '') => `  - { id: first, type: http, url: "https://api.example.com/first/{{id}}", map: { seen: seen }${more} }\n`;
  const isFirst = ({ path }: SentRequest) => path.startsWith('/first/');
  const timesOf = ({ requests }: { requests: readonly SentRequest[] }) =>
    requests.filter((request) => !isFirst(request)).map((request) => [request.atMs, listIn(request).length]);

  test('is not sent while earlier nodes still process records', async () => {
    const flow = lookup({ before: single(), batch: `size: 10, ${byId}` });
    const result = await runFlow(flow, records(20), {
      http: (request, index) => (isFirst(request) ? { body: { seen: 1 }, afterMs: index * 10 } : names()(request)),
      concurrency: 20,
    });
    expect(timesOf(result)).toEqual([
      [90, 10],
      [190, 10],
    ]);
  });

  test('lists its records in input order, whichever arrived first', async () => {
    const result = await runFlow(lookup({ before: single() }), records(3), {
      http: (request, index) => (isFirst(request) ? { body: { seen: 1 }, afterMs: 30 - index * 10 } : names()(request)),
    });
    expect(lists(result)).toEqual([['r1', 'r2', 'r3']]);
  });

  test('waits for a slow record and for a record whose request is being retried', async () => {
    const flow = lookup({ before: single(), batch: `size: 10, ${byId}` });
    const result = await runFlow(flow, records(5), {
      http: (request, index) =>
        isFirst(request) ? (index === 2 ? { status: 503, headers: { 'retry-after': '60' } } : { body: { seen: 1 } }) : names()(request),
    });
    expect(timesOf(result)).toEqual([[60_000, 5]]);
  });

  test('does not wait for a record that fails or is dropped in an earlier node', async () => {
    const drop = '  - { id: first, type: http, url: "https://api.example.com/first/{{id}}", map: { seen: "seen[]" }, when_empty: drop }\n';
    const flow = lookup({ before: drop, batch: `size: 10, ${byId}` });
    const http = (request: SentRequest, index: number): FakeAnswer => {
      if (!isFirst(request)) return names()(request);
      if (index % 3 === 0) return { status: 404, afterMs: 50 };
      return { body: { seen: index % 3 === 1 ? [] : [1] }, afterMs: 20 };
    };
    const result = await runFlow(flow, records(9), { http });
    expect(timesOf(result)).toEqual([[50, 3]]);
    expect([idsOf(result.rows), result.failures.length]).toEqual([['r3', 'r6', 'r9'], 3]);
  });

  test('collects the rows of an expanded record', async () => {
    const split = '  - { id: split, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" } }\n';
    const flow = lookup({ before: split, batch: `size: 100, ${byId}` });
    const result = await runFlow(flow, [{ group: 'a' }, { group: 'b' }], {
      http: (request) =>
        isFirst(request) ? { body: { ids: Array.from({ length: 150 }, (_, id) => `${request.path.at(-1)}${id}`) } } : names()(request),
    });
    expect(sizes(result)).toEqual([100, 100, 100]);
    expect(result.rows).toHaveLength(300);
    expect(result.rows.map(({ id, name }) => name === `name ${id}`)).toEqual(result.rows.map(() => true));
    expect(result.rows[149]).toMatchObject({ group: 'a', id: 'a149' });
  });

  test("fails the whole record if one of the record's rows fails", async () => {
    const split = '  - { id: split, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" } }\n';
    const result = await runFlow(lookup({ before: split }), [{ group: 'a' }, { group: 'b' }], {
      http: (request) => (isFirst(request) ? { body: { ids: [1, 2].map((id) => `${request.path.at(-1)}${id}`) } } : names(['a2'])(request)),
    });
    expect(idsOf(result.rows)).toEqual(['b1', 'b2']);
    expect(result.failures).toMatchObject([{ record: 1, node: 'ask', class: 'mapping' }]);
  });

  test("collects the rows that a previous node's batch produced", async () => {
    const before = `${lookup({ batch: `size: 3, ${byId}` })
      .split('\n')[1]
      ?.replace('id: ask', 'id: first')
      .replace('map: { name', 'map: { other')}\n`;
    const result = await runFlow(lookup({ before, batch: `size: 5, ${byId}` }), records(10), { http: names() });
    expect(sizes(result).sort()).toEqual([1, 3, 3, 3, 5, 5]);
    expect(result.rows).toEqual(records(10).map(({ id }) => ({ id, other: `name ${id}`, name: `name ${id}` })));
  });

  test('collects the rows of several pages', async () => {
    const pages =
      '  - { id: pages, type: http, url: "https://api.example.com/first/{{group}}", map: { id: "ids[]" }, paginate: { type: cursor, path: next, param: cursor } }\n';
    const result = await runFlow(lookup({ before: pages, batch: `size: 4, ${byId}` }), [{ group: 'a' }, { group: 'b' }], {
      http: (request) => {
        if (!isFirst(request)) return names()(request);
        const [group, cursor] = [request.path.split(/[/?]/)[2], Number(/cursor=(\d)/.exec(request.path)?.[1] ?? 0)];
        return { body: { ids: [0, 1, 2].map((id) => `${group}${cursor}${id}`), next: cursor < 2 ? cursor + 1 : null } };
      },
    });
    expect(idsOf(result.rows)).toEqual(
      ['a', 'b'].flatMap((group) => [0, 1, 2].flatMap((page) => [0, 1, 2].map((id) => `${group}${page}${id}`))),
    );
    expect(lists(result).flat().sort()).toEqual(idsOf(result.rows).sort());
    expect(Math.max(...sizes(result))).toBe(4);
  });

  test('collects the records of each pass of a loop separately', async () => {
    const loop = `nodes:
  - { type: set, fields: { n: 0 } }
  - type: loop
    while: n < 3
    carry: [n]
    emit: last
    nodes:
      - { type: set, fields: { n: { cel: n + 1 } } }
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, ${named} }
`;
    const result = await runFlow(loop, records(25), { http: names() });
    // The records of different passes also share a batch.
    expect(sizes(result).sort((a, b) => a - b)).toEqual([5, 10, 10, 10, 10, 10, 10, 10]);
    expect([result.credits, result.rows.length]).toEqual([8, 25]);
  });

  test('collects the records anew in each pass of a poll', async () => {
    const poll = `nodes:
  - type: poll
    every: 5s
    until: state == "done"
    nodes:
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, map: { state: "results[].state" } }
`;
    const result = await runFlow(poll, records(25), {
      http: (request) => ({ body: { results: listIn(request).map((id) => ({ id, state: request.atMs >= 5000 ? 'done' : 'working' })) } }),
    });
    expect(result.requests.slice(0, 3).map((request) => [request.atMs, listIn(request).length])).toEqual([
      [0, 10],
      [0, 10],
      [0, 5],
    ]);
    expect(new Set(result.requests.slice(3).map(({ atMs }) => atMs))).toEqual(new Set([5000]));
    expect(lists(result).flat()).toHaveLength(50);
    expect([result.credits, result.rows.length]).toEqual([result.requests.length, 25]);
  });

  test("makes all its records wait for the server's Retry-After inside a poll", async () => {
    const poll = `nodes:
  - type: poll
    every: 1s
    until: state == "done"
    nodes:
      - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { size: 10, items: "{{id}}", ${byId} }, body: { ids: "{{items}}" }, map: { state: "results[].state" } }
`;
    const result = await runFlow(poll, records(3), {
      http: (request, index) => ({
        headers: { 'retry-after': '7' },
        body: { results: listIn(request).map((id) => ({ id, state: index > 0 ? 'done' : 'working' })) },
      }),
    });
    expect([...new Set(result.requests.map(({ atMs }) => atMs))]).toEqual([0, 7000]);
  });

  test('is not sent once the credits are used up, but in a later run', async () => {
    const result = await runFlow(lookup({ batch: `size: 10, ${byId}` }), records(100), { http: names(), credits: 3, concurrency: 1 });
    expect([result.ending, result.requests.length, result.rows.length, result.failures]).toEqual(['max-credits', 3, 30, []]);
  });

  test('is not halved further once the credits are used up', async () => {
    const result = await runFlow(lookup({ batch: `size: 8, ${byId}` }), records(8), { http: refusing(['r8']), credits: 4 });
    expect([result.ending, result.requests.length, result.credits, result.failures]).toEqual(['max-credits', 4, 4, []]);
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6']);
  });

  test('is sent during a pause in the input if it is full, otherwise when the input ends', async () => {
    const clock = createFakeClock();
    const sent: SentRequest[] = [];
    const rows: unknown[] = [];
    const plan = compile(lookup({ batch: `size: 4, ${byId}` }), { file: 'flow.yaml', nodeTypes, allowHttp: false, textCells: false });
    const output = {
      waiting: 0,
      flush: async () => undefined,
      partialRows: rowsInMemory,
      put: (_: Item, outcome: never) => {
        rows.push(outcome);
        return outcome;
      },
    };
    const http = {
      abort: () => undefined,
      send: async (request: Omit<SentRequest, 'url' | 'atMs'>) => {
        const asked = { ...request, url: '', atMs: clock.now() };
        sent.push(asked);
        return toResponse(names()(asked));
      },
    };
    const ledger = { hold: () => undefined, settle: () => undefined, release: () => undefined };
    const ports = {
      clock,
      ledger,
      http,
      spending: new RunSpending(),
      cache: { through: () => Promise.reject(new Error('none')) },
      report: () => undefined,
      uuidOf: String,
      random: () => 0,
    };
    const parts = { input: pausing(), output: output as never, ports: ports as never, gates: new Gates(clock) };
    const run = startRun(plan, parts, {});
    expect(await run.ended).toBe('complete');
    expect(sent.map((request) => [request.atMs, listIn(request).length])).toEqual([
      [10_000, 4],
      [20_000, 4],
      [30_000, 1],
    ]);
    expect(rows).toHaveLength(9);

    async function* pausing(): AsyncGenerator<Item[]> {
      for (let number = 0; number < 9; ) {
        const items = Array.from({ length: 3 }, () => ({
          number: ++number,
          fields: toFields({ id: `r${number}` }),
          end: { offset: 0, line: 0 },
        }));
        yield items as Item[];
        await clock.sleepUntil(clock.now() + 10_000);
      }
    }
  });
});
