import { describe, expect, test } from 'vitest';
import { hasScope, seesFlow, seesRun } from '../../../src/serve/caller.ts';
import { RequestRates, rateHeaders } from '../../../src/serve/keys/request-rates.ts';
import { UsageCounter } from '../../../src/serve/keys/server-keys.ts';
import type { KeyUsage } from '../../../src/serve/store/usage.ts';
import { noon, setClock } from '../../helpers/server-keys.ts';

describe('the rate limit of an API key', () => {
  const key = { id: 'a', rate: '600/min' };

  test("allows a full minute's requests at once, and then one at a time", () => {
    const clock = setClock();
    const rates = new RequestRates(clock);
    const turns = Array.from({ length: 601 }, () => rates.take(key));
    expect(turns.filter(({ isAllowed }) => isAllowed)).toHaveLength(600);
    expect(turns[600]).toEqual({ isAllowed: false, quota: 600, windowS: 60, remaining: 0, resetS: 1 });
    clock.pass(99);
    expect(rates.take(key).isAllowed).toBe(false);
    clock.pass(1);
    expect([rates.take(key).isAllowed, rates.take(key).isAllowed]).toEqual([true, false]);
    clock.pass(3_600_000);
    expect(rates.look(key).remaining).toBe(600);
  });

  test('is reported in the response headers', () => {
    const rates = new RequestRates(setClock());
    expect(rateHeaders(rates.take(key))).toEqual({ 'ratelimit-policy': '"key";q=600;w=60', ratelimit: '"key";r=599;t=60' });
    expect(rates.look(key).remaining).toBe(599);
  });

  test('is reported with the time to wait if no request is left', () => {
    const clock = setClock();
    const rates = new RequestRates(clock);
    const slow = { id: 'b', rate: '2/h' };
    expect([rates.take(slow), rates.take(slow)].map(({ isAllowed }) => isAllowed)).toEqual([true, true]);
    expect(rates.take(slow)).toMatchObject({ isAllowed: false, resetS: 1800 });
    clock.pass(1_799_500);
    expect(rates.take(slow)).toMatchObject({ isAllowed: false, resetS: 1 });
  });

  test('is separate for each key, and independent of the system clock', () => {
    const clock = setClock();
    const rates = new RequestRates(clock);
    const one = { id: 'c', rate: '1/min' };
    rates.take(one);
    clock.wallMs += 86_400_000;
    expect([rates.take(one).isAllowed, rates.take({ ...one, id: 'd' }).isAllowed]).toEqual([false, true]);
  });

  test('is kept for a key in use even if many other keys are forgotten', () => {
    const clock = setClock();
    const rates = new RequestRates(clock);
    const slow = { id: 'slow', rate: '1/d' };
    rates.take(slow);
    for (let n = 0; n < 3000; n++) {
      rates.take({ id: `key ${n}`, rate: '1/s' });
      clock.pass(1000);
    }
    expect(rates.take(slow).isAllowed).toBe(false);
  });
});

describe('the usage that the server counts for API keys', () => {
  /** Creates a usage counter that records its writes. `failing` makes the writes fail. */
  function counter() {
    const clock = setClock();
    const writes: (readonly KeyUsage[])[] = [];
    const target = {
      isFailing: false,
      add(counts: readonly KeyUsage[]) {
        if (target.isFailing) throw new Error('no space left on device');
        writes.push(counts);
      },
    };
    return { clock, writes, target, usage: new UsageCounter(target, clock) };
  }

  test('is written at most once per minute, and when the server stops', () => {
    const { clock, writes, usage } = counter();
    usage.count('a', { requests: 1 });
    usage.count('a', { records: 5, credits: 2.5 });
    clock.pass(59_999);
    usage.writeIfDue();
    expect(writes).toEqual([]);
    clock.pass(1);
    usage.writeIfDue();
    expect(writes).toEqual([[{ key: 'a', day: '2026-11-24', requests: 1, refused: 0, records: 5, credits: 2.5, lastUsedAtMs: noon }]]);
    usage.count('a', { refused: 1 });
    usage.writeIfDue();
    expect(writes).toHaveLength(1);
    usage.write();
    expect(writes[1]).toMatchObject([{ requests: 0, refused: 1, lastUsedAtMs: noon + 60_000 }]);
  });

  test('is counted per UTC day, and the time of last use is kept to the minute', () => {
    const { clock, usage } = counter();
    clock.wallMs = Date.UTC(2026, 10, 30, 23, 59, 59);
    usage.count('a', { requests: 1 });
    clock.pass(1000);
    usage.count('a', { records: 1 });
    expect(usage.pending()).toMatchObject([
      { day: '2026-11-30', lastUsedAtMs: Date.UTC(2026, 10, 30, 23, 59) },
      { day: '2026-12-01', lastUsedAtMs: undefined },
    ]);
  });

  test('is written a minute later if writing fails', () => {
    const { clock, writes, target, usage } = counter();
    usage.count('a', { requests: 1 });
    clock.pass(60_000);
    target.isFailing = true;
    expect(() => usage.writeIfDue()).toThrow('no space');
    target.isFailing = false;
    usage.writeIfDue();
    expect(writes).toEqual([]);
    clock.pass(60_000);
    usage.count('a', { requests: 1 });
    usage.writeIfDue();
    expect(writes).toMatchObject([[{ requests: 2 }]]);
  });
});

describe('the permissions of an API key', () => {
  const key = { id: 'a', scopes: ['run'] as const, flows: ['x'] };

  test("depend on the key's scopes and its list of flows", () => {
    expect([hasScope(key, 'run'), hasScope(key, 'read', 'run'), hasScope(key, 'read')]).toEqual([true, true, false]);
    expect([seesFlow(key, 'x'), seesFlow(key, 'y'), seesFlow({ scopes: [], flows: undefined }, 'y')]).toEqual([true, false, true]);
  });

  test.each([
    ['its own, with the scope run', key, { flow: 'x', key: 'a' }, true],
    ['of a different key, with the scope run', key, { flow: 'x', key: 'b' }, false],
    ['of the page, with the scope run', key, { flow: 'x', key: undefined }, false],
    ['of a different key, with the scope read', { ...key, scopes: ['read'] as const }, { flow: 'x', key: 'b' }, true],
    ['of a different flow, with the scope read', { ...key, scopes: ['read'] as const }, { flow: 'y', key: 'a' }, false],
    ['its own, with only the scope test', { ...key, scopes: ['test'] as const }, { flow: 'x', key: 'a' }, false],
  ])('allow or refuse access to a run: %s', (_, one, run, isSeen) => {
    expect(seesRun(one, run)).toBe(isSeen);
  });
});
