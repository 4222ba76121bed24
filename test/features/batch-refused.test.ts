import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { byId, idsOf, listIn, lists, lookup, named, names, records, sizes } from '../helpers/lookups.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

/** Refuses every list that contains a bad id. */
const refusing =
  (bad: readonly unknown[], answer: FakeAnswer = { status: 400 }) =>
  (request: SentRequest): FakeAnswer =>
    listIn(request).some((id) => bad.includes(id)) ? answer : names()(request);

describe('a batch that the server refuses', () => {
  test.each([400, 403, 404, 409, 413, 422])('is halved until only the bad record is refused, if the status is %i', async (status) => {
    const result = await runFlow(lookup({ batch: `size: 8, ${byId}` }), records(8), { http: refusing(['r6'], { status, body: 'no r6' }) });
    expect(lists(result)).toEqual([
      idsOf(records(8)),
      ['r1', 'r2', 'r3', 'r4'],
      ['r5', 'r6', 'r7', 'r8'],
      ['r5', 'r6'],
      ['r7', 'r8'],
      ['r5'],
      ['r6'],
    ]);
    expect(result.credits).toBe(7);
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r7', 'r8']);
    expect(result.failures).toMatchObject([{ record: 6, node: 'ask', class: 'http', status, attempts: 1 }]);
    expect(result.failures[0]?.message).toContain(`the server answered ${status}`);
  });

  test('costs one credit if it contains one record', async () => {
    const { failures, credits } = await runFlow(lookup(), records(1), { http: () => ({ status: 400 }) });
    expect([failures.length, credits]).toEqual([1, 1]);
  });

  test('is halved correctly if it has an odd number of records and several bad ones', async () => {
    const bad = ['r1', 'r4', 'r50', 'r51', 'r99'];
    const result = await runFlow(lookup(), records(99), { http: refusing(bad) });
    expect(idsOf(result.rows)).toEqual(idsOf(records(99)).filter((id) => !bad.includes(String(id))));
    expect(result.failures.map(({ fields }) => fields.id)).toEqual(bad);
    expect(result.credits).toBe(result.requests.length);
    for (const id of bad) expect(lists(result)).toContainEqual([id]);
  });

  test('needs at most 2n - 1 requests if all its n records are bad', async () => {
    const result = await runFlow(lookup({ batch: `size: 16, ${byId}` }), records(16), { http: () => ({ status: 422 }) });
    expect([result.requests.length, result.credits, result.failures.length, result.rows]).toEqual([31, 31, 16, []]);
  });

  test.each([
    [401, 1],
    [407, 1],
    [408, 1],
    [301, 1],
    [429, 3],
    [500, 3],
    [503, 3],
  ])('is not halved after the status %i, which never comes from a single record', async (status, tries) => {
    const result = await runFlow(lookup({ more: `${named}, retry: { max: 2 }` }), records(4), { http: () => ({ status }) });
    expect(sizes(result)).toEqual(Array.from({ length: tries }, () => 4));
    expect(result.failures).toMatchObject(records(4).map(() => ({ class: 'http', status, attempts: tries })));
    expect(result.credits).toBe(1);
  });

  test.each(['network', 'timeout'] as const)('is not halved after a failure of the class "%s"', async (kind) => {
    const result = await runFlow(lookup({ more: `${named}, retry: { max: 1 }` }), records(3), {
      http: () => {
        throw new Failure(kind, 'nobody there', { retryable: true, sent: false });
      },
    });
    expect(sizes(result)).toEqual([3, 3]);
    expect(result.failures).toMatchObject(records(3).map(() => ({ class: kind, attempts: 2 })));
    expect(result.credits).toBe(0);
  });

  test('is retried as a whole after a 503', async () => {
    const result = await runFlow(lookup(), records(3), {
      http: (request, index) => (index === 0 ? { status: 503, headers: { 'retry-after': '7' } } : names()(request)),
    });
    expect(result.requests.map(({ atMs, body }) => [atMs, body])).toEqual([
      [0, '{"ids":["r1","r2","r3"]}'],
      [7000, '{"ids":["r1","r2","r3"]}'],
    ]);
    expect([result.rows.length, result.credits]).toEqual([3, 1]);
    expect(result.events.filter(({ type }) => type === 'call-retried')).toHaveLength(1);
  });

  test('is retried only in the half whose failure is temporary', async () => {
    let failures = 1;
    const result = await runFlow(lookup({ batch: `size: 4, ${byId}` }), records(4), {
      http: (request) => (listIn(request).length === 2 && failures-- > 0 ? { status: 500 } : refusing(['r4'])(request)),
    });
    expect(idsOf(result.rows)).toEqual(['r1', 'r2', 'r3']);
    expect([result.requests.length, result.credits]).toEqual([6, 5]);
  });

  test("is not halved if the flow counts the response's status as success", async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 4', more: 'map: { status: $status }, success: [2xx, 404]' }), records(2), {
      http: () => ({ status: 404 }),
    });
    expect(rows.map(({ status }) => status)).toEqual([404, 404]);
  });

  test('passes each of its records on with its own _error if on_error is "keep"', async () => {
    const result = await runFlow(lookup({ more: `${named}, on_error: keep` }), records(3), { http: refusing(['r2']) });
    expect(result.rows).toMatchObject([
      { id: 'r1', name: 'name r1' },
      { id: 'r2', _error: { node: 'ask', class: 'http', status: 400, record: 2 } },
      { id: 'r3', name: 'name r3' },
    ]);
  });

  test('makes the run end if on_error is "stop"', async () => {
    const result = await runFlow(lookup({ batch: `size: 2, ${byId}`, more: `${named}, on_error: stop` }), records(100), {
      http: refusing(['r2']),
      concurrency: 1,
    });
    expect(result.ending).toBe('on-error-stop');
    expect(result.failures.map(({ record }) => record)).toContain(2);
    expect(result.rows.length + result.failures.length).toBeLessThan(100);
  });

  test('makes the run end if more records fail than are allowed', async () => {
    const result = await runFlow(lookup({ batch: `size: 10, ${byId}`, more: `${named}, retry: { max: 0 }` }), records(1000), {
      http: () => ({ status: 500 }),
      maxErrors: { count: 15 },
      concurrency: 1,
    });
    expect(result.ending).toBe('max-errors');
    expect(result.failures.length).toBeGreaterThan(15);
    expect(result.failures.length).toBeLessThan(100);
  });
});
