import type { RunView } from '../../src/report/run-view.ts';

const buckets = Array.from({ length: 33 }, (_, index) => {
  const isPaused = index % 9 > 6;
  const written = isPaused ? 0 : 110 + ((index * 37) % 90);
  return { startMs: index * 1000, ms: 1000, written, failed: isPaused ? 0 : index % 4, pausedMs: isPaused ? 1000 : 0 };
});

const limitsMs = [20, 30, 50, 70, 100, 150, 200, 300, 500, 910];

const times = [12, 240, 1480, 900, 420, 160, 90, 30, 6].map((count, index) => ({
  fromMs: limitsMs[index] ?? 0,
  toMs: limitsMs[index + 1] ?? 0,
  count,
}));

/** A run that fills every part of its report. */
export const fullView: RunView = {
  flow: 'enrich-customers',
  state: 'stopped',
  ending: 'stopped: a limit is reached',
  reason: 'no credits are left of --max-credits 4000',
  startedAt: '2026-11-24T14:02:11.000Z',
  ms: 33_700,
  input: 'customers.csv',
  output: 'enriched.csv',
  errors: 'enriched.errors.csv',
  counts: { written: 3883, failed: 117, filtered: 0, passedThrough: 3, waiting: 2, retries: 99, cached: 14 },
  earlier: 1000,
  total: 10_000,
  share: 0.4,
  rates: buckets,
  responseTimes: { count: 3338, p50Ms: 59, p95Ms: 260, maxMs: 910, buckets: times },
  statuses: [
    { status: '200', count: 3883 },
    { status: '404', count: 108 },
    { status: 'timeout', count: 2 },
  ],
  failures: [
    {
      ...{ node: 'profile', class: 'http', status: 404, count: 108, firstRecords: [37, 74, 111] },
      messages: [{ text: 'the server answered 404: no such user', count: 108 }],
    },
    {
      ...{ class: 'input', count: 9, firstRecords: [2, 1200, 1204] },
      messages: [
        { text: 'expected 3 fields, found 2\ncorrect the line', count: 5 },
        { text: 'expected 3 fields, found 4', count: 3 },
      ],
    },
  ],
  moreFailures: 1,
  mapping: [
    { node: 'profile', field: 'name', path: 'data.user.name', found: 3883, of: 3883 },
    { node: 'plan', field: 'plan', path: 'subscriptions[0].plan', found: 3749, of: 3883 },
  ],
  lookups: [{ node: 'places', matched: 90, ambiguous: 4, of: 100 }],
  tokens: [{ node: 'llm', input: 1_204_331, output: 88_120, cost: 0.48 }],
  credits: { spent: 4000, saved: 14, limit: 4000, allowance: { month: '2026-11', spent: 18_000, limit: 20_000 } },
  pauses: { totalMs: 7000, times: 4, gates: [{ gate: 'https://crm.example.com', reason: '429', times: 4, ms: 7000 }] },
  command: 'automate run flow.yaml --in customers.csv --out enriched.csv --max-credits 4000',
  next: [{ why: 'resume with', command: 'automate run flow.yaml --in customers.csv --out enriched.csv --resume' }],
};

/** A run that ended before its first record. */
export const emptyView: RunView = {
  ...{
    flow: 'flow.yaml',
    state: 'finished',
    ending: 'done',
    startedAt: '2026-11-24T14:02:11.000Z',
    ms: 0,
    input: 'rows.csv',
    output: 'stdout',
  },
  counts: { written: 0, failed: 0, filtered: 0, passedThrough: 0, waiting: 0, retries: 0, cached: 0 },
  ...{ earlier: 0, total: 0, rates: [], statuses: [], failures: [], moreFailures: 0, mapping: [], lookups: [], tokens: [] },
  ...{ credits: { spent: 0, saved: 0 }, pauses: { totalMs: 0, times: 0, gates: [] }, next: [] },
};
