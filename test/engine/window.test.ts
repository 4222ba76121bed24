import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Failure, Unfinished } from '../../src/core/failure.ts';
import type { Item, Outcome } from '../../src/core/item.ts';
import type { Fields } from '../../src/core/record.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { Window, type WindowOptions, windowSize } from '../../src/engine/window.ts';
import { planFor } from '../helpers/flow-problems.ts';

const itemOf = (number: number) => ({ number, fields: new Map() }) as unknown as Item;

/** Creates a window whose records end when the test says so. `passedOn` lists their numbers, negative for failed records. */
function windowOf(options: Partial<WindowOptions> = {}) {
  const passedOn: number[] = [];
  const phase = new RunPhase();
  const ends = new Map<number, { resolve(rows: Fields[]): void; reject(reason: unknown): void }>();
  const finish = (item: Item, outcome: Outcome) => void passedOn.push('failure' in outcome ? -item.number : item.number);
  const window = new Window({ size: () => 3, unordered: false, finish, ...options }, phase);
  return {
    window,
    phase,
    passedOn,
    begin(...numbers: number[]) {
      for (const number of numbers) {
        window.begin(itemOf(number), new Promise<Fields[]>((resolve, reject) => ends.set(number, { resolve, reject })));
      }
    },
    async end(...numbers: number[]) {
      for (const number of numbers) ends.get(number)?.resolve([]);
      await nextTurn();
    },
    async fail(number: number, reason: unknown) {
      ends.get(number)?.reject(reason);
      await nextTurn();
    },
  };
}

describe('the window of records in progress', () => {
  test('passes records on in input order, including failed records', async () => {
    const it = windowOf();
    it.begin(1, 2, 3);
    await it.end(3);
    await it.fail(2, new Failure('http', 'the server answered 404'));
    expect(it.passedOn).toEqual([]);
    await it.end(1);
    expect(it.passedOn).toEqual([1, -2, 3]);
  });

  test('counts the finished records that wait for an earlier record', async () => {
    const it = windowOf();
    it.begin(1, 2, 3);
    await it.end(3);
    await it.fail(2, new Failure('http', 'the server answered 404'));
    expect(it.window.waiting).toBe(2);
    await it.end(1);
    expect(it.window.waiting).toBe(0);
  });

  test('with --unordered, passes records on as soon as they finish', async () => {
    const it = windowOf({ unordered: true });
    it.begin(1, 2, 3);
    await it.end(3, 1);
    expect(it.passedOn).toEqual([3, 1]);
  });

  test('lets records begin until it is full, and lets more begin when records are written', async () => {
    const it = windowOf();
    it.begin(1, 2);
    expect(it.window.room()).toBeUndefined();
    it.begin(3);
    const room = it.window.room();
    await it.end(1, 2, 3);
    it.window.free(1);
    await room;
    expect(it.window.room()).toBeUndefined();
  });

  test('stops advancing before it gets too far ahead of a slow record, even with --unordered', async () => {
    const it = windowOf({ unordered: true });
    it.begin(1);
    let number = 1;
    while (!it.window.room()) {
      it.begin(++number);
      await it.end(number);
      it.window.free(1);
    }
    expect(number).toBe(3 * 64);
    await it.end(1);
    expect(it.window.room()).toBeUndefined();
  });

  test('makes no record wait for room once the run closes', async () => {
    const it = windowOf();
    it.begin(1, 2, 3);
    const room = it.window.room();
    it.phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' });
    await room;
    expect(it.window.room()).toBeUndefined();
  });

  test('ends when its last record ends', async () => {
    const it = windowOf();
    it.begin(1, 2);
    const end = it.window.end().then(() => it.passedOn.length);
    await it.end(1, 2);
    expect(await end).toBe(2);
  });

  test('keeps the finished records after an unfinished record for the next run', async () => {
    const it = windowOf();
    it.begin(1, 2, 3);
    it.phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' });
    await it.end(1, 3);
    await it.fail(2, new Unfinished());
    await it.window.end();
    expect(it.passedOn).toEqual([1]);
    expect(it.window.parkable().map(({ item }) => item.number)).toEqual([3]);
  });

  test('stops the run at an error that no record causes, and throws the error at the end', async () => {
    const it = windowOf();
    it.begin(1);
    await it.fail(1, new TypeError('x is not a function'));
    expect(it.phase.current).toBe('stopped');
    await expect(it.window.end()).rejects.toThrow('x is not a function');
  });

  test('stops the run if the output fails', async () => {
    const finish = () => {
      throw new RangeError('Invalid string length');
    };
    const it = windowOf({ finish });
    it.begin(1);
    await it.end(1);
    expect(it.phase.current).toBe('stopped');
    await expect(it.window.end()).rejects.toThrow('Invalid string length');
  });

  test('ends the run with an error if a record stays unfinished while the run continues (a bug)', async () => {
    const it = windowOf();
    it.begin(1);
    await it.fail(1, new Unfinished());
    expect(it.phase.current).toBe('stopped');
    await expect(it.window.end()).rejects.toThrow('left unfinished');
  });
});

describe('the size of the window of records in progress', () => {
  const node = (more: string) => `  - { type: http, method: POST, url: "https://api.example.com/"${more} }\n`;
  test.each([
    ['is 1024 by default', node(''), 1024],
    ['is divided among the nodes that make calls', node('') + node(''), 512],
    ['grows with the concurrency', node(', concurrency: 1000'), 8000],
    [
      'is larger if records wait between calls',
      `  - { type: poll, until: "true", nodes: [{ type: http, url: "https://api.example.com/" }] }`,
      8192,
    ],
    ['is enough to fill the batches in flight', node(', concurrency: 20, batch: { size: 100, items: x }, body: ["{{items}}"]'), 2512],
    ['is at most 65,536', node(', concurrency: 1000, batch: { size: 1000, items: x }, body: ["{{items}}"]'), 65_536],
  ])('%s', (_, nodes, size) => {
    expect(windowSize(planFor(`nodes:\n${nodes}`))).toBe(size);
  });
});
