import { describe, expect, test } from 'vitest';
import { type ProgressFacts, ProgressLine } from '../../src/cli/run/progress.ts';
import type { Item } from '../../src/core/item.ts';
import { Pauses, pauseText } from '../../src/report/pauses.ts';
import { countItems, shareDone } from '../../src/report/reading.ts';

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
    [
      'of a resumed file counts the rest of the file',
      { readBytes: 900, reading: { ...reading, bytesBefore: 800 }, doneRecords: 250 },
      0.25,
    ],
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
    ['equals the share of the current part if the run was not resumed', { doneRecords: 250 }, 0.5],
    ['counts records once all have been read', { doneRecords: 250, recordsBefore: 1500, reading: { ...reading, isComplete: true } }, 0.875],
    [
      'includes the bytes before the current part',
      { doneRecords: 250, recordsBefore: 500, readBytes: 900, reading: { ...reading, bytesBefore: 800 } },
      0.85,
    ],
    ['equals the share of the current part if the input is a stream', { totalBytes: undefined, recordsBefore: 500, limit: 40 }, 0.25],
  ])('of the whole run %s', (_name, facts, expected) => {
    expect(shareDone({ ...whole, ...facts })?.ofWhole).toBeCloseTo(expected);
  });
});

describe('counting the records of an input', () => {
  const item = (number: number, offset: number): Item => ({ number, fields: new Map(), end: { offset, line: number } });
  const unread = () => ({ records: 0, bytesBefore: 0, isComplete: false });

  async function* inBatches(...batches: readonly (readonly Item[])[]): AsyncGenerator<readonly Item[]> {
    yield* batches;
  }

  test.each([
    ['few at the beginning of a file', [item(1, 10), item(2, 20), item(100, 1000)], 1000, 10],
    ['all that belong to records that were skipped or finished earlier', [item(801, 8010), item(900, 9000)], 9000, 8010],
    ['the same share of a compressed file', [item(801, 80_100), item(900, 90_000)], 9000, 8010],
  ])('finds out how many bytes precede the first record: %s', async (_name, items, readBytes, expected) => {
    const reading = unread();
    const batches = inBatches(items, [item(1000, 100_000)]);
    for await (const _ of countItems(batches, { readBytes: () => readBytes }, reading));
    expect(reading).toEqual({ records: items.length + 1, bytesBefore: expected, isComplete: true });
  });

  test('includes the bytes of earlier input files', async () => {
    const reading = unread();
    const source = { readBytes: () => 5100, earlierBytes: () => 5000 };
    for await (const _ of countItems(inBatches([item(801, 50), item(900, 100)]), source, reading));
    expect(reading.bytesBefore).toBe(5050);
  });

  test('is complete before the last batch of records is passed on', async () => {
    const reading = unread();
    const items = countItems(inBatches([item(1, 10)], [item(2, 20)], [item(3, 30)]), { readBytes: () => 30 }, reading);
    await items.next();
    await new Promise(setImmediate);
    expect(reading).toMatchObject({ records: 3, isComplete: false });
    await items.next();
    await new Promise(setImmediate);
    expect(reading).toMatchObject({ records: 3, isComplete: true });
  });

  test('passes a batch of records on before the next batch has arrived', async () => {
    const never = (async function* () {
      yield [item(1, 10)];
      await new Promise(() => {});
    })();
    const items = countItems(never, { readBytes: () => 10 }, unread());
    expect(await items.next()).toMatchObject({ value: [{ number: 1 }] });
    expect(await items.return(undefined)).toMatchObject({ done: true });
  });

  test('passes a batch of records on before it throws the error of a later batch', async () => {
    const faulty = (async function* () {
      yield [item(1, 10)];
      throw new Error('the quote has no end');
    })();
    const items = countItems(faulty, { readBytes: () => 10 }, unread());
    expect(await items.next()).toMatchObject({ value: [{ number: 1 }] });
    await expect(items.next()).rejects.toThrow('the quote has no end');
  });
});

/** Creates a progress line with these counts and a clock that the test controls. */
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

/** Creates the progress of a run with 200 of 500 records after 16 s, with 12 records per second in the last 10 s. */
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
  test('shows the finished records, total, share, rate, time left and failures', () => {
    expect(halfway().line.text()).toBe('200/500 (40 %) · 12/s · 24 s left · 8 failed');
  });

  test('shows neither a rate nor the remaining time at first', () => {
    const { line, state, tally } = lineOver({ total: () => 500, share: () => ({ ofPart: 0.02, ofWhole: 0.02 }) });
    state.ms = 900;
    tally.read = 10;
    expect(line.text()).toBe('10/500 (2 %) · 0 failed');
    state.ms = 2000;
    expect(line.text()).toBe('10/500 (2 %) · 5/s · 0 failed');
  });

  test('shows the share of the bytes while the total number of records is unknown', () => {
    const share = () => ({ ofPart: 0.4, ofWhole: 0.4 });
    expect(halfway({ total: () => undefined, share }).line.text()).toBe('200 records (40 %) · 12/s · 24 s left · 8 failed');
  });

  test('shows only the number of records of an endless stream', () => {
    expect(halfway({ total: () => undefined, share: () => undefined }).line.text()).toBe('200 records · 12/s · 8 failed');
  });

  test('includes the records that were finished before the run was resumed', () => {
    const { line } = halfway({ before: { read: 500, failed: 2 }, total: () => 1000 });
    expect(line.text()).toBe('700/1,000 (70 %) · 12/s · 24 s left · 10 failed');
  });

  test("shows a pause of at least one second, with the server's status", () => {
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

  test('shows the rate of the last 10 s, which is 0 during a long pause', () => {
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
  ])('chooses a suitable unit for the rate: %i records, of which 80 were finished 10 s ago, are %s', (read, rate) => {
    const { line, tally } = halfway();
    tally.read = read;
    expect(line.text()).toContain(` · ${rate} · `);
  });

  test('shows retries, and credits if they are limited or priced', () => {
    const { line, tally } = halfway({ credits: () => 1234 });
    tally.retries = 42;
    expect(line.text()).toBe('200/500 (40 %) · 12/s · 24 s left · 8 failed · 42 retried · 1,234 credits');
  });

  test('leaves out the least important parts until it fits into the terminal', () => {
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
  test('are added up without counting an overlap twice', () => {
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

  test('are shown with their cause, and with the gate (rate limit) that paused', () => {
    expect(pauseText({ gate: 'https://a.com', status: 429, waitMs: 4000 })).toBe('429: every request to https://a.com waits 4 s');
    expect(pauseText({ gate: 'https://a.com', status: undefined, waitMs: 1500 })).toBe(
      'rate limit: every request to https://a.com waits 1.5 s',
    );
  });
});
