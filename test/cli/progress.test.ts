import { describe, expect, test } from 'vitest';
import { Pauses, pauseText } from '../../src/app/progress/pauses.ts';
import { countItems, shareDone } from '../../src/app/progress/reading.ts';
import { type ProgressFacts, ProgressLine } from '../../src/cli/show/run/progress.ts';
import type { Item } from '../../src/core/item.ts';

describe('the finished share', () => {
  const reading = { records: 500, bytesBefore: 0, isComplete: false };
  const whole = { totalBytes: 1000, readBytes: 1000, reading, doneRecords: 10, recordsBefore: 0, limit: undefined };

  test.each([
    ['of a small file that was read at once counts its records', {}, 0.02],
    ['of a large file counts the bytes read, without unfinished records', { readBytes: 100, doneRecords: 250 }, 0.05],
    [
      'of a large file with --limit counts the limited records',
      { readBytes: 10, reading: { ...reading, records: 50 }, doneRecords: 25, limit: 50 },
      0.5,
    ],
    ['of a file with fewer records than --limit counts the file', { doneRecords: 400, limit: 10_000 }, 0.8],
    ['of a resumed file counts the rest', { readBytes: 900, reading: { ...reading, bytesBefore: 800 }, doneRecords: 250 }, 0.25],
    ['of a stream with --limit counts the limited records', { totalBytes: undefined, limit: 40 }, 0.25],
    ['of a stream without --limit is not known', { totalBytes: undefined }, undefined],
    ['of a stream that has ended counts its records', { totalBytes: undefined, reading: { ...reading, isComplete: true } }, 0.02],
    ['is not known before anything is read', { reading: { ...reading, records: 0 } }, undefined],
  ])('%s', (_name, facts, expected) => {
    const share = shareDone({ ...whole, ...facts })?.ofPart;
    if (expected === undefined) expect(share).toBeUndefined();
    else expect(share).toBeCloseTo(expected);
  });

  test.each([
    ['equals that of the part in a run from the beginning', { doneRecords: 250 }, 0.5],
    ['counts records once all are read', { doneRecords: 250, recordsBefore: 1500, reading: { ...reading, isComplete: true } }, 0.875],
    ['counts bytes before', { doneRecords: 250, recordsBefore: 500, readBytes: 900, reading: { ...reading, bytesBefore: 800 } }, 0.85],
    ['of a stream is that of the part', { totalBytes: undefined, recordsBefore: 500, limit: 40 }, 0.25],
  ])('of the whole %s', (_name, facts, expected) => {
    expect(shareDone({ ...whole, ...facts })?.ofWhole).toBeCloseTo(expected);
  });
});

describe('the records of an input', () => {
  const item = (number: number, offset: number): Item => ({ number, fields: new Map(), end: { offset, line: number } });
  const unread = () => ({ records: 0, bytesBefore: 0, isComplete: false });

  async function* inBatches(...batches: readonly (readonly Item[])[]): AsyncGenerator<readonly Item[]> {
    yield* batches;
  }

  test.each([
    ['few at the beginning', [item(1, 10), item(2, 20), item(100, 1000)], 1000, 10],
    ['those that were skipped, or done before', [item(801, 8010), item(900, 9000)], 9000, 8010],
    ['the same share of a packed input', [item(801, 80_100), item(900, 90_000)], 9000, 8010],
  ])('come after bytes: %s', async (_name, items, readBytes, expected) => {
    const reading = unread();
    const batches = inBatches(items, [item(1000, 100_000)]);
    for await (const _ of countItems(batches, { readBytes: () => readBytes }, reading));
    expect(reading).toEqual({ records: items.length + 1, bytesBefore: expected, isComplete: true });
  });

  test('of a later file come after the bytes of the files before it', async () => {
    const reading = unread();
    const source = { readBytes: () => 5100, earlierBytes: () => 5000 };
    for await (const _ of countItems(inBatches([item(801, 50), item(900, 100)]), source, reading));
    expect(reading.bytesBefore).toBe(5050);
  });

  test('are known to be all while those of the last chunk have yet to begin', async () => {
    const reading = unread();
    const items = countItems(inBatches([item(1, 10)], [item(2, 20)], [item(3, 30)]), { readBytes: () => 30 }, reading);
    await items.next();
    await new Promise(setImmediate);
    expect(reading).toMatchObject({ records: 3, isComplete: false });
    await items.next();
    await new Promise(setImmediate);
    expect(reading).toMatchObject({ records: 3, isComplete: true });
  });

  test('are handed on while the next batch has not come', async () => {
    const never = (async function* () {
      yield [item(1, 10)];
      await new Promise(() => {});
    })();
    const items = countItems(never, { readBytes: () => 10 }, unread());
    expect(await items.next()).toMatchObject({ value: [{ number: 1 }] });
    expect(await items.return(undefined)).toMatchObject({ done: true });
  });

  test('come before the fault of a later batch', async () => {
    const faulty = (async function* () {
      yield [item(1, 10)];
      throw new Error('the quote has no end');
    })();
    const items = countItems(faulty, { readBytes: () => 10 }, unread());
    expect(await items.next()).toMatchObject({ value: [{ number: 1 }] });
    await expect(items.next()).rejects.toThrow('the quote has no end');
  });
});

/** A line over counts and a clock that the test moves. */
function lineOver(facts: Partial<ProgressFacts> = {}) {
  const state = { ms: 0 };
  const now = () => state.ms;
  const tally = { read: 0, failed: 0, retries: 0 };
  const pauses = new Pauses(now);
  const none = () => undefined;
  const line = new ProgressLine({
    ...{ tally, done: () => tally.read, before: { read: 0, failed: 0 }, total: none, share: none, pauses, credits: undefined, now },
    ...facts,
  });
  return { state, tally, pauses, line };
}

/** A run with 200 of 500 records after 16 s, at 12 records a second in the last 10 s. */
function halfway(facts: Partial<ProgressFacts> = {}) {
  const run = lineOver({ total: () => 500, share: () => ({ ofPart: run.tally.read / 500, ofWhole: run.tally.read / 500 }), ...facts });
  const { state, tally, line } = run;
  state.ms = 6000;
  Object.assign(tally, { read: 80, failed: 8 });
  line.text();
  state.ms = 16_000;
  tally.read = 200;
  return run;
}

describe('the progress line', () => {
  test('shows records, total, share, rate, time left and failures', () => {
    expect(halfway().line.text()).toBe('200/500 (40 %) · 12/s · 24 s left · 8 failed');
  });

  test('shows neither rate nor time left at the beginning', () => {
    const { line, state, tally } = lineOver({ total: () => 500, share: () => ({ ofPart: 0.02, ofWhole: 0.02 }) });
    state.ms = 900;
    tally.read = 10;
    expect(line.text()).toBe('10/500 (2 %) · 0 failed');
    state.ms = 2000;
    expect(line.text()).toBe('10/500 (2 %) · 5/s · 0 failed');
  });

  test('shows the share of the bytes while the total is not known', () => {
    const share = () => ({ ofPart: 0.4, ofWhole: 0.4 });
    expect(halfway({ total: () => undefined, share }).line.text()).toBe('200 records (40 %) · 12/s · 24 s left · 8 failed');
  });

  test('shows only the count of an endless stream', () => {
    expect(halfway({ total: () => undefined, share: () => undefined }).line.text()).toBe('200 records · 12/s · 8 failed');
  });

  test('counts the records before the run was resumed', () => {
    const { line } = halfway({ before: { read: 500, failed: 2 }, total: () => 1000 });
    expect(line.text()).toBe('700/1,000 (70 %) · 12/s · 24 s left · 10 failed');
  });

  test('shows the pause of a gate from one second on, while it lasts', () => {
    const { line, state, pauses } = halfway();
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 900 });
    expect(line.text()).toBe('200/500 (40 %) · 12/s · 24 s left · 8 failed');
    pauses.add({ gate: 'https://b.com', status: 503, waitMs: 90_000 });
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 3600 });
    expect(line.text()).toContain(' · 8 failed · paused 1 min 30 s (503)');
    state.ms += 89_500;
    expect(line.text()).not.toContain('paused');
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 3600 });
    expect(line.text()).toContain(' · 8 failed · paused 4 s (429)');
  });

  test('shows the rate of the last 10 s: 0 in a long pause', () => {
    const { line, state } = halfway();
    for (let second = 0; second < 12; second++) {
      state.ms += 1000;
      line.text();
    }
    expect(line.text()).toContain(' · 0/s · ');
  });

  test.each([
    [200, '12/s'],
    [104, '2.4/s'],
    [84, '24/min'],
  ])('shows a rate by size: %i records, 80 of them 10 s ago, as %s', (read, rate) => {
    const { line, tally } = halfway();
    tally.read = read;
    expect(line.text()).toContain(` · ${rate} · `);
  });

  test('shows retries, and credits if they matter', () => {
    const { line, tally } = halfway({ credits: () => 1234 });
    tally.retries = 42;
    expect(line.text()).toBe('200/500 (40 %) · 12/s · 24 s left · 8 failed · 42 retried · 1,234 credits');
  });

  test('leaves out the least important parts until it fits', () => {
    const { line, tally, pauses } = halfway({ credits: () => 1234 });
    tally.retries = 42;
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 4000 });
    const lines = [85, 70, 60, 50, 45, 30, 20, 10].map((width) => line.text(width));
    expect(lines).toEqual([
      '200/500 (40 %) · 12/s · 24 s left · 8 failed · paused 4 s (429) · 42 retried',
      '200/500 (40 %) · 12/s · 24 s left · 8 failed · paused 4 s (429)',
      '200/500 (40 %) · 24 s left · 8 failed · paused 4 s (429)',
      '200/500 (40 %) · 8 failed · paused 4 s (429)',
      '200/500 (40 %) · 8 failed · paused 4 s (429)',
      '200/500 (40 %) · 8 failed',
      '200/500 (40 %)',
      '200/500 (4',
    ]);
  });
});

describe('the pauses of a run', () => {
  test('last in total as long as at least one gate stood still, until now', () => {
    const state = { ms: 0 };
    const pauses = new Pauses(() => state.ms);
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 4000 });
    pauses.add({ gate: 'https://b.com', status: 429, waitMs: 1000 });
    state.ms = 3000;
    pauses.add({ gate: 'https://b.com', status: undefined, waitMs: 3000 });
    state.ms = 5000;
    expect(pauses.totalMs()).toBe(5000);
    state.ms = 20_000;
    pauses.add({ gate: 'https://a.com', status: 429, waitMs: 60_000 });
    state.ms = 21_000;
    expect(pauses.totalMs()).toBe(7000);
    expect(pauses.reasons()).toEqual(['429s', 'rate limits']);
  });

  test('are named with their cause and their gate', () => {
    expect(pauseText({ gate: 'https://a.com', status: 429, waitMs: 4000 })).toBe('429: every request to https://a.com waits 4 s');
    expect(pauseText({ gate: 'https://a.com', status: undefined, waitMs: 1500 })).toBe(
      'rate limit: every request to https://a.com waits 1.5 s',
    );
  });
});
