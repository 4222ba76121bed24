import { describe, expect, test } from 'vitest';
import { Failure, Unfinished } from '../../src/core/failure.ts';
import type { Item } from '../../src/core/item.ts';
import type { Unit, UnitListener, Units } from '../../src/core/workers/workers.ts';
import { UnitPassage } from '../../src/engine/passage/unit-passage.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

const item = (number: number): Item => ({ number, fields: new Map([['id', String(number)]]), end: { offset: number * 10, line: number } });
const step = (batchSize?: number) => ({ id: 'a', type: 'http', onError: 'reject', node: { action: { batchSize } } }) as never;

/** Workers that do nothing by themselves, and the passage to them. */
function passageTo(batchSize?: number) {
  const units: Unit[] = [];
  const told: string[] = [];
  let listener: UnitListener | undefined;
  let state: 'more' | 'blocked' | 'ended' = 'more';
  let hasEnded = false;
  const workers: Units = {
    capacity: 8,
    listen: (given) => {
      listener = given;
    },
    put: (unit) => void units.push(unit),
    tell: ({ phase }) => void told.push(phase),
    end: () => {
      hasEnded = true;
    },
    close: async () => undefined,
  };
  const clock = createFakeClock();
  const phase = new RunPhase();
  const plan = { steps: [step(batchSize)] };
  const passage = new UnitPassage(plan as never, workers, clock, { phase, giveUp: undefined, input: () => state });
  return {
    passage,
    units,
    told,
    phase,
    clock,
    finish: (unit: number, index: number, result: Parameters<UnitListener['finished']>[2]) => listener?.finished(unit, index, result),
    fail: (error: unknown) => listener?.failed(error),
    closing: (reason: Parameters<UnitListener['closing']>[0]) => listener?.closing(reason),
    input(next: typeof state) {
      state = next;
      passage.inputChanged();
    },
    hasEnded: () => hasEnded,
  };
}

const sizes = (units: readonly Unit[]) => units.map(({ items }) => items.length);

describe('records go to workers', () => {
  test('in units that grow from 16 to 500 records', () => {
    const { passage, units } = passageTo();
    for (let number = 1; number <= 1600; number++) void passage.pass(item(number));
    expect(sizes(units)).toEqual([16, 32, 64, 128, 256, 500, 500]);
  });

  test('after 20 ms, although the unit is not full', async () => {
    const { passage, units, clock } = passageTo();
    void passage.pass(item(1));
    await clock.sleepUntil(19);
    expect(units).toEqual([]);
    await clock.sleepUntil(21);
    expect(sizes(units)).toEqual([1]);
  });

  test('in whole batches, until the input ends', () => {
    const { passage, units, input, hasEnded } = passageTo(100);
    for (let number = 1; number <= 250; number++) void passage.pass(item(number));
    expect(sizes(units)).toEqual([100, 100]);
    input('blocked');
    expect(sizes(units)).toEqual([100, 100]);
    input('ended');
    expect(sizes(units)).toEqual([100, 100, 50]);
    expect(hasEnded()).toBe(true);
  });

  test('except those that could not be read, and those that an earlier run has parked', async () => {
    const { passage, units, input } = passageTo();
    const failure = new Failure('input', 'a cell too many');
    const parked = { rows: 1, drop: () => undefined };
    await expect(passage.pass({ ...item(1), failure })).rejects.toBe(failure);
    await expect(passage.pass({ ...item(2), parked })).resolves.toBe(parked);
    input('ended');
    expect(units).toEqual([]);
  });
});

describe('the first result of a record counts', () => {
  test('whatever comes later', async () => {
    const { passage, finish, input } = passageTo();
    const task = passage.pass(item(1));
    input('ended');
    finish(1, 0, { rows: 1, text: 'a\n' });
    finish(1, 0, new Failure('http', 'no'));
    await expect(task).resolves.toEqual({ rows: 1, text: 'a\n' });
  });
});

describe('when a run closes', () => {
  test('only records before the one that closed it still go to workers', async () => {
    const { passage, units, told, phase } = passageTo();
    const tasks = [1, 2, 3].map((number) => passage.pass(item(number)));
    phase.advance('finishing', { ending: 'on-error-stop', message: 'record 2 failed', before: 2 });
    expect([sizes(units), told]).toEqual([[1], ['finishing']]);
    for (const task of tasks.slice(1)) await expect(task).rejects.toBeInstanceOf(Unfinished);
  });

  test('because nobody answers one worker, that does not count if others were answered', () => {
    const { passage, phase, finish, input, closing } = passageTo();
    void passage.pass(item(1));
    void passage.pass(item(2));
    input('ended');
    finish(1, 0, { rows: 0, text: '' });
    closing({ phase: 'finishing', reason: { ending: 'unreachable', message: 'none was answered' } });
    expect(phase.current).toBe('open');
  });

  test('by the error of a worker, that error ends it', async () => {
    const { passage, phase, fail, input } = passageTo();
    const task = passage.pass(item(1));
    input('ended');
    fail(new Error('a bug'));
    expect(phase.current).toBe('stopped');
    await expect(task).rejects.toBeInstanceOf(Unfinished);
    await expect(passage.close()).rejects.toThrow('a bug');
  });
});
