import { describe, expect, test } from 'vitest';
import { noPace, type Pace, paceAfterAnswer, paceAfterRefusal, paceAt } from '../../src/engine/pace.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { runFlow } from '../helpers/run-flow.ts';
import { simulateLimit } from './simulated-limit.ts';

const grid = [true, false].flatMap((isBurstAtOnce) =>
  [20, 100, 500].flatMap((perSecond) =>
    [1, 20].flatMap((burst) =>
      [0, 1000].flatMap((retryAfterMs) =>
        [2, 20, 100].map((latencyMs) => ({
          perSecond,
          burst,
          isBurstAtOnce,
          retryAfterMs,
          latencyMs,
          concurrency: latencyMs === 100 ? 64 : 16,
        })),
      ),
    ),
  ),
);

test.each(grid)(
  '$perSecond/s, burst $burst (at once: $isBurstAtOnce), Retry-After $retryAfterMs ms, $latencyMs ms: uses most of what the limit allows, and is rarely refused',
  (limit) => {
    const { share, refusedLate } = simulateLimit(limit);
    expect(share).toBeGreaterThan(limit.retryAfterMs > 0 ? 0.75 : 0.85);
    expect(refusedLate).toBeLessThan(0.03);
  },
);

test('several clients with paces of their own use most of a limit together', () => {
  const { share, refusedLate } = simulateLimit({
    ...{ perSecond: 100, burst: 20, isBurstAtOnce: true, retryAfterMs: 0, latencyMs: 20, concurrency: 16, clients: 4 },
  });
  expect(share).toBeGreaterThan(0.85);
  expect(refusedLate).toBeLessThan(0.05);
});

describe('a pace', () => {
  const refusal = { pauseMs: 0, isRepeated: false };
  const answered = (pace: Pace, count: number, fromMs: number, everyMs: number) => {
    let now = pace;
    for (let at = 0; at < count; at++) now = paceAfterAnswer(now, { sentAtMs: fromMs + at * everyMs - 1, atMs: fromMs + at * everyMs });
    return now;
  };

  test('is not learned before the fifth answer', () => {
    const times = { ...refusal, sentAtMs: 400, atMs: 401 };
    expect(paceAfterRefusal(answered(noPace, 4, 1, 100), times).stage).toBe('none');
    expect(paceAfterRefusal(answered(noPace, 5, 1, 100), times).stage).toBe('rising');
  });

  test('begins below the rate of the last answers', () => {
    const pace = paceAfterRefusal(answered(noPace, 100, 1, 10), { ...refusal, sentAtMs: 999, atMs: 1000 });
    expect(paceAt(pace, 1000)).toBeCloseTo(70, -1);
  });

  test('is forgotten ten minutes after the last refusal, or after the wait that it asked for', () => {
    const known: Pace = { ...noPace, stage: 'known', rate: 95, top: 100, since: 100, refusedMs: 0 };
    const pace = paceAfterRefusal(known, { ...refusal, sentAtMs: 999, atMs: 1000 });
    expect(paceAt(pace, 601_000)).not.toBe(Number.POSITIVE_INFINITY);
    expect(paceAt(pace, 601_001)).toBe(Number.POSITIVE_INFINITY);
    const paused = paceAfterRefusal(known, { ...refusal, sentAtMs: 999, atMs: 1000, pauseMs: 900_000 });
    expect(paceAt(paused, 1_500_000)).not.toBe(Number.POSITIVE_INFINITY);
  });

  test('is forgotten if the server refuses every call', () => {
    let pace = answered(noPace, 100, 1, 10);
    let atMs = 1000;
    for (let times = 0; times < 41; times++) {
      atMs += 10 + 1000 / paceAt(pace, atMs);
      pace = paceAfterRefusal(pace, { ...refusal, sentAtMs: atMs - 1, atMs });
    }
    expect(pace).toEqual(noPace);
    expect(atMs).toBeLessThan(300_000);
  });
});

describe('a run whose calls come too fast', () => {
  /** A server with a bucket as in nginx. */
  function limited(perSecond: number, headers = {}) {
    const clock = createFakeClock();
    const burst = 5;
    let [excess, lastMs, refusals] = [0, 0, 0];
    const http = () => {
      const nowMs = clock.now();
      const now = Math.max(0, excess - ((nowMs - lastMs) * perSecond) / 1000 + 1);
      if (now > burst + 1) refusals++;
      else [excess, lastMs] = [now, nowMs];
      return now > burst + 1 ? { status: 429, headers, afterMs: 20 } : { afterMs: 20 };
    };
    return { clock, http, refusals: () => refusals };
  }
  const flow = (more = '') => `nodes:\n  - { type: http, url: "https://api.example.com/{{id}}"${more} }\n`;

  test('goes on at about the rate that the server accepts, and no record fails', async () => {
    const { clock, http, refusals } = limited(50);
    const { rows, waitedMs, events } = await runFlow(flow(', retry: { max: 0 }'), numberedRecords(1000), { http, clock });
    expect(rows).toHaveLength(1000);
    expect(waitedMs).toBeGreaterThan(19_000);
    expect(waitedMs).toBeLessThan(24_000);
    const refused = events.filter(({ type }) => type === 'call-refused');
    expect(refused).toHaveLength(refusals());
    expect(refusals()).toBeLessThan(60);
    const { learned } = refused.at(-1) as { learned?: number };
    expect(learned).toBeGreaterThan(40);
    expect(learned).toBeLessThan(55);
  });

  test('waits as long as the server asks', async () => {
    const { clock, http } = limited(50, { 'retry-after': '3' });
    const { rows, requests, events } = await runFlow(flow(), numberedRecords(300), { http, clock });
    expect(rows).toHaveLength(300);
    const pauses = events.filter(({ type }) => type === 'gate-paused');
    expect(pauses.length).toBeGreaterThan(1);
    const times = requests.map(({ atMs }) => atMs);
    expect(times.filter((atMs) => atMs > 200 && atMs < 3000)).toEqual([]);
  });

  test('never exceeds a rate that is set', async () => {
    const { clock, http, refusals } = limited(50);
    const { waitedMs } = await runFlow(flow(', rate: 20/s'), numberedRecords(100), { http, clock });
    expect(refusals()).toBe(0);
    expect(waitedMs).toBeGreaterThanOrEqual(99 * 50);
  });

  test('learns nothing from a wait that is longer than max_wait', async () => {
    const { clock, http } = limited(50, { 'retry-after': '60' });
    const { events, failures } = await runFlow(flow(', retry: { max_wait: 2s }'), numberedRecords(40), { http, clock });
    expect(events.filter(({ type }) => type === 'call-refused')).toEqual([]);
    expect(failures.length).toBeGreaterThan(0);
  });

  test('fails a record that is refused for ever after 10 refusals more than retry.max, and sends the others', async () => {
    const { rows, failures, requests } = await runFlow(flow(', concurrency: 4'), numberedRecords(400), {
      http: ({ path }) => ({ status: path === '/200' ? 429 : 200, afterMs: 20 }),
    });
    expect(rows).toHaveLength(399);
    expect(failures).toMatchObject([{ record: 201, status: 429, attempts: 14 }]);
    const last = requests.findLast(({ path }) => path !== '/200');
    expect(last?.atMs).toBeLessThan(6000);
  });

  test('gives up as before on a server that accepts nothing any more', async () => {
    const { rows, failures } = await runFlow(flow(), numberedRecords(60), {
      http: (_, index) => ({ status: index < 40 ? 200 : 429, afterMs: 20 }),
    });
    expect(rows).toHaveLength(40);
    expect(failures).toHaveLength(20);
  });
});
