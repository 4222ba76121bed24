import { describe, expect, test } from 'vitest';
import { Failure, Unfinished } from '../../src/core/failure.ts';
import type { Item } from '../../src/core/item.ts';
import { RunPhase, type StopReason } from '../../src/engine/phase.ts';
import { type Unit, type UnitListener, UnitPassage, type Units } from '../../src/engine/unit-passage.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

const item = (number: number): Item => ({ number, fields: new Map([['id', String(number)]]), end: { offset: number * 10, line: number } });
const step = (batchSize?: number) => ({ id: 'a', type: 'http', onError: 'reject', node: { action: { batchSize } } }) as never;

/** Creates a passage, which sends records to workers in units (groups). The workers do nothing until the test reports a result. */
function passageTo(batchSize?: number, givesUp = false) {
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
  const giveUp = givesUp ? (reason: StopReason) => phase.advance('finishing', reason) : undefined;
  const passage = new UnitPassage(plan as never, workers, clock, { phase, giveUp, input: () => state });
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

describe('the passage of records to workers', () => {
  test.each([
    ['500 records, if they are fast', 20_000, 400, 500],
    ['as many records as leave units for all workers, if they are slow', 100, 100, 200],
  ])('sends units (groups of records) that grow from 16 to %s', async (_, perSecond, least, most) => {
    const { passage, units, clock, finish } = passageTo();
    let [passed, unit, index] = [0, 1, 0];
    for (let done = 0; done < 2000; done++) {
      while (passed - done < passage.size) void passage.pass(item(++passed));
      if (done % 10 === 0) await clock.sleepUntil((done * 1000) / perSecond);
      finish(unit, index++, { rows: '' } as never);
      if (index === units[unit - 1]?.items.length) [unit, index] = [unit + 1, 0];
    }
    expect(sizes(units)[0]).toBe(16);
    expect(Math.max(...sizes(units))).toBeGreaterThanOrEqual(least);
    expect(Math.max(...sizes(units))).toBeLessThanOrEqual(most);
  });

  test('sends a unit after at most 20 ms, even if the unit is not full', async () => {
    const { passage, units, clock } = passageTo();
    void passage.pass(item(1));
    await clock.sleepUntil(19);
    expect(units).toEqual([]);
    await clock.sleepUntil(21);
    expect(sizes(units)).toEqual([1]);
  });

  test('sends only whole batches in a unit, until the input ends', () => {
    const { passage, units, input, hasEnded } = passageTo(100);
    for (let number = 1; number <= 250; number++) void passage.pass(item(number));
    expect(sizes(units)).toEqual([100, 100]);
    input('blocked');
    expect(sizes(units)).toEqual([100, 100]);
    input('ended');
    expect(sizes(units)).toEqual([100, 100, 50]);
    expect(hasEnded()).toBe(true);
  });

  test('does not send records that could not be read, or whose results an earlier run has kept (parked)', async () => {
    const { passage, units, input } = passageTo();
    const failure = new Failure('input', 'a cell too many');
    const parked = { rows: 1, drop: () => undefined };
    await expect(passage.pass({ ...item(1), failure })).rejects.toBe(failure);
    await expect(passage.pass({ ...item(2), parked })).resolves.toBe(parked);
    input('ended');
    expect(units).toEqual([]);
  });
});

describe('the passage of results from workers', () => {
  test('uses the first result of a record and ignores a second result', async () => {
    const { passage, finish, input } = passageTo();
    const task = passage.pass(item(1));
    input('ended');
    finish(1, 0, { rows: 1, text: 'a\n' });
    finish(1, 0, new Failure('http', 'no'));
    await expect(task).resolves.toEqual({ rows: 1, text: 'a\n' });
  });
});

describe('a run with workers', () => {
  test('sends workers only the records before the record that closed the run', async () => {
    const { passage, units, told, phase } = passageTo();
    const tasks = [1, 2, 3].map((number) => passage.pass(item(number)));
    phase.advance('finishing', { ending: 'on-error-stop', message: 'record 2 failed', before: 2 });
    expect([sizes(units), told]).toEqual([[1], ['finishing']]);
    for (const task of tasks.slice(1)) await expect(task).rejects.toBeInstanceOf(Unfinished);
  });

  test('does not close just because one worker gets no responses, if other workers do', () => {
    const { passage, phase, finish, input, closing } = passageTo();
    void passage.pass(item(1));
    void passage.pass(item(2));
    input('ended');
    finish(1, 0, { rows: 0, text: '' });
    closing({ phase: 'finishing', reason: { ending: 'unreachable', message: 'none was answered' } });
    expect(phase.current).toBe('open');
  });

  test('ends with the error that a worker reports', async () => {
    const { passage, phase, fail, input } = passageTo();
    const task = passage.pass(item(1));
    input('ended');
    fail(new Error('a bug'));
    expect(phase.current).toBe('stopped');
    await expect(task).rejects.toBeInstanceOf(Unfinished);
    await expect(passage.close()).rejects.toThrow('a bug');
  });
});

describe('records whose requests got no response', () => {
  const refused = (attempts: number) => {
    const failure = new Failure('network', 'the connection to a.example was refused');
    failure.attempts = attempts;
    return failure;
  };

  /** Starts to process `count` records. Returns how each record ends. */
  function begun(count: number, batchSize?: number) {
    const place = passageTo(batchSize, true);
    const ends: unknown[] = [];
    for (let number = 1; number <= count; number++)
      place.passage.pass(item(number)).then(
        () => ends.push('done'),
        (reason: unknown) => ends.push(reason instanceof Unfinished ? 'unfinished' : (reason as Failure).kind),
      );
    return { ...place, ends };
  }

  test('stay unfinished if the run ends because no server responds', async () => {
    const { finish, phase, ends } = begun(16);
    for (let index = 0; index < 4; index++) finish(1, index, refused(2));
    await null;
    expect([ends, phase.reason]).toEqual([[], undefined]);
    finish(1, 4, refused(2));
    await null;
    expect(ends).toEqual(Array(5).fill('unfinished'));
    expect(phase.reason).toMatchObject({ ending: 'unreachable', message: expect.stringContaining('none of the first 10 attempts') });
  });

  test('fail as soon as a server has responded, and later records fail at once', async () => {
    const { finish, ends } = begun(16);
    finish(1, 0, refused(3));
    finish(1, 1, new Failure('http', 'the server answered 500', { status: 500 }));
    finish(1, 2, refused(3));
    await null;
    expect(ends).toEqual(['network', 'http', 'network']);
  });

  test('fail if the input has ended', async () => {
    const { finish, input, ends } = begun(16);
    for (let index = 0; index < 16; index++) finish(1, index, refused(0));
    await null;
    expect(ends).toEqual([]);
    input('ended');
    await null;
    expect(ends).toEqual(Array(16).fill('network'));
  });

  test('end the run if they fill whole batches and block all further records', async () => {
    const { finish, input, phase, ends } = begun(200, 100);
    for (let index = 0; index < 100; index++) finish(1, index, refused(3));
    input('blocked');
    for (let index = 0; index < 100; index++) finish(2, index, refused(3));
    await null;
    expect(phase.reason).toMatchObject({ ending: 'unreachable', message: expect.stringContaining('none of the first 6 attempts') });
    expect(ends).toEqual(Array(200).fill('unfinished'));
  });
});
