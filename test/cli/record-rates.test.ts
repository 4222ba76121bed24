import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { Pauses } from '../../src/report/pauses.ts';
import { ResponseTimes } from '../../src/report/response-times.ts';
import { RecordRates, Statuses } from '../../src/report/run-progress.ts';

/** Creates record rates with a clock that the test controls. */
function ratesAt() {
  const clock = { ms: 5000 };
  const rates = new RecordRates(() => clock.ms);
  const at = (ms: number) => {
    clock.ms = 5000 + ms;
    return rates;
  };
  return { rates, at };
}

describe('a chart of record rates', () => {
  test('counts each record in the time slice in which it ends', () => {
    const { at } = ratesAt();
    at(10).add('written');
    at(90).add('failed');
    at(100).add('written');
    expect(at(200).buckets()).toEqual([
      { startMs: 0, ms: 100, written: 1, failed: 1, pausedMs: 0 },
      { startMs: 100, ms: 100, written: 1, failed: 0, pausedMs: 0 },
    ]);
  });

  test('has at most 60 slices without gaps, however long the run', () => {
    const { at } = ratesAt();
    const hours = 50;
    for (let second = 0; second < hours * 3600; second += 7) at(second * 1000).add('written');
    const buckets = at(hours * 3_600_000).buckets();
    expect(buckets.length).toBeLessThanOrEqual(60);
    expect(buckets.reduce((sum, { written }) => sum + written, 0)).toBe(Math.ceil((hours * 3600) / 7));
    expect(buckets.map(({ startMs }) => startMs)).toEqual(buckets.map((_, index) => index * 3_600_000));
    expect(buckets.every(({ written }) => Math.abs(written - 514) <= 1)).toBe(true);
  });

  test('works even if the run lasts a year', () => {
    const { at } = ratesAt();
    at(0).add('written');
    at(365 * 86_400_000).add('written');
    expect(
      at(365 * 86_400_000)
        .buckets()
        .reduce((sum, { written }) => sum + written, 0),
    ).toBe(2);
  });

  test('merges a last slice that is too short into the slice before it', () => {
    const { at } = ratesAt();
    at(99).add('written');
    at(101).add('written');
    expect(at(120).buckets()).toEqual([{ startMs: 0, ms: 120, written: 2, failed: 0, pausedMs: 0 }]);
  });

  test('includes how long gates paused in each slice', () => {
    const { at } = ratesAt();
    at(50).pause(200);
    at(100).pause(20);
    at(200).pause(100);
    expect(
      at(400)
        .buckets()
        .map(({ pausedMs }) => pausedMs),
    ).toEqual([50, 100, 100, 0]);
    at(400).pause(10_000);
    expect(
      at(500)
        .buckets()
        .map(({ pausedMs }) => pausedMs),
    ).toEqual([50, 100, 100, 0, 100]);
  });
});

describe('pauses of rate limits (gates)', () => {
  test('are counted only once even if several responses arrive during a pause', () => {
    const clock = { ms: 0 };
    const pauses = new Pauses(() => clock.ms);
    const add = (ms: number, gate: string, waitMs: number) => {
      clock.ms = ms;
      pauses.add({ gate, status: 429, waitMs });
    };
    add(0, 'a', 1000);
    add(100, 'a', 1000);
    add(500, 'b', 2000);
    add(2000, 'a', 1000);
    clock.ms = 2500;
    expect(pauses.gates()).toEqual([
      { gate: 'a', reason: '429', times: 2, ms: 1600 },
      { gate: 'b', reason: '429', times: 1, ms: 2000 },
    ]);
  });

  test('are reported as one total for all gates after the first 20', () => {
    const pauses = new Pauses(() => 0);
    for (let gate = 0; gate < 1000; gate++) pauses.add({ gate: `https://${gate}.example.com`, status: 429, waitMs: 1000 });
    expect(pauses.gates()).toHaveLength(21);
    expect(pauses.gates().at(-1)?.gate).toBe('other servers');
  });
});

test('a histogram of response times has bars with round limits and no gaps', () => {
  const times = new ResponseTimes();
  for (const ms of [1.5, 2, 2.9, 7, 7.1]) times.add(ms);
  expect(times.bars()).toEqual([
    { fromMs: 1.5, toMs: 2, count: 1 },
    { fromMs: 2, toMs: 3, count: 2 },
    { fromMs: 3, toMs: 5, count: 0 },
    { fromMs: 5, toMs: 7, count: 0 },
    { fromMs: 7, toMs: 10, count: 2 },
  ]);
  times.add(0.2);
  times.add(9_000_000);
  expect([times.bars()[0], times.bars().at(-1)]).toEqual([
    { fromMs: 0, toMs: 1, count: 1 },
    { fromMs: 700_000, toMs: 9_000_000, count: 1 },
  ]);
});

test('requests are counted by status, or by the reason if there was no response', () => {
  const statuses = new Statuses();
  for (const result of [200, new Failure('timeout', 'no response'), 200, new Failure('http', 'refused', { status: 404 }), 'ok'] as const)
    statuses.add({ result });
  expect(statuses.counts()).toEqual([
    { status: '200', count: 2 },
    { status: 'timeout', count: 1 },
    { status: '404', count: 1 },
    { status: 'ok', count: 1 },
  ]);
});
