import { describe, expect, test } from 'vitest';
import { RequestSlots } from '../../../src/serve/keys/request-slots.ts';
import { ProblemResponse } from '../../../src/serve/problem.ts';
import { RunQueue } from '../../../src/serve/runs/runs.ts';

const full = () => new ProblemResponse('queue-full', 'full');
const gone = new AbortController().signal;

/** Waits until all work that can continue has continued. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Creates work that occupies a slot until the test ends it by its name. */
function working(refusesLargest: boolean) {
  const places = new RequestSlots({ max: 4, maxWaiting: 2, refusesLargest, full });
  const inside = new Map<string, () => void>();
  const enter = (owner: string, name: string, more: { gone?: AbortSignal; waitMs?: number } = {}) =>
    places.within({ owner, gone, ...more }, () =>
      new Promise<void>((resolve) => inside.set(name, resolve)).finally(() => inside.delete(name)),
    );
  const end = async (name: string) => {
    inside.get(name)?.();
    await settled();
  };
  return { enter, end, inside: () => [...inside.keys()] };
}

describe("the server's slots for simultaneous calls", () => {
  test('can all be used by one key while no other key waits', async () => {
    const { enter, inside } = working(true);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter('a', name);
    await settled();
    expect(inside()).toHaveLength(4);
    await expect(enter('a', 'a5')).rejects.toThrow('full');
  });

  test('are assigned to the waiting key that uses the fewest slots', async () => {
    const { enter, end, inside } = working(false);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void enter('a', name);
    void enter('b', 'b1');
    await end('a1');
    expect(inside()).toEqual(['a2', 'a3', 'a4', 'b1']);
    await end('a2');
    expect(inside()).toEqual(['a3', 'a4', 'b1', 'a5']);
  });

  test('have a queue that a key can join even if another key has filled it', async () => {
    const { enter } = working(false);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) void enter('a', name);
    await settled();
    await expect(enter('a', 'a7')).rejects.toThrow('full');
    let isRefused = false;
    enter('b', 'b1').catch(() => {
      isRefused = true;
    });
    await settled();
    expect(isRefused).toBe(false);
  });

  test('are not assigned to a client that has disconnected or has waited too long', async () => {
    const { enter, end, inside } = working(false);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter('a', name);
    const leaving = new AbortController();
    const left = enter('b', 'b1', { gone: leaving.signal });
    const late = enter('c', 'c1', { waitMs: 5 });
    leaving.abort();
    await expect(left).rejects.toThrow('full');
    await expect(late).rejects.toThrow('full');
    await end('a1');
    expect(inside()).toEqual(['a2', 'a3', 'a4']);
  });
});

test('the server next starts a run of the key with the fewest runs in progress', () => {
  const queue = new RunQueue<string>();
  for (const run of ['a1', 'a2']) queue.add('a', run);
  queue.add('b', 'b1');
  const underWay = (owner: string) => (owner === 'a' ? 3 : 0);
  expect([queue.next(underWay), queue.next(underWay), queue.next(underWay), queue.next(underWay)]).toEqual(['b1', 'a1', 'a2', undefined]);
});
