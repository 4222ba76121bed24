import { describe, expect, test } from 'vitest';
import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto } from '../../src/engine/auto-concurrency.ts';
import { lognormal, seeded, simulate } from './simulated-server.ts';

/** Returns the state after `rounds` rounds of responses, one round per second after `fromMs`. Each response takes `ms`. */
function following(state: AutoState, rounds: number, ms: number, { fromMs = 0, inFlight = (limit: number) => limit } = {}): AutoState {
  let now = state;
  for (let round = 0; round < rounds; round++) {
    const sentAtMs = fromMs + (round + 1) * 1000;
    for (let answer = 0; answer < Math.max(now.limit, 24); answer++) {
      const before = now.limit;
      now = afterAnswer(now, { ms, sentAtMs, atMs: sentAtMs + ms, inFlight: inFlight(now.limit) });
      if (now.limit !== before) break;
    }
  }
  return now;
}

describe('the automatic limit on calls in flight', () => {
  test('begins at 4, or at its maximum if that is lower', () => {
    expect([startAuto(), startAuto(2), startAuto(1000)].map(({ limit, most }) => [limit, most])).toEqual([
      [4, 256],
      [2, 2],
      [4, 256],
    ]);
  });

  test('doubles, up to its maximum, while responses do not become slower', () => {
    expect([1, 2, 3, 20].map((rounds) => following(startAuto(), rounds, 50).limit)).toEqual([8, 16, 32, 256]);
    expect(following(startAuto(50), 20, 50).limit).toBe(50);
  });

  test('grows by only one in each round after the first round with slower responses', () => {
    const slower = following(following(startAuto(), 2, 50), 1, 62, { fromMs: 5000 });
    expect(slower).toMatchObject({ limit: 13, isStarting: false, reason: 'slow' });
    expect(following(slower, 1, 50, { fromMs: 10_000 }).limit).toBe(14);
    expect(following(slower, 3, 50, { fromMs: 10_000 }).limit).toBe(16);
  });

  test('does not change while responses are slower', () => {
    const slower = following(following(startAuto(), 2, 50), 1, 62, { fromMs: 5000 });
    expect(following(slower, 10, 62, { fromMs: 10_000 }).limit).toBe(slower.limit);
  });

  test('does not grow while there are fewer calls in flight than it allows', () => {
    expect(following(startAuto(), 10, 50, { inFlight: () => 3 }).limit).toBe(4);
  });

  test('decreases if responses are much slower in two rounds, and is restored if the decrease does not help', () => {
    const fast = following(startAuto(), 3, 50);
    expect(fast.limit).toBe(32);
    const once = following(fast, 1, 110, { fromMs: 5000 });
    expect(once.limit).toBe(32);
    const fewer = following(once, 1, 110, { fromMs: 7000 });
    expect(fewer).toMatchObject({ limit: 16, reason: 'slow' });
    expect(following(fewer, 1, 110, { fromMs: 9000 })).toMatchObject({
      limit: 32,
      reason: 'no-effect',
      fastest: { ms: expect.closeTo(110) },
    });
    expect(following(fewer, 1, 50, { fromMs: 9000 })).toMatchObject({ limit: 17, reason: 'fast', fastest: { ms: expect.closeTo(50) } });
  });

  test('decreases by a third after several refusals at once, and then does not grow for 5 s', () => {
    const fast = following(startAuto(), 3, 50);
    const atMs = 5000;
    const less = afterRefusal(fast, { sentAtMs: 4900, atMs });
    expect(less).toMatchObject({ limit: 21, reason: 'refused', isStarting: false });
    expect(afterRefusal(less, { sentAtMs: 4990, atMs: 5100 })).toBe(less);
    expect(afterRefusal(less, { sentAtMs: 5001, atMs: 5100 }).limit).toBe(14);
    expect(following(less, 3, 50, { fromMs: 5000 }).limit).toBe(21);
    expect(following(less, 2, 50, { fromMs: 10_000 }).limit).toBe(23);
  });

  test('is never less than 1', () => {
    let state = startAuto();
    for (let second = 1; second < 20; second++) state = afterRefusal(state, { sentAtMs: second * 1000, atMs: second * 1000 + 10 });
    expect(state.limit).toBe(1);
  });

  test('ignores responses to calls that started before its last change', () => {
    const fast = following(startAuto(), 1, 50);
    const old = afterAnswer(fast, { ms: 50, sentAtMs: 500, atMs: 2000, inFlight: 8 });
    expect(old).toBe(fast);
  });

  test('is halved for one round after a minute, to measure the response time again', () => {
    const slower = following(following(startAuto(), 2, 50), 1, 62, { fromMs: 5000 });
    const measuring = following(slower, 1, 62, { fromMs: 90_000 });
    expect([measuring.limit, foundBy(measuring)]).toEqual([6, 13]);
    const measured = following(measuring, 1, 62, { fromMs: 95_000 });
    expect(measured).toMatchObject({ trial: undefined, fastest: { ms: expect.closeTo(62) } });
    expect(measured.limit).toBe(13);
    expect(following(measured, 1, 62, { fromMs: 98_000 }).limit).toBe(14);
  });
});

describe('automatic concurrency, with a server that queues excess requests,', () => {
  test.each([4, 5, 7, 16, 33, 50, 100, 129, 200])(
    "uses 90 %% of the server's capacity within 15 s if the server processes %i requests at once",
    (served) => {
      const { perSecond, mostLater } = simulate({ served: () => served, ms: () => 50, seconds: 20 });
      expect(Math.min(...perSecond.slice(15, 20)) / (served * 20)).toBeGreaterThanOrEqual(0.9);
      expect(mostLater).toBeLessThanOrEqual(Math.max(6, 1.5 * served));
    },
  );

  test.each([
    [0.2, 20],
    [0.2, 100],
    [0.5, 50],
    [0.5, 200],
    [0.8, 100],
  ])("uses 80 %% of the server's capacity if response times vary (deviation %d; %i requests at once)", (deviation, served) => {
    const { perSecond, mostLater } = simulate({ served: () => served, ms: lognormal(deviation, seeded(7)), seconds: 30 });
    const later = perSecond.slice(15, 30);
    expect(later.reduce((sum, one) => sum + one, 0) / later.length / (served * 20)).toBeGreaterThan(0.8);
    expect(mostLater).toBeLessThan(2 * served);
  });

  test('makes fewer calls when the server becomes permanently slower', () => {
    const { perSecond, mostLater } = simulate({ served: () => 50, ms: (now) => (now < 10_000 ? 50 : 150), seconds: 40 });
    const later = perSecond.slice(25, 40);
    expect(later.reduce((sum, one) => sum + one, 0) / later.length / (50 / 0.15)).toBeGreaterThan(0.9);
    expect(mostLater).toBeLessThanOrEqual(75);
  });

  test('makes more calls when the server becomes faster', () => {
    const { perSecond } = simulate({ served: () => 50, ms: (now) => (now < 10_000 ? 150 : 50), seconds: 25 });
    expect(perSecond[20]).toBeGreaterThanOrEqual(900);
  });

  test('makes fewer calls when the server can process fewer, and more when it recovers', () => {
    const served = (now: number) => (now > 10_000 && now < 30_000 ? 10 : 100);
    const { found, perSecond } = simulate({ served, ms: () => 50, seconds: 60 });
    expect(found[25]).toBeLessThanOrEqual(15);
    expect(perSecond[58]).toBeGreaterThanOrEqual(1800);
  });
});

test.each([4, 8, 33, 100, 200])('automatic concurrency gets at most 3 %% refused requests if the server allows %i at once', (served) => {
  for (const seconds of [15, 60]) {
    const { answers, refusals } = simulate({ served: () => served, ms: () => 50, refuses: true, seconds });
    expect(refusals).toBeGreaterThan(0);
    expect(refusals / (answers + refusals)).toBeLessThan(0.03);
  }
});
