import { describe, expect, test } from 'vitest';
import { Gates } from '../../src/engine/gates.ts';
import { type Pace, paceAfterAnswer, paceAfterFirst, paceAfterRefusal, paceAt } from '../../src/engine/pace.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { runFlow } from '../helpers/run-flow.ts';
import { simulateLimit } from './simulated-limit.ts';

/** Late timers and latencies in ms. */
const machines = [
  { jitterMs: 0, latencyMs: 1 },
  { jitterMs: 1, latencyMs: 100 },
  { jitterMs: 3, latencyMs: 20 },
  { jitterMs: 5, latencyMs: 1 },
  { jitterMs: 8, latencyMs: 20 },
];

const limits = [20, 35, 100, 500].flatMap((perSecond) => [1, 5, 20].map((burst) => ({ perSecond, burst, isBurstAtOnce: burst !== 5 })));

/** If calls come later than the burst lasts, a limit refuses some at any rate near it. */
const isPossible = ({ perSecond, burst, jitterMs }: { perSecond: number; burst: number; jitterMs: number }) =>
  (burst + 1) * (1000 / perSecond) > jitterMs;

describe.each([0, 1000])('if refusals ask for a wait of %i ms', (retryAfterMs) => {
  test.each(machines)('uses most of what any limit allows, and is rarely refused ($jitterMs ms late, $latencyMs ms latency)', (machine) => {
    for (const limit of limits.filter((limit) => isPossible({ ...limit, ...machine }))) {
      const all = { ...limit, ...machine, retryAfterMs, concurrency: machine.latencyMs === 100 ? 64 : 16 };
      const { share, refusedLate } = simulateLimit(all);
      expect.soft(share, JSON.stringify(all)).toBeGreaterThan(retryAfterMs > 0 ? 0.75 : 0.85);
      expect.soft(refusedLate, JSON.stringify(all)).toBeLessThan(0.03);
    }
  });
});

test.each([5, 20, 50, 100])(
  'uses much of a limit of %i calls in each second, which refuses all others until the second is over',
  (perSecond) => {
    for (const machine of machines) {
      const all = { ...machine, perSecond, burst: perSecond - 1, isBurstAtOnce: true, isWindow: true, retryAfterMs: 0, concurrency: 64 };
      const { share, refusedLate, learned = 0 } = simulateLimit(all);
      expect.soft(share, JSON.stringify(all)).toBeGreaterThan(0.4);
      expect.soft(refusedLate, JSON.stringify(all)).toBeLessThan(0.05);
      expect.soft(learned / perSecond, JSON.stringify(all)).toBeGreaterThan(0.4);
      expect.soft(learned / perSecond, JSON.stringify(all)).toBeLessThan(1.5);
    }
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
  const refusal = { sentAtMs: 999, atMs: 1000, pauseMs: 0, isRepeated: false };
  const first = (answers: number, firstMs = 0) => paceAfterFirst(answers, firstMs, refusal);

  test('is not learned before the fifth answer', () => {
    expect(first(4)).toBeUndefined();
    expect(first(5)).toMatchObject({ isRising: true });
  });

  test('begins below the rate of the answers, and doubles in short time', () => {
    const pace = first(100) as Pace;
    expect(paceAt(pace, 1000)).toBe(50);
    expect(paceAt(pace, 1400)).toBe(100);
  });

  test('counts refusals of calls that were in flight together once', () => {
    const pace = first(100) as Pace;
    const lowered = paceAfterRefusal(pace, { ...refusal, sentAtMs: 1300, atMs: 1400 }) as Pace;
    const again = paceAfterRefusal(lowered, { ...refusal, sentAtMs: 1399, atMs: 1450 }) as Pace;
    expect(paceAt(lowered, 1400)).toBeLessThan(paceAt(pace, 1300));
    expect(paceAt(again, 1450)).toBe(paceAt(lowered, 1450));
  });

  test('counts no calls that had passed the gate before the refusal, but were sent after it', () => {
    let pace = first(100) as Pace;
    for (let call = 0; call < 20; call++) pace = paceAfterAnswer(pace, { sentAtMs: 1001, atMs: 1100 }) as Pace;
    expect(paceAfterRefusal(pace, { ...refusal, sentAtMs: 1001, atMs: 1100 })).toMatchObject({ isRising: true });
  });

  test('is forgotten ten minutes after the last refusal, or after the wait that it asked for', () => {
    const pace = first(100) as Pace;
    expect(paceAt(pace, 601_000)).not.toBe(Number.POSITIVE_INFINITY);
    expect(paceAt(pace, 601_001)).toBe(Number.POSITIVE_INFINITY);
    expect(paceAfterAnswer(pace, { sentAtMs: 601_000, atMs: 601_001 })).toBeUndefined();
    const paused = paceAfterFirst(100, 0, { ...refusal, pauseMs: 900_000 }) as Pace;
    expect(paceAt(paused, 1_500_000)).not.toBe(Number.POSITIVE_INFINITY);
  });

  test('is forgotten if the server refuses every call', () => {
    let pace = first(100);
    let atMs = 1000;
    for (let times = 0; pace && times < 100; times++) {
      atMs += 10 + 1000 / paceAt(pace, atMs);
      pace = paceAfterRefusal(pace, { ...refusal, sentAtMs: atMs - 1, atMs });
    }
    expect(pace).toBeUndefined();
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

  /** Runs the records in processes that tell each other of pauses, as workers do. Resolves with the number of rows. */
  async function runShared(processes: number, { clock, http }: Pick<ReturnType<typeof limited>, 'clock' | 'http'>, records: number) {
    const all: Gates[] = Array.from({ length: processes }, () => {
      const gates: Gates = new Gates(clock, (gate) => ({
        reserve: () => Promise.reject(new Error('there is no rate')),
        release: () => undefined,
        pause: (waitMs, isPaced) => {
          for (const other of all) if (other !== gates) other.pausedElsewhere(gate, waitMs, isPaced);
        },
      }));
      return gates;
    });
    const runs = await Promise.all(all.map((gates) => runFlow(flow(), numberedRecords(records / processes), { http, clock, gates })));
    return runs.flatMap(({ rows }) => rows).length;
  }

  test.each([2, 4])('goes on at this rate also in %i processes that pause each other', async (processes) => {
    const { clock, http, refusals } = limited(50, { 'retry-after': '1' });
    expect(await runShared(processes, { clock, http }, 1000)).toBe(1000);
    // At 50/s, 20 s would do, without the waits that refusals ask for.
    expect(clock.now()).toBeLessThan(45_000);
    expect(refusals()).toBeLessThan(150);
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

  test('fails a record that is refused for ever soon, because others were accepted meanwhile, and sends those', async () => {
    const { rows, failures, requests } = await runFlow(flow(', concurrency: 4'), numberedRecords(400), {
      http: ({ path }) => ({ status: path === '/200' ? 429 : 200, afterMs: 20 }),
    });
    expect(rows).toHaveLength(399);
    expect(failures).toMatchObject([{ record: 201, status: 429, attempts: 6 }]);
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
