import { describe, expect, test } from 'vitest';
import { type CallStage, type Phase, RunPhase, type StopReason, Wakeup } from '../../src/engine/phase.ts';

const reason = (more: Partial<StopReason> = {}): StopReason => ({ ending: 'interrupted', message: 'received SIGINT', ...more });
const stages: readonly CallStage[] = ['new', 'begun', 'paid'];

function phaseAt(name: Phase): RunPhase {
  const phase = new RunPhase();
  if (name !== 'open') phase.advance(name, reason());
  return phase;
}

describe('the phase of a run', () => {
  test.each<[Phase, readonly CallStage[]]>([
    ['open', ['new', 'begun', 'paid']],
    ['finishing', ['begun', 'paid']],
    ['unpaid', ['paid']],
    ['stopped', []],
  ])('in "%s" allows only calls that are %j', (name, admitted) => {
    const phase = phaseAt(name);
    expect(stages.filter((stage) => phase.admits(7, stage))).toEqual(admitted);
  });

  test('in "finishing" still allows new calls for records before the record that ended the run', () => {
    const phase = new RunPhase();
    phase.advance('finishing', reason({ before: 7 }));
    expect([6, 7].map((record) => phase.admits(record, 'new'))).toEqual([true, false]);
    phase.advance('unpaid', reason());
    expect(phase.admits(6, 'new')).toBe(false);
  });

  test('never returns to an earlier phase', () => {
    const phase = new RunPhase();
    phase.advance('unpaid', reason());
    phase.advance('finishing', reason());
    expect(phase.current).toBe('unpaid');
    phase.advance('stopped');
    phase.advance('unpaid');
    expect(phase.current).toBe('stopped');
  });

  test('keeps the first of several reasons to stop, but the shortest grace period and the lowest record number', () => {
    const phase = new RunPhase();
    phase.advance('finishing', { ending: 'on-error-stop', message: 'record 7 failed', before: 7 });
    phase.advance('finishing', reason({ before: 5, patienceMs: 10_000 }));
    phase.advance('finishing', reason({ before: 9, patienceMs: 20_000 }));
    expect(phase.reason).toMatchObject({ ending: 'on-error-stop', message: 'record 7 failed' });
    expect([4, 5, 8].map((record) => phase.wants(record, false))).toEqual([true, false, false]);
    expect([10_000, 10_001].map((waitMs) => phase.allowsWait(waitMs, true))).toEqual([true, false]);
  });

  test('names the record with the lowest number if several records end the run in the same way', () => {
    const phase = new RunPhase();
    for (const before of [21, 7, 9]) phase.advance('finishing', { ending: 'on-error-stop', message: `record ${before} failed`, before });
    expect(phase.reason).toMatchObject({ message: 'record 7 failed', before: 7 });
    phase.advance('finishing', reason());
    expect(phase.reason).toMatchObject({ message: 'record 7 failed' });
  });

  test.each<[Phase, boolean, boolean]>([
    ['open', true, true],
    ['finishing', true, true],
    ['unpaid', false, true],
    ['stopped', false, false],
  ])('in "%s" allows a long wait without a reserved credit: %s; with a reserved credit: %s', (name, unpaid, paid) => {
    const phase = phaseAt(name);
    expect([phase.allowsWait(3_600_000, false), phase.allowsWait(3_600_000, true)]).toEqual([unpaid, paid]);
  });
});

describe('a listener for phase changes', () => {
  test('is called once for each change, with the previous phase', () => {
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

  test('can read the reason for the change', () => {
    const phase = new RunPhase();
    let seen: StopReason | undefined;
    phase.onPhase(() => {
      seen = phase.reason;
    });
    phase.advance('finishing', reason());
    expect(seen).toMatchObject({ ending: 'interrupted' });
  });
});

describe('an abort signal for phase changes', () => {
  test('is aborted by the next change, after which a new signal is created', () => {
    const phase = new RunPhase();
    const { change } = phase;
    phase.advance('finishing', reason());
    expect([change.aborted, phase.change.aborted]).toEqual([true, false]);
  });

  test('is aborted only by the phase "stopped" if it is the signal for a stop', () => {
    const phase = new RunPhase();
    phase.advance('unpaid', reason());
    expect(phase.stopped.aborted).toBe(false);
    phase.advance('stopped');
    expect(phase.stopped.aborted).toBe(true);
  });
});

describe('a wakeup for a waiting caller', () => {
  test('ends one wait, and does nothing if nobody waits', async () => {
    const wakeup = new Wakeup();
    const waiting = wakeup.wait();
    expect(wakeup.isAwaited).toBe(true);
    wakeup.wake();
    await waiting;
    expect(wakeup.isAwaited).toBe(false);
    wakeup.wake();
  });
});
