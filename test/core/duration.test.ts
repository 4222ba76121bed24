import { expect, test } from 'vitest';
import { durationMs, durationText, rateIntervalMs, rateText } from '../../src/core/duration.ts';

test.each([
  ['250ms', 250],
  ['1s', 1000],
  ['5m', 300_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['1.5s', 1500],
  ['0.07s', 70],
  ['30000', 30_000],
  [30_000, 30_000],
  [0, 0],
])('the duration %j is parsed as %d ms', (written, ms) => {
  expect(durationMs(written)).toBe(ms);
});

test.each(['', 's', '1 s', '1w', '-1s', '1s30ms', '1S', '1e3', '1,5s', 'Infinity', -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  '%j is refused as a duration',
  (written) => {
    expect(durationMs(written)).toBeUndefined();
  },
);

test.each([
  ['10/s', 100],
  ['600/min', 100],
  ['5000/h', 720],
  ['1/m', 60_000],
  ['1/d', 86_400_000],
  ['0.5/s', 2000],
  ['10 / s', 100],
  ['10/sec', 100],
])('the rate %s means %d ms from one call to the next', (written, ms) => {
  expect(rateIntervalMs(written)).toBe(ms);
});

test.each(['', '10', '/s', '0/s', '-1/s', '10/ms', '10/week', '10 per s'])('%j is refused as a rate', (written) => {
  expect(rateIntervalMs(written)).toBeUndefined();
});

test.each([
  [0, '0 ms'],
  [340.4, '340 ms'],
  [999.7, '1 s'],
  [4200, '4.2 s'],
  [59_960, '1 min'],
  [192_000, '3 min 12 s'],
  [3_599_700, '1 h'],
  [7_500_000, '2 h 5 min'],
])('%d ms is formatted as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test.each([
  [470.9, '470/s'],
  [10, '10/s'],
  [9.99, '9.9/s'],
  [1, '1/s'],
  [0.99, '59/min'],
  [0.05, '3/min'],
  [0.01, '36/h'],
  [0.000001, '0.1/h'],
])('%d calls per second are the rate %s, which a flow accepts and which is not faster', (perSecond, text) => {
  expect(rateText(perSecond)).toBe(text);
  expect(rateIntervalMs(text)).toBeGreaterThan(0);
  if (perSecond > 0.0001) expect(1000 / (rateIntervalMs(text) as number)).toBeLessThanOrEqual(perSecond + 1e-9);
});
