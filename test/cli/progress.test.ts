import { describe, expect, test } from 'vitest';
import { countItems, createPauses, createProgressLine, shareDone } from '../../src/cli/show/run/progress.ts';
import { addToTally, createTally } from '../../src/cli/show/run/tally.ts';
import type { Item } from '../../src/core/item.ts';

describe('the finished share', () => {
  const whole = { totalBytes: 1000, readBytes: 1000, reading: { records: 500, bytesBefore: 0 }, doneRecords: 10, limit: undefined };

  test.each([
    ['of a small file that was read at once counts its records', {}, 0.02],
    ['of a large file counts the bytes read, without unfinished records', { readBytes: 100, doneRecords: 250 }, 0.05],
    [
      'of a large file with --limit counts the limited records',
      { readBytes: 10, reading: { records: 50, bytesBefore: 0 }, doneRecords: 25, limit: 50 },
      0.5,
    ],
    ['of a file with fewer records than --limit counts the file', { doneRecords: 400, limit: 10_000 }, 0.8],
    ['of a resumed file counts the rest', { readBytes: 900, reading: { records: 500, bytesBefore: 800 }, doneRecords: 250 }, 0.25],
    ['of a stream with --limit counts the limited records', { totalBytes: undefined, limit: 40 }, 0.25],
    ['of a stream without --limit is not known', { totalBytes: undefined }, undefined],
    ['is not known before anything is read', { reading: { records: 0, bytesBefore: 0 } }, undefined],
  ])('%s', (_name, facts, expected) => {
    const share = shareDone({ ...whole, ...facts });
    if (expected === undefined) expect(share).toBeUndefined();
    else expect(share).toBeCloseTo(expected);
  });
});

describe('the bytes before the first record', () => {
  const item = (number: number, offset: number): Item => ({ number, fields: new Map(), end: { offset, line: number } });

  test.each([
    ['are few at the beginning', [item(1, 10), item(2, 20), item(100, 1000)], 1000, 10],
    ['are those that were skipped, or done before', [item(801, 8010), item(900, 9000)], 9000, 8010],
    ['of a packed input are the same share of it', [item(801, 80_100), item(900, 90_000)], 9000, 8010],
  ])('%s', async (_name, items, readBytes, expected) => {
    const reading = { records: 0, bytesBefore: 0 };
    const batches = (async function* () {
      yield items;
      yield [item(1000, 100_000)];
    })();
    for await (const _ of countItems(batches, () => readBytes, reading));
    expect(reading).toEqual({ records: items.length + 1, bytesBefore: expected });
  });
});

describe('the progress line', () => {
  test('shows records, rate, errors, retries, credits, share and time left', () => {
    const tally = createTally();
    let nowMs = 0;
    const now = () => nowMs;
    const line = createProgressLine(tally, { share: () => 0.25, pauses: createPauses(now), credits: () => 1234, now });
    expect(line()).toBe('0 records · 0/s · 0 failed · 1,234 credits');
    nowMs = 10_000;
    const failure = { node: 'a', class: 'http', status: 503, message: '', attempts: 1 } as const;
    addToTally(tally, { type: 'record-done', record: 1, rows: 1 });
    addToTally(tally, { type: 'record-failed', record: 2, ...failure });
    addToTally(tally, { type: 'call-retried', record: 2, waitMs: 1, ...failure });
    expect(line()).toBe('2 records · 0/s · 1 failed · 1 retried · 1,234 credits · 25 % · about 30 s left');
  });

  test('shows which server asks to wait, and for how long', () => {
    let nowMs = 5000;
    const now = () => nowMs;
    const pauses = createPauses(now);
    const line = createProgressLine(createTally(), { share: () => undefined, pauses, credits: () => 0, now });
    pauses.add('https://a.com', 900);
    expect(line()).toBe('0 records · 0/s · 0 failed · 0 credits');
    pauses.add('https://b.com', 90_000);
    pauses.add('https://a.com', 30_000);
    expect(line()).toBe('0 records · 0/s · 0 failed · 0 credits · https://b.com asks to wait 1 min 30 s');
    nowMs += 60_000;
    expect(line()).toBe('0 records · 0/s · 0 failed · 0 credits · https://b.com asks to wait 30 s');
    nowMs += 29_500;
    expect(line()).toBe('0 records · 0/s · 0 failed · 0 credits');
  });
});
