import { Chalk } from 'chalk';
import { describe, expect, test } from 'vitest';
import { summaryText } from '../../src/cli/run/summary.ts';
import type { Event } from '../../src/core/event.ts';
import type { Clock } from '../../src/core/ports.ts';
import type { ReportedRun } from '../../src/report/reported-run.ts';
import { RunProgress } from '../../src/report/run-progress.ts';
import { type RunView, runViewOf, summaryJson } from '../../src/report/run-view.ts';
import { addToTally, createTally, type Tally } from '../../src/report/tally.ts';

const noneBefore = { records: 0, written: 0, failed: 0, credits: 0 };

/** Returns the view of a run that was resumed after `from`. */
function viewOf(tally: Tally, { from = noneBefore as object, credits = 0 } = {}): RunView {
  const run = {
    request: {
      ...{ flow: 'flow.yaml', options: { in: 'in.csv' }, files: { out: 'out.csv', errors: 'in.errors.csv' } },
      plan: { name: 'flow.yaml', steps: [], replacedColumns: () => [] },
    },
    claim: { from, parked: new Map() },
    source: { readBytes: () => 0, notes: [] },
    output: { saved: () => ({ records: 0, rows: 0, failed: 0 }) },
    progress: Object.assign(new RunProgress({ now: () => 0, wallNow: () => 0 } as Clock), { tally }),
    session: { ports: { credits: () => credits }, ledger: { isLimited: true } },
  };
  return runViewOf(run as unknown as ReportedRun, { exitCode: 4 });
}

function tallyOf(...events: readonly Event[]): Tally {
  const tally = createTally();
  for (const event of events) addToTally(tally, event);
  return tally;
}

/** Returns the lines of the summary that are about failures. */
function failuresOf(tally: Tally): string[] {
  const lines = summaryText(viewOf(tally), new Chalk({ level: 0 })).split('\n');
  return lines.filter((line) => line.startsWith('    ')).map((line) => line.trim());
}

test("a resumed run's summary shows the credits and tokens of the whole run and of its last part", () => {
  const tokens = (node: string): Event => ({ type: 'tokens', record: 1, node, input: 3, output: 1, cost: 0.1 });
  const from = {
    ...{ records: 2, written: 2, failed: 0, credits: 5.1, costs: { sort: 0.2 } },
    tokens: { sort: { input: 10, output: 2, askedAgain: 2 }, old: { input: 7, output: 0 } },
  };
  const tally = tallyOf(tokens('sort'), { type: 'asked-again', record: 1, node: 'sort' }, tokens('new'));
  const view = viewOf(tally, { from, credits: 3.2 });
  const lines = summaryText(view, new Chalk({ level: 0 })).split('\n');
  expect(lines[0]).toContain('2 written, 0 failed (this part: 0 read, 0 written, 0 failed), 8.3 credits (this part: 3.2) in ');
  expect(lines.filter((line) => line.includes('tokens'))).toEqual([
    '  sort: 13 tokens in, 3 out, cost 0.3, 3 answers did not fit the schema and had to be paid again ' +
      '(this part: 3 tokens in, 1 out, cost 0.1, 1 answer did not fit the schema and had to be paid again)',
    '  old: 7 tokens in, 0 out (this part: 0 tokens in, 0 out)',
    '  new: 3 tokens in, 1 out, cost 0.1',
  ]);
  expect(JSON.parse(summaryJson(view))).toMatchObject({
    credits: 3.2,
    tokens: [
      { node: 'sort', input_tokens: 3, asked_again: 1 },
      { node: 'new', input_tokens: 3 },
    ],
    whole: {
      credits: 8.3,
      tokens: [
        { node: 'sort', input_tokens: 13, output_tokens: 3, cost: 0.3, asked_again: 3 },
        { node: 'old', input_tokens: 7, output_tokens: 0, cost: null },
        { node: 'new', input_tokens: 3, output_tokens: 1, cost: 0.1 },
      ],
    },
  });
});

test('the summary says which rate the refusals of all workers have taught, and how many a rate would have avoided', () => {
  const refused = (worker: number | undefined, learned: number | undefined, more = {}): Event => ({
    ...{ type: 'call-refused', gate: 'https://api.example.com', status: 429, learned, ...(worker && { worker }), ...more },
  });
  const view = viewOf(
    tallyOf(
      refused(1, undefined),
      refused(1, 80),
      refused(2, 30.7),
      refused(1, 50.5),
      refused(1, undefined, { gate: 'https://b.example.com' }),
    ),
  );
  expect(summaryText(view, new Chalk({ level: 0 })).split('\n')).toContain(
    '  learned 81/s for api.example.com (rate: 81/s would have avoided 4 answers of 429)',
  );
  expect(JSON.parse(summaryJson(view)).learned_rates).toEqual([{ gate: 'https://api.example.com', rate: '81/s', refusals: 4 }]);
  const other = tallyOf(refused(undefined, 0.5, { status: 503 }), refused(undefined, 0.5));
  expect(summaryText(viewOf(other), new Chalk({ level: 0 }))).toContain('30/min would have avoided 2 answers of 429 and 503)');
  expect(JSON.parse(summaryJson(viewOf(tallyOf()))).learned_rates).toBeUndefined();
  // The rate of worker 2 is not known, so the sum would be too low.
  const partly = viewOf(tallyOf(refused(1, 8.9), refused(2, undefined)));
  expect(JSON.parse(summaryJson(partly)).learned_rates).toBeUndefined();
});

const failed = (
  record: number,
  message: string,
  type: 'record-failed' | 'record-passed-through' = 'record-failed',
  node = 'ask',
): Event => ({
  ...{ type, record, node, class: 'http', status: 422, attempts: 1 },
  message,
});

describe('the summary of failures that have the same node, class and status', () => {
  test('shows a single message on a separate line', () => {
    const tally = tallyOf(failed(1, 'no zip'), failed(2, 'no zip'));
    expect(failuresOf(tally)).toEqual(['ask  http 422  2 x  records 1, 2  no zip']);
  });

  test('shows the most frequent messages, and the number of other messages', () => {
    const messages = ['a', 'b', 'c', 'd', 'c', 'b', 'c'];
    const tally = tallyOf(...messages.map((message, index) => failed(index + 1, message)));
    expect(failuresOf(tally)).toEqual(['ask  http 422  7 x  records 1, 2, 3, ...', '3 x  c', '2 x  b', '1 x  a', '1 x  other messages']);
    expect(JSON.parse(summaryJson(viewOf(tally))).failures[0].messages).toEqual([
      { message: 'c', count: 3 },
      { message: 'b', count: 2 },
      { message: 'a', count: 1 },
    ]);
  });

  test('uses a limited amount of memory even if every record has a different message', () => {
    const tally = tallyOf(...Array.from({ length: 10_000 }, (_, index) => failed(index + 1, `no user ${index}`)));
    expect([...tally.failures.values()][0]?.messages.size).toBeLessThan(100);
    expect(failuresOf(tally).at(-1)).toBe('9,997 x  other messages');
  });

  test('shows the advice in a message on a separate line', () => {
    const tally = tallyOf(failed(1, 'the record has a field "x"\nwrite NDJSON'));
    expect(failuresOf(tally)).toEqual(['ask  http 422  1 x  record 1  the record has a field "x"', 'write NDJSON']);
  });

  test('shows the advice even if the message is truncated', () => {
    const tally = tallyOf(failed(1, `${'x'.repeat(160)} and so on\nlist it under allow_hosts`));
    const [message, advice] = failuresOf(tally);
    expect([message, advice]).toEqual([expect.stringMatching(/x{160}\.\.\.$/), 'list it under allow_hosts']);
  });
});

describe('failed records that on_error: keep passes on', () => {
  test('are counted as failed if a later node fails', () => {
    const tally = tallyOf(failed(1, 'first', 'record-passed-through'), failed(1, 'second', 'record-failed', 'later'));
    expect(tally).toMatchObject({ failed: 1, passedThrough: 0, written: 0 });
    expect(failuresOf(tally)).toEqual(['later  http 422  1 x  record 1  second']);
  });

  test('are counted once, even if several of their rows failed', () => {
    const done: Event = { type: 'record-done', record: 1, rows: 3 };
    const tally = tallyOf(
      failed(1, 'm', 'record-passed-through'),
      failed(1, 'm', 'record-passed-through'),
      failed(1, 'm', 'record-passed-through', 'later'),
      done,
    );
    expect(tally).toMatchObject({ failed: 0, passedThrough: 1, written: 1 });
    expect(tally.undecided.size).toBe(0);
    expect(failuresOf(tally)).toHaveLength(2);
  });

  test('are listed in the order of their record numbers', () => {
    const ends = [5, 2, 9, 1].map((record): Event => ({ type: 'record-done', record, rows: 1 }));
    const tally = tallyOf(...[9, 5, 1, 2].map((record) => failed(record, 'm', 'record-passed-through')), ...ends);
    expect(failuresOf(tally)).toEqual(['ask  http 422  4 x  records 1, 2, 5, ...  m']);
  });
});
