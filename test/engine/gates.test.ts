import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/core/call.ts';
import { Unfinished } from '../../src/core/failure.ts';
import { Gate, Slots } from '../../src/engine/gate.ts';
import { Gates, RunGates } from '../../src/engine/gates.ts';
import { type CallStage, RunPhase } from '../../src/engine/phase.ts';
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

/** The gates of one run, or of several, that note the records whose calls have started, and when. */
function gatesOf(runs = 1) {
  const clock = createFakeClock();
  const gates = new Gates(clock);
  const started: [record: number, atMs: number][] = [];
  const all = Array.from({ length: runs }, () => {
    const phase = new RunPhase();
    return { phase, gates: new RunGates(gates, phase) };
  });
  const enter = async (record: number, call = callOf(), stage: CallStage = 'begun', run = 0) => {
    const error: unknown = await all[run]?.gates.enter(call, { record, stage }).catch((error: unknown) => error);
    if (error instanceof Unfinished) return 'turned away';
    started.push([record, clock.now()]);
    return 'started';
  };
  const [{ phase, gates: own } = {}] = all;
  return { clock, started, enter, all, phase: phase as RunPhase, gates: own as RunGates };
}

describe('a gate', () => {
  test('starts the waiting call of the lowest record first: a retry does not start over at the end', async () => {
    const { enter, gates, started, clock } = gatesOf();
    await enter(9);
    const waiting = [enter(3), enter(5), enter(1)];
    for (const _ of waiting) {
      gates.leave(callOf());
      await clock.nextTurn();
    }
    expect(started.map(([record]) => record)).toEqual([9, 1, 3, 5]);
  });

  test('lets nobody through during a pause; a shorter pause does not end a longer one', async () => {
    const { enter, gates, started } = gatesOf();
    gates.pause(callOf(), 5000);
    gates.pause(callOf(), 100);
    await enter(1);
    expect(started).toEqual([[1, 5000]]);
  });

  test('starts calls at the longest interval that one of them asks for', async () => {
    const { enter, started } = gatesOf();
    const calls = [100, 500, 100].map((intervalMs) => callOf({ max: 9, intervalMs }));
    await Promise.all(calls.map((call, index) => enter(index + 1, call)));
    expect(started.map(([, atMs]) => atMs)).toEqual([0, 100, 600]);
  });

  test('holds a waiting call without a slot', async () => {
    const { enter, gates, started } = gatesOf();
    gates.pause(callOf(), 5000);
    const other = callOf({ origin: 'https://other.example.com' });
    const waiting = enter(1);
    await enter(2, other);
    expect(started).toEqual([[2, 0]]);
    gates.leave(other);
    await waiting;
  });

  test('is forgotten only if nothing is lost with it', async () => {
    const clock = createFakeClock();
    const phase = new RunPhase();
    const slots = new Slots(1);
    const gate = new Gate(clock);
    await gate.enter({ record: 1, stage: 'begun' }, slots, phase);
    expect(gate.forgetIfIdle()).toBe(true);
    gate.pause(1000);
    expect(gate.forgetIfIdle()).toBe(false);
    await clock.sleepUntil(2000);
    void gate.enter({ record: 2, stage: 'begun' }, slots, phase);
    expect(gate.forgetIfIdle()).toBe(false);
  });

  test('lets runs take turns, whatever the numbers of their records', async () => {
    const { enter, started } = gatesOf(2);
    const call = callOf({ max: 9, intervalMs: 1000 });
    await Promise.all([1, 2, 3].map((record) => enter(record, call)).concat([101, 102].map((record) => enter(record, call, 'begun', 1))));
    expect(started.map(([record]) => record)).toEqual([1, 101, 2, 102, 3]);
  });
});

describe('slots', () => {
  test('limit the calls in flight at all gates together', async () => {
    const { enter, gates, started, clock } = gatesOf();
    const calls = ['https://a.example.com', 'https://b.example.com', 'https://c.example.com'].map((origin) => callOf({ origin, max: 2 }));
    const [first] = calls.map((call, index) => enter(index + 1, call));
    await first;
    await clock.nextTurn();
    expect(started).toHaveLength(2);
    gates.leave(callOf());
    await clock.nextTurn();
    expect(started.map(([record]) => record)).toEqual([1, 2, 3]);
  });

  test('have room for more records while one is free, or fewer calls wait than there are slots', async () => {
    const { enter, gates } = gatesOf();
    const call = callOf({ max: 2 });
    await Promise.all([enter(1, call), enter(2, call)]);
    void enter(3, call);
    expect(gates.room()).toBeUndefined();
    void enter(4, call);
    const room = gates.room();
    expect(room).toBeInstanceOf(Promise);
    gates.leave(call);
    await room;
    expect(gates.room()).toBeUndefined();
  });

  test('belong to one run: another run has its own', async () => {
    const { enter, started } = gatesOf(2);
    await Promise.all([enter(1), enter(2, callOf(), 'begun', 1)]);
    expect(started).toHaveLength(2);
  });
});

describe('a run that closes', () => {
  test('turns away the waiting calls that it no longer admits, and later ones', async () => {
    const { enter, phase, gates } = gatesOf();
    await enter(1);
    const waiting = [enter(2, callOf(), 'new'), enter(3, callOf(), 'begun')];
    phase.advance('finishing', stopReason);
    expect(await enter(4, callOf(), 'new')).toBe('turned away');
    gates.leave(callOf());
    expect(await Promise.all(waiting)).toEqual(['turned away', 'started']);
  });

  test('lets nobody wait for room', async () => {
    const { enter, phase, gates } = gatesOf();
    await enter(1);
    void enter(2);
    const room = gates.room();
    phase.advance('finishing', stopReason);
    await room;
    expect(gates.room()).toBeUndefined();
  });

  test('leaves the calls of other runs at the gate', async () => {
    const { enter, all, gates } = gatesOf(2);
    gates.pause(callOf(), 1000);
    const waiting = [enter(1, callOf(), 'paid'), enter(2, callOf(), 'paid', 1)];
    all[0]?.phase.advance('stopped');
    expect(await Promise.all(waiting)).toEqual(['turned away', 'started']);
  });

  test('is forgotten at the gates, whose rate and pause stay', async () => {
    const { enter, all, started } = gatesOf(2);
    const call = callOf({ intervalMs: 1000 });
    await enter(1, call);
    all[0]?.gates.close();
    await enter(2, call, 'begun', 1);
    expect(started).toEqual([
      [1, 0],
      [2, 1000],
    ]);
  });
});
