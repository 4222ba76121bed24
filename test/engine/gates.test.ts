import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/core/call.ts';
import { Unfinished } from '../../src/core/failure.ts';
import { Gates, RunGates } from '../../src/engine/gates.ts';
import { type CallStage, RunPhase } from '../../src/engine/phase.ts';
import type { Slots } from '../../src/engine/slots.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

interface CallOptions {
  readonly origin?: string;
  readonly node?: string;
  readonly max?: number;
  readonly intervalMs?: number;
}

const callOf = ({ origin = 'https://api.example.com', node = 'a', max = 1, intervalMs }: CallOptions = {}) =>
  ({ gate: { origin, credential: undefined }, limit: { key: node, max }, intervalMs }) as Call<unknown>;
const stopReason = { ending: 'interrupted', message: 'received SIGINT' } as const;

/** Creates gates for one or several runs. `started` lists the record and the start time of each call. */
function gatesOf(runs = 1) {
  const clock = createFakeClock();
  const gates = new Gates(clock);
  const started: [record: number, atMs: number][] = [];
  const all = Array.from({ length: runs }, () => {
    const phase = new RunPhase();
    return { phase, gates: new RunGates(gates, phase) };
  });
  const slots = new Map<number, Slots>();
  const enter = async (record: number, call = callOf(), stage: CallStage = 'begun', run = 0) => {
    const slot = await all[run]?.gates.enter(call, { record, stage }).catch((error: unknown) => error);
    if (slot instanceof Unfinished) return 'turned away';
    slots.set(record, slot as Slots);
    started.push([record, clock.now()]);
    return 'started';
  };
  /** Frees the slot of a record's call, or of the call that started last. */
  const free = async (record = started.at(-1)?.[0] as number) => {
    slots.get(record)?.free();
    await clock.nextTurn();
  };
  const [{ phase, gates: own } = {}] = all;
  return { clock, started, enter, free, all, shared: gates, phase: phase as RunPhase, gates: own as RunGates };
}

describe('a gate (which delays calls to one origin)', () => {
  test('starts the waiting call of the earliest record first, so a retry does not wait behind all others', async () => {
    const { enter, free, started } = gatesOf();
    await enter(9);
    const waiting = [enter(3), enter(5), enter(1)];
    for (const _ of waiting) await free();
    expect(started.map(([record]) => record)).toEqual([9, 1, 3, 5]);
  });

  test('starts no call during a pause, and a shorter pause does not end a longer pause', async () => {
    const { enter, gates, started } = gatesOf();
    gates.pause(callOf(), 5000);
    gates.pause(callOf(), 100);
    await enter(1);
    expect(started).toEqual([[1, 5000]]);
  });

  test('uses the longest interval between calls that any of its callers requires', async () => {
    const { enter, started } = gatesOf();
    const calls = [100, 500, 100].map((intervalMs) => callOf({ max: 9, intervalMs }));
    await Promise.all(calls.map((call, index) => enter(index + 1, call)));
    expect(started.map(([, atMs]) => atMs)).toEqual([0, 100, 600]);
  });

  test('holds a call back without occupying a slot', async () => {
    const { enter, free, gates, started } = gatesOf();
    gates.pause(callOf(), 5000);
    const other = callOf({ origin: 'https://other.example.com' });
    const waiting = enter(1);
    await enter(2, other);
    expect(started).toEqual([[2, 0]]);
    await free();
    await waiting;
  });

  test('can be discarded only if it has no pause and no waiting calls', async () => {
    const { clock, enter, shared } = gatesOf();
    const gate = shared.gateOf(callOf());
    await enter(1);
    expect(gate.isIdle()).toBe(true);
    gate.pause(1000);
    expect(gate.isIdle()).toBe(false);
    await clock.sleepUntil(2000);
    expect(gate.isIdle()).toBe(true);
    void enter(2);
    expect(gate.isIdle()).toBe(false);
  });

  test('lets runs take turns, whatever their record numbers', async () => {
    const { enter, started } = gatesOf(2);
    const call = callOf({ max: 9, intervalMs: 1000 });
    await Promise.all([1, 2, 3].map((record) => enter(record, call)).concat([101, 102].map((record) => enter(record, call, 'begun', 1))));
    expect(started.map(([record]) => record)).toEqual([1, 2, 101, 3, 102]);
  });
});

describe('the slots (for calls in flight)', () => {
  test('limit the total number of calls at all gates', async () => {
    const { enter, free, started, clock } = gatesOf();
    const calls = ['https://a.example.com', 'https://b.example.com', 'https://c.example.com'].map((origin) => callOf({ origin, max: 2 }));
    const [first] = calls.map((call, index) => enter(index + 1, call));
    await first;
    await clock.nextTurn();
    expect(started).toHaveLength(2);
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 2, 3]);
  });

  test('allow another record to begin if a slot is free or fewer calls wait than there are slots', async () => {
    const { enter, free, gates } = gatesOf();
    const call = callOf({ max: 2 });
    await Promise.all([enter(1, call), enter(2, call)]);
    void enter(3, call);
    expect(gates.room()).toBeUndefined();
    void enter(4, call);
    const room = gates.room();
    expect(room).toBeInstanceOf(Promise);
    await free();
    await room;
    expect(gates.room()).toBeUndefined();
  });

  test('are shared by all runs', async () => {
    const { enter, free, started } = gatesOf(2);
    const waiting = [enter(1), enter(101, callOf(), 'begun', 1)];
    await waiting[0];
    expect(started.map(([record]) => record)).toEqual([1]);
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 101]);
  });

  test('are given to runs in turn, so a run with many calls does not block other runs', async () => {
    const { enter, free, started } = gatesOf(3);
    await enter(1);
    for (const record of [2, 3, 4, 5]) void enter(record);
    void enter(101, callOf(), 'begun', 1);
    void enter(102, callOf(), 'begun', 1);
    void enter(201, callOf(), 'begun', 2);
    for (let index = 0; index < 7; index++) await free();
    expect(started.map(([record]) => record)).toEqual([1, 2, 101, 201, 3, 102, 4, 5]);
  });

  test('still reach a run with many records in its turn, however many runs begin later', async () => {
    const { enter, free, started } = gatesOf(20);
    await enter(1);
    void enter(2);
    void enter(3);
    for (let run = 1; run < 20; run++) {
      void enter(100 + run, callOf(), 'begun', run);
      await free();
    }
    const order = started.map(([record]) => record);
    expect(order.slice(0, 5)).toEqual([1, 2, 101, 3, 102]);
  });

  test('are given in turn to calls at different gates', async () => {
    const { enter, free, started } = gatesOf(2);
    const [a, b] = ['https://a.example.com', 'https://b.example.com'].map((origin) => callOf({ origin }));
    await enter(1, a);
    for (const record of [2, 3, 4]) void enter(record, a);
    void enter(101, b, 'begun', 1);
    await free();
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 2, 101]);
  });

  test('are not occupied by calls that wait at a paused gate', async () => {
    const { enter, free, gates, started } = gatesOf(2);
    const other = callOf({ origin: 'https://other.example.com' });
    await enter(1);
    gates.pause(callOf(), 5000);
    const paused = enter(2);
    void enter(101, other, 'begun', 1);
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 101]);
    await free();
    expect(await paused).toBe('started');
    expect(started.at(-1)).toEqual([2, 5000]);
  });

  test('are limited by the lowest maximum of all runs that use them', async () => {
    const { clock, enter, free, all, started } = gatesOf(2);
    const [wide, narrow] = [3, 1].map((max) => callOf({ max }));
    await enter(1, wide);
    void enter(101, narrow, 'begun', 1);
    void enter(2, wide);
    void enter(3, wide);
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 101]);
    all[1]?.gates.close();
    await clock.nextTurn();
    expect(started.map(([record]) => record)).toEqual([1, 101, 2, 3]);
  });

  test('are no longer limited by the maximum of an ended run if concurrency is automatic', async () => {
    const { enter, free, all, clock } = gatesOf(2);
    const auto = (max: number) => ({ ...callOf(), limit: { key: 'a', max, auto: 'a' } });
    await enter(1, auto(2));
    await free();
    all[0]?.gates.close();
    // Responses that always take 100 ms: the automatic concurrency keeps doubling its limit.
    const wide = all[1]?.gates as RunGates;
    let inFlight = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 200 }, async (_, record) => {
        const slot = await wide.enter(auto(64), { record: record + 100, stage: 'begun' });
        most = Math.max(most, ++inFlight);
        const sentAtMs = clock.now();
        await clock.sleepUntil(sentAtMs + 100);
        inFlight--;
        slot.answered({ sentAtMs, atMs: clock.now() });
        slot.free();
      }),
    );
    expect(most).toBeGreaterThan(2);
  });
  test('become available to a waiting run when a different run frees one', async () => {
    const { enter, free, all } = gatesOf(2);
    await enter(101, callOf(), 'begun', 1);
    void enter(1);
    const room = all[0]?.gates.room();
    expect(room).toBeInstanceOf(Promise);
    await free();
    await room;
    expect(all[0]?.gates.room()).toBeUndefined();
  });

  test('are also given to calls outside any run, and are freed if such a call fails', async () => {
    const { enter, free, shared, started } = gatesOf();
    await enter(1);
    const failed = shared.pass(callOf(), () => Promise.reject(new Error('no answer')));
    void enter(2);
    await free();
    await expect(failed).rejects.toThrow('no answer');
    await free();
    expect(started.map(([record]) => record)).toEqual([1, 2]);
  });
});

describe('the gates and slots of a run that closes', () => {
  test('reject waiting and later calls that the closing run no longer allows', async () => {
    const { enter, free, phase } = gatesOf();
    await enter(1);
    const waiting = [enter(2, callOf(), 'new'), enter(3, callOf(), 'begun')];
    phase.advance('finishing', stopReason);
    expect(await enter(4, callOf(), 'new')).toBe('turned away');
    await free();
    expect(await Promise.all(waiting)).toEqual(['turned away', 'started']);
  });

  test("do not make the run's next record wait for a free slot", async () => {
    const { enter, phase, gates } = gatesOf();
    await enter(1);
    void enter(2);
    const room = gates.room();
    phase.advance('finishing', stopReason);
    await room;
    expect(gates.room()).toBeUndefined();
  });

  test('still serve the calls of other runs', async () => {
    const { enter, all, gates } = gatesOf(2);
    gates.pause(callOf(), 1000);
    const waiting = [enter(1, callOf(), 'paid'), enter(2, callOf(), 'paid', 1)];
    all[0]?.phase.advance('stopped');
    expect(await Promise.all(waiting)).toEqual(['turned away', 'started']);
  });

  test('keep the rates of other runs, but no longer apply the rate of the run that has closed', async () => {
    const { enter, all, started } = gatesOf(3);
    const [slow, fast, free] = [60_000, 1000, undefined].map((intervalMs) => callOf({ max: 9, intervalMs }));
    await enter(1, slow);
    const waiting = [101, 102].map((record) => enter(record, fast, 'begun', 1));
    all[0]?.gates.close();
    await Promise.all(waiting);
    all[1]?.gates.close();
    await Promise.all([201, 202].map((record) => enter(record, free, 'begun', 2)));
    expect(started).toEqual([
      [1, 0],
      [101, 1000],
      [102, 2000],
      [201, 2000],
      [202, 2000],
    ]);
  });

  test('do not let the next run with the same rate start its calls early', async () => {
    const { enter, free, all, started } = gatesOf(2);
    const call = callOf({ intervalMs: 1000 });
    await enter(1, call);
    await free();
    all[0]?.gates.close();
    await enter(2, call, 'begun', 1);
    expect(started).toEqual([
      [1, 0],
      [2, 1000],
    ]);
  });
});
