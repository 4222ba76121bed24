import { describe, expect, test } from 'vitest';
import type { Batch, BatchEntry, BatchQuestion, Call } from '../../src/core/call.ts';
import { Failure, Unfinished } from '../../src/core/failure.ts';
import type { Step } from '../../src/core/node.ts';
import { Batches, type InputState } from '../../src/engine/batches.ts';
import type { CallOwner, Calls } from '../../src/engine/call.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

interface Entry extends BatchEntry<string> {
  readonly name: string;
}

/** Creates a batch of entries. Its call returns the entries' names as the response. */
function batchOf(size: number, more: Partial<Batch<string>> = {}): Batch<string> {
  return {
    key: '',
    size,
    maxBytes: Number.POSITIVE_INFINITY,
    callFor: (entries) => ({ attempt: async () => (entries as Entry[]).map(({ name }) => name) }) as unknown as Call<never>,
    resultsOf: (entries) => (entries as Entry[]).map(({ name }) => `result of ${name}`),
    ...more,
  };
}

const steps = ['a', 'b'].map((id) => ({ id, node: { action: { batchSize: 2 } } }) as unknown as Step);

/** Creates open batches, and keeps the lists of names that they send. `refuses` returns true for a list that gets a 400. */
function open({ input = 'ended' as InputState, refuses = (_names: readonly string[]): boolean => false } = {}) {
  const sent: (readonly string[])[] = [];
  const begun: [record: number, isShare: boolean][] = [];
  const clock = createFakeClock();
  const make = (async (spec: Call<unknown>, caller: CallOwner) => {
    const names = (await spec.attempt(caller, { number: 1, startedMs: 0 })) as string[];
    sent.push(names);
    caller.progress.begin(caller.node);
    if (refuses(names)) throw new Failure('http', 'refused', { status: 400 });
    return {};
  }) as Calls['make'];
  const state = { input };
  const batches = new Batches({ steps, clock, calls: { make }, input: () => state.input });
  let record = 0;
  const join = (
    name: string,
    batch: Batch<string>,
    { node = 'a', bytes = 0, question, record: own = ++record, isAbandoned = false }: Joining = {},
  ) => {
    const caller = {
      ...{ record: own, node, isAbandoned: () => isAbandoned },
      progress: { hasBegun: false, begin: (_node: string, isShare = false) => void begun.push([own, isShare]) },
    } as unknown as CallOwner;
    return batches.join({ batch, bytes, question, name } as Entry, { caller, step: node === 'a' ? 0 : 1, isInner: false });
  };
  return { batches, join, sent, begun, state };
}

interface Joining {
  readonly node?: string;
  readonly bytes?: number;
  readonly question?: BatchQuestion;
  readonly record?: number;
  readonly isAbandoned?: boolean;
}

describe('a batch', () => {
  test('is sent when it is full, and each record gets its own result', async () => {
    const { join, sent } = open({ input: 'more' });
    const batch = batchOf(2);
    expect(await Promise.all([join('x', batch), join('y', batch)])).toEqual(['result of x', 'result of y']);
    expect(sent).toEqual([['x', 'y']]);
  });

  test('that is not full waits for more records while the input still has some', async () => {
    const { batches, join, sent, state } = open({ input: 'more' });
    const result = join('x', batchOf(2));
    await createFakeClock().nextTurn();
    expect(sent).toEqual([]);
    state.input = 'ended';
    batches.recheck();
    expect(await result).toBe('result of x');
  });

  test('that is not full waits while an earlier node is still processing records', async () => {
    const { batches, join, sent } = open();
    let finish = (): void => undefined;
    const work = batches.busyWhile(0, new Promise<void>((resolve) => (finish = resolve)));
    const result = join('x', batchOf(2), { node: 'b' });
    await createFakeClock().nextTurn();
    expect(sent).toEqual([]);
    finish();
    await work;
    expect(await result).toBe('result of x');
  });

  test('lists its records in the order of the input', async () => {
    const { join, sent } = open();
    const batch = batchOf(3);
    await Promise.all([join('third', batch, { record: 3 }), join('first', batch, { record: 1 }), join('second', batch, { record: 2 })]);
    expect(sent).toEqual([['first', 'second', 'third']]);
  });

  test('is sent early if the next record would make it exceed its maximum size', async () => {
    const { join, sent } = open();
    const batch = batchOf(10, { maxBytes: 10 });
    await Promise.all([join('x', batch, { bytes: 6 }), join('y', batch, { bytes: 5 }), join('z', batch, { bytes: 5 })]);
    expect(sent).toEqual([['x'], ['y', 'z']]);
  });

  test('is sent early if the next record conflicts with one of its records', async () => {
    const { join, sent } = open();
    const batch = batchOf(10);
    const asks = (key: string, text: string) => ({ question: { key, text } });
    await Promise.all([join('w', batch, asks('7', 'DE')), join('x', batch, asks('7', 'DE')), join('y', batch, asks('7', 'FR'))]);
    expect(sent).toEqual([['w', 'x'], ['y']]);
  });

  test('contains only records that have the same batch key', async () => {
    const { join, sent } = open();
    await Promise.all([join('x', batchOf(2, { key: 'one' })), join('y', batchOf(2, { key: 'two' }))]);
    expect(sent).toEqual([['x'], ['y']]);
  });

  test('counts as one call, whose cost is divided among its records', async () => {
    const { join, begun } = open();
    const batch = batchOf(3);
    await Promise.all([join('x', batch), join('y', batch), join('z', batch)]);
    expect(begun).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ]);
  });

  test('leaves out rows that were abandoned because another row of the same record failed', async () => {
    const { join, sent } = open();
    const batch = batchOf(2);
    const [first, second] = await Promise.allSettled([join('x', batch, { isAbandoned: true }), join('y', batch)]);
    expect(first).toMatchObject({ reason: expect.any(Unfinished) });
    expect(second).toMatchObject({ value: 'result of y' });
    expect(sent).toEqual([['y']]);
  });
});

describe('a batch that the server refuses', () => {
  test('is halved until only the refused record fails', async () => {
    const { join, sent } = open({ refuses: (names) => names.includes('bad') });
    const batch = batchOf(4);
    const results = await Promise.allSettled(['a', 'bad', 'c', 'd'].map((name) => join(name, batch)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(sent.map((names) => names.join(''))).toEqual(['abadcd', 'abad', 'cd', 'a', 'bad']);
  });

  test.each([401, 407, 408, 429, 500])('is not halved if the status is %i, which no single record causes', async (status) => {
    const { join, sent } = open();
    const failure = new Failure('http', 'no', { status });
    const batch = batchOf(2, {
      resultsOf: () => {
        throw failure;
      },
    });
    const results = await Promise.allSettled([join('x', batch), join('y', batch)]);
    expect(results).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ]);
    expect(sent).toEqual([['x', 'y']]);
  });
});
