import { describe, expect, test } from 'vitest';
import type { Phase, StopReason } from '../../src/core/workers/closing.ts';
import { type CallStage, RunPhase, Wakeup } from '../../src/engine/phase.ts';

const reason = (more: Partial<StopReason> = {}): StopReason => ({ ending: 'interrupted', message: 'received SIGINT', ...more });
const stages: readonly CallStage[] = ['new', 'begun', 'paid'];

function phaseAt(name: Phase): RunPhase {
  const phase = new RunPhase();
  if (name !== 'open') phase.advance(name, reason());
  return phase;
}

describe('a phase', () => {
  test.each<[Phase, readonly CallStage[]]>([
    ['open', ['new', 'begun', 'paid']],
    ['finishing', ['begun', 'paid']],
    ['unpaid', ['paid']],
    ['stopped', []],
  ])('%s admits calls that are %j', (name, admitted) => {
    const phase = phaseAt(name);
    expect(stages.filter((stage) => phase.admits(7, stage))).toEqual(admitted);
  });

  test('finishing admits new calls of the records before the one that ends the run', () => {
    const phase = new RunPhase();
    phase.advance('finishing', reason({ before: 7 }));
    expect([6, 7].map((record) => phase.admits(record, 'new'))).toEqual([true, false]);
    phase.advance('unpaid', reason());
    expect(phase.admits(6, 'new')).toBe(false);
  });

  test('never goes back', () => {
    const phase = new RunPhase();
    phase.advance('unpaid', reason());
    phase.advance('finishing', reason());
    expect(phase.current).toBe('unpaid');
    phase.advance('stopped');
    phase.advance('unpaid');
    expect(phase.current).toBe('stopped');
  });

  test('keeps the first reason, and the least patience and lowest record of all', () => {
    const phase = new RunPhase();
    phase.advance('finishing', { ending: 'on-error-stop', message: 'record 7 failed', before: 7 });
    phase.advance('finishing', reason({ before: 5, patienceMs: 10_000 }));
    phase.advance('finishing', reason({ before: 9, patienceMs: 20_000 }));
    expect(phase.reason).toMatchObject({ ending: 'on-error-stop', message: 'record 7 failed' });
    expect([4, 5, 8].map((record) => phase.wants(record, false))).toEqual([true, false, false]);
    expect([10_000, 10_001].map((waitMs) => phase.allowsWait(waitMs, true))).toEqual([true, false]);
  });

  test.each<[Phase, boolean, boolean]>([
    ['open', true, true],
    ['finishing', true, true],
    ['unpaid', false, true],
    ['stopped', false, false],
  ])('%s allows a wait without a credit: %s, with one: %s', (name, unpaid, paid) => {
    const phase = phaseAt(name);
    expect([phase.allowsWait(3_600_000, false), phase.allowsWait(3_600_000, true)]).toEqual([unpaid, paid]);
  });
});

describe('a listener', () => {
  test('hears each change once, with the phase before', () => {
    const phase = new RunPhase();
    const heard: unknown[] = [];
    phase.onPhase((...change) => heard.push(change));
    phase.advance('finishing', reason({ before: 7 }));
    phase.advance('finishing', reason({ before: 7 }));
    phase.advance('finishing', reason({ before: 5 }));
    phase.advance('unpaid', reason());
    phase.advance('unpaid', reason());
    phase.advance('stopped');
    phase.advance('finishing', reason());
    expect(heard).toEqual([
      ['finishing', 'open'],
      ['finishing', 'finishing'],
      ['unpaid', 'finishing'],
      ['stopped', 'unpaid'],
    ]);
  });

  test('sees the reason of the change', () => {
    const phase = new RunPhase();
    let seen: StopReason | undefined;
    phase.onPhase(() => {
      seen = phase.reason;
    });
    phase.advance('finishing', reason());
    expect(seen).toMatchObject({ ending: 'interrupted' });
  });
});

describe('a signal', () => {
  test('of the next change is aborted by it, and there is another for the change after that', () => {
    const phase = new RunPhase();
    const { change } = phase;
    phase.advance('finishing', reason());
    expect([change.aborted, phase.change.aborted]).toEqual([true, false]);
  });

  test('of the stop is aborted only by it', () => {
    const phase = new RunPhase();
    phase.advance('unpaid', reason());
    expect(phase.stopped.aborted).toBe(false);
    phase.advance('stopped');
    expect(phase.stopped.aborted).toBe(true);
  });
});

describe('a wakeup', () => {
  test('wakes its caller once', async () => {
    const wakeup = new Wakeup();
    const waiting = wakeup.wait();
    expect(wakeup.isAwaited).toBe(true);
    wakeup.wake();
    await waiting;
    expect(wakeup.isAwaited).toBe(false);
    wakeup.wake();
  });
});
