import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SerialKeys } from '../../src/engine/serial.ts';
import { type FlowOptions, type GivenRecord, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const find = '  - { type: http, id: find, url: "https://api.example.com/find/{{n}}", map: { found: n } }\n';
const create = '  - { type: http, id: create, url: "https://api.example.com/create/{{n}}", map: { created: n } }\n';

/** A flow in which every record sends two requests. */
const flow = (serialBy: string, nodes = find + create) => `serial_by: ${serialBy}\nnodes:\n${nodes}`;

/** Answers `n` after a time that differs from request to request. */
const answer: FlowOptions['http'] = ({ path }, index) => ({ body: { n: path }, afterMs: 10 + ((index * 37) % 50) });

const numberOf = ({ path }: SentRequest) => Number(path.split('/').at(-1));

/** Returns records with these keys in the field `key`. They are numbered from 1 in the field `n`. */
const keyed = (keys: readonly unknown[]) => keys.map((key, index) => ({ n: index + 1, key }));

/** Returns the numbers of the records whose requests are sent, each one once for consecutive requests. */
const visits = (requests: readonly SentRequest[], numbers: readonly number[]) =>
  requests
    .map(numberOf)
    .filter((number) => numbers.includes(number))
    .filter((number, index, all) => number !== all[index - 1]);

describe('records with the same value of serial_by', () => {
  test.each<[string, string, readonly GivenRecord[], readonly number[]]>([
    ['a field', 'key', keyed(['a', 'b', 'a', 'a', 'b']), [1, 3, 4]],
    ['a number and the same text', 'key', keyed([17, 'x', '17', 17]), [1, 3, 4]],
    ['an expression', '{ cel: key.trim().lowerAscii() }', keyed([' Ann', 'bob', 'ann', 'ANN ']), [1, 3, 4]],
    [
      'a list of fields',
      '[key, m]',
      keyed(['a', 'a', 'a', 'a']).map((record, index) => ({ ...record, m: index === 1 ? 'other' : null })),
      [1, 3, 4],
    ],
    ['a value that is an object', 'key', keyed([{ a: 1 }, 'x', { a: 1 }]), [1, 3]],
  ])('go through the whole flow one after another, in input order: %s', async (_, serialBy, records, same) => {
    const { requests, rows, ending } = await runFlow(flow(serialBy), records, { http: answer });
    expect(visits(requests, same)).toEqual(same);
    expect(ending).toBe('complete');
    expect(rows.map(({ n }) => n)).toEqual(records.map((record) => (record as { n: number }).n));
  });

  test('do not delay records with other values', async () => {
    const { requests, waitedMs } = await runFlow(flow('key'), keyed(['a', 'a', 'b', 'c']), {
      http: () => ({ body: { n: 1 }, afterMs: 100 }),
    });
    expect(requests.slice(0, 3).map((request) => [numberOf(request), request.atMs])).toEqual([
      [1, 0],
      [3, 0],
      [4, 0],
    ]);
    expect(waitedMs).toBeGreaterThanOrEqual(400);
  });

  test.each([
    ['null or empty values', 'key', [null, null, '', '']],
    ['fields that records lack', 'missing', [1, 1, 1, 1]],
    ['lists in which all values are empty', '[key, missing]', ['', null, '', null]],
    ['expressions that give nothing', '{ cel: "has(missing) ? missing : null" }', [1, 1, 1, 1]],
  ])('do not wait for each other: %s', async (_, serialBy, keys) => {
    const { requests } = await runFlow(flow(serialBy), keyed(keys), { http: () => ({ body: { n: 1 }, afterMs: 100 }) });
    expect(requests.slice(0, 4).map(({ atMs }) => atMs)).toEqual([0, 0, 0, 0]);
  });

  test('begin when the one before has failed', async () => {
    const http: FlowOptions['http'] = (request) => ({ status: numberOf(request) === 2 ? 404 : 200, body: { n: 1 }, afterMs: 10 });
    const { requests, failures, rows } = await runFlow(flow('key'), keyed(['a', 'a', 'a']), { http });
    expect(requests.map(({ path }) => path)).toEqual(['/find/1', '/create/1', '/find/2', '/find/3', '/create/3']);
    expect([failures.map(({ record }) => record), rows.map(({ n }) => n)]).toEqual([[2], [1, 3]]);
  });

  test('fail if the expression cannot be evaluated for them, and send nothing', async () => {
    const { requests, failures, rows } = await runFlow(flow('{ cel: key.trim() }'), keyed(['a', 5, 'b']), { http: answer });
    expect(failures).toMatchObject([{ record: 2, class: 'template', attempts: 0, message: expect.stringContaining('serial_by: ') }]);
    expect([rows.map(({ n }) => n), requests.map(numberOf).includes(2)]).toEqual([[1, 3], false]);
  });

  test('are not bound if a field of the expression is null', async () => {
    const { failures, rows } = await runFlow(flow('{ cel: key.trim().lowerAscii() }'), keyed(['a', null, 'A ', null]), { http: answer });
    expect([failures, rows.map(({ n }) => n)]).toEqual([[], [1, 2, 3, 4]]);
  });

  test('keep their order in a poll: the next record waits until the poll has ended', async () => {
    const poll = `  - type: poll
    every: 5s
    until: status == "done"
    nodes:
      - { type: http, id: ask, url: "https://api.example.com/ask/{{n}}", map: { status: status } }
`;
    const asked = new Map<number, number>();
    const http: FlowOptions['http'] = (request) => {
      const times = (asked.get(numberOf(request)) ?? 0) + 1;
      asked.set(numberOf(request), times);
      return { body: { status: times === 3 ? 'done' : 'open' }, afterMs: 10 };
    };
    const { requests, ending } = await runFlow(flow('key', poll), keyed(['a', 'b', 'a', 'a']), { http });
    expect([ending, visits(requests, [1, 3, 4])]).toEqual(['complete', [1, 3, 4]]);
  });

  test('keep their order if they are expanded, and if each row sends requests', async () => {
    const expand = '  - { type: http, id: expand, url: "https://api.example.com/list/{{n}}", map: { x: "items[].x" } }\n';
    const http: FlowOptions['http'] = (_, index) => ({ body: { items: [{ x: 1 }, { x: 2 }], n: 1 }, afterMs: 10 + (index % 7) });
    const { requests, rows } = await runFlow(flow('key', expand + create), keyed(['a', 'b', 'a', 'a']), { http });
    expect([visits(requests, [1, 3, 4]), rows.length]).toEqual([[1, 3, 4], 8]);
  });
});

describe('batches in a flow with serial_by', () => {
  const batch = (size: number) =>
    `  - { type: http, id: all, method: POST, url: "https://api.example.com/all", body: "{{items}}", batch: { size: ${size}, items: "{{n}}" }, map: { found: n } }\n`;
  const lists = (requests: readonly SentRequest[]) => requests.map(({ body }) => JSON.parse(body as string) as number[]);
  const http: FlowOptions['http'] = ({ body }) => ({ body: (JSON.parse(body as string) as number[]).map((n) => ({ n })), afterMs: 10 });

  test('contain no two records with the same value, and do not wait for records that wait', async () => {
    const { requests, ending } = await runFlow(flow('key', batch(10)), keyed(['a', 'a', 'b', 'a', 'c']), { http });
    expect([ending, lists(requests)]).toEqual(['complete', [[1, 3, 5], [2], [4]]]);
  });

  test('are sent although more records have the same value than fit into the window', async () => {
    const { requests, ending, waitedMs } = await runFlow(flow('key', batch(10)), keyed(Array.from({ length: 1200 }, () => 'a')), {
      http,
      forget: true,
    });
    expect([ending, requests.length]).toEqual(['complete', 1200]);
    // No batch waits until finished records are written, because that makes no room for the records that wait.
    expect(waitedMs).toBeLessThan(1200 * 10 + 500);
  });

  test('are filled by records with other values', async () => {
    const keys = Array.from({ length: 60 }, (_, index) => index % 20);
    const { requests } = await runFlow(flow('key', batch(10)), keyed(keys), { http });
    expect(lists(requests).map(({ length }) => length)).toEqual([10, 10, 10, 10, 10, 10]);
  });
});

describe('records that wait because of serial_by', () => {
  const slow = (afterMs = 10): FlowOptions => ({ http: () => ({ body: { n: 1 }, afterMs }) });

  test('are at most half of the window', async () => {
    let read = 0;
    let readBefore = 0;
    const records = (function* () {
      for (let n = 1; n <= 700; n++) {
        read = n;
        yield { n, key: 'a' };
      }
    })();
    const http: FlowOptions['http'] = (request) => {
      if (numberOf(request) === 2 && readBefore === 0) readBefore = read;
      return { body: { n: 1 }, afterMs: 10 };
    };
    const { ending } = await runFlow(flow('key'), records, { http, batch: 1, forget: true });
    // The window of a flow with two calls has 512 places. At most 256 of them wait, one more is under way, and one more was read.
    expect([ending, readBefore <= 258, readBefore > 200]).toEqual(['complete', true, true]);
  });

  test.each([
    ['if the run is interrupted', 'finishing'],
    ['if the run is aborted', 'stopped'],
  ] as const)('do not begin %s', async (_, phase) => {
    const { requests, rows, ending } = await runFlow(flow('key'), keyed(['a', 'a', 'b', 'a']), {
      ...slow(),
      started: ({ phase: run }, clock) => void clock.sleepUntil(5).then(() => run.advance(phase, { ending: 'interrupted', message: 'x' })),
    });
    expect([ending, new Set(requests.map(numberOf))]).toEqual(['interrupted', new Set([1, 3])]);
    expect(rows.map(({ n }) => n)).toEqual(phase === 'finishing' ? [1] : []);
  });

  test('do not begin once too many records have failed', async () => {
    const http: FlowOptions['http'] = () => ({ status: 404, afterMs: 10 });
    const { requests, ending, failures } = await runFlow(flow('key'), keyed(Array.from({ length: 50 }, () => 'a')), {
      http,
      maxErrors: { count: 2 },
    });
    expect([ending, requests.length, failures.length]).toEqual(['max-errors', 3, 3]);
  });

  test('begin if they are before the record that ends the run (on_error: stop)', async () => {
    const stopping = find.replace('map:', 'on_error: stop, map:') + create;
    const http: FlowOptions['http'] = (request) => ({ status: numberOf(request) === 3 ? 404 : 200, body: { n: 1 }, afterMs: 10 });
    const { requests, rows, ending } = await runFlow(flow('key', stopping), keyed(['a', 'a', 'b', 'a']), { http });
    expect([ending, rows.map(({ n }) => n), requests.map(numberOf).includes(4)]).toEqual(['on-error-stop', [1, 2], false]);
  });

  test('wait for the credits that the records under way might need', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => index % 8);
    const { rows, credits, ending } = await runFlow(flow('key'), keyed(keys), { ...slow(), credits: 21 });
    expect([ending, rows.length]).toEqual(['max-credits', 10]);
    expect(credits).toBeLessThanOrEqual(21);
  });

  test('are written as soon as they are finished in an unordered run', async () => {
    const { rows, ending } = await runFlow(flow('key'), keyed(['a', 'a', 'b', 'c']), { ...slow(), unordered: true });
    expect([ending, rows.map(({ n }) => n)]).toEqual(['complete', [1, 3, 4, 2]]);
  });
});

test('random keys, nodes and failures leave every record with an outcome, and every key in order', async () => {
  const batch =
    '  - { type: http, id: all, method: POST, url: "https://api.example.com/all", body: "{{items}}", batch: { size: 3, items: "{{n}}" }, map: { found: n } }\n';
  const loop = `  - { type: loop, while: "false", max: 2, nodes: [${find.trim().slice(2)}] }\n`;
  const nodes = fc.uniqueArray(fc.constantFrom(find, create, batch, loop), { minLength: 1, maxLength: 3 });
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', null), { maxLength: 60 });
  const check = fc.asyncProperty(nodes, keys, fc.nat(9), fc.boolean(), async (chosen, values, failing, unordered) => {
    const http: FlowOptions['http'] = ({ path, body }, index) => {
      const afterMs = 1 + ((index * 13) % 29);
      if (path === '/all') return { body: (JSON.parse(body as string) as number[]).map((n) => ({ n })), afterMs };
      return { status: index % 10 < failing / 3 ? 404 : 200, body: { n: 1 }, afterMs };
    };
    const list = chosen.includes(loop) ? chosen.filter((node) => node !== find) : chosen;
    const { rows, failures, requests, ending } = await runFlow(flow('key', list.join('')), keyed(values), { http, unordered, batch: 5 });
    expect([ending, rows.length + failures.length]).toEqual(['complete', values.length]);
    const sent = requests.map((request) =>
      request.path === '/all' ? (JSON.parse(request.body as string) as number[]) : [numberOf(request)],
    );
    for (const key of new Set(values.filter((value) => value !== null))) {
      const own = keyed(values).flatMap((record) => (record.key === key ? [record.n] : []));
      const order = sent.map((numbers) => numbers.filter((number) => own.includes(number)));
      expect(order.every(({ length }) => length <= 1)).toBe(true);
      expect(order.flat()).toEqual(order.flat().toSorted((a, b) => a - b));
    }
  });
  await fc.assert(check, { numRuns: 30 });
});

describe('the keys of several runs', () => {
  test('are forgotten when their last record has ended', () => {
    const keys = new SerialKeys();
    const begun: string[] = [];
    expect([keys.take('a'), keys.take('b'), keys.take('a')]).toEqual([true, true, false]);
    keys.wait('a', () => begun.push('second'));
    const third = () => begun.push('third');
    keys.wait('a', third);
    keys.free('a');
    keys.leave('a', third);
    keys.free('a');
    expect([begun, keys.take('a'), keys.take('b')]).toEqual([['second'], true, false]);
  });
});
