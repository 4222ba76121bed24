import { describe, expect, test } from 'vitest';
import { createProgressLine, shareDone } from '../../src/cli/show/progress.ts';
import { addToTally, createTally } from '../../src/cli/show/tally.ts';

describe('the share that is done', () => {
  const whole = { totalBytes: 1000, readBytes: 1000, readRecords: 500, doneRecords: 10, limit: undefined };

  test.each([
    ['of a small file that was read at once, is that of its records', {}, 0.02],
    ['of a large file, is what was read, less what is on its way', { readBytes: 100, readRecords: 500, doneRecords: 250 }, 0.05],
    ['of a few records of a large file, is that of the few', { readBytes: 10, readRecords: 50, doneRecords: 25, limit: 50 }, 0.5],
    ['of a file with fewer records than wanted, is that of the file', { doneRecords: 400, limit: 10_000 }, 0.8],
    ['of a stream, is that of the records wanted', { totalBytes: undefined, limit: 40 }, 0.25],
    ['of a stream without end, is not known', { totalBytes: undefined }, undefined],
    ['of what is not yet read, is not known', { readRecords: 0 }, undefined],
  ])('%s', (_name, facts, expected) => {
    const share = shareDone({ ...whole, ...facts });
    if (expected === undefined) expect(share).toBeUndefined();
    else expect(share).toBeCloseTo(expected);
  });
});

describe('the line', () => {
  test('has records, rate, errors, retries, credits, share and what is left', () => {
    const tally = createTally();
    let nowMs = 0;
    const line = createProgressLine(tally, { share: () => 0.25, credits: () => 1234, now: () => nowMs });
    expect(line()).toBe('0 records · 0/s · 0 failed · 1,234 credits');
    nowMs = 10_000;
    const failure = { node: 'a', class: 'http', status: 503, message: '', attempts: 1 } as const;
    addToTally(tally, { type: 'record-done', record: 1, rows: 1 });
    addToTally(tally, { type: 'record-failed', record: 2, ...failure });
    addToTally(tally, { type: 'call-retried', record: 2, waitMs: 1, ...failure });
    expect(line()).toBe('2 records · 0/s · 1 failed · 1 retried · 1,234 credits · 25 % · about 30.0 s left');
  });
});
