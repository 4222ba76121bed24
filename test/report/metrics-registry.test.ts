import { expect, test } from 'vitest';
import type { Event } from '../../src/core/event.ts';
import { MetricsRegistry } from '../../src/report/metrics-registry.ts';
import { parsedMetrics, valuesOf } from '../helpers/prometheus.ts';

const noFigures = { credits: () => 0, pausedMs: () => 0, open: () => 0 };
const failure = { node: 'get', class: 'http', status: 503, message: 'the server answered 503', attempts: 1 } as const;

const events: readonly Event[] = [
  { type: 'call-done', record: 1, node: 'get', attempts: 1, ms: 9000, responseMs: 20 },
  { type: 'record-done', record: 1, rows: 3 },
  { type: 'call-retried', record: 2, waitMs: 1000, ...failure },
  { type: 'call-failed', record: 2, node: 'get', attempts: 2, responseMs: 700 },
  { type: 'record-failed', record: 2, ...failure },
  { type: 'call-done', record: 3, node: 'find', attempts: 1, ms: 4 },
  { type: 'record-filtered', record: 3 },
  { type: 'record-unchanged', record: 4, rows: 1, isFiltered: false },
  { type: 'record-unchanged', record: 5, rows: 0, isFiltered: true },
];

async function read(registry: MetricsRegistry) {
  const metrics = parsedMetrics(await registry.text());
  return { metrics, values: (name: string) => valuesOf(metrics, name) };
}

test('the metrics count records, calls and response times', async () => {
  const registry = new MetricsRegistry();
  const flow = registry.addFlow('people', ['get', 'find'], noFigures);
  for (const event of events) flow.add(event);
  const { metrics, values } = await read(registry);
  expect(values('automate_records_total')).toEqual({ written: 2, failed: 1 });
  expect(values('automate_calls_total')).toEqual({
    ...{ 'get ok': 1, 'get failed': 1, 'get retried': 1 },
    ...{ 'find ok': 1, 'find failed': 0, 'find retried': 0 },
  });
  const samples = metrics.get('automate_call_seconds')?.samples ?? [];
  const of = (name: string) => samples.filter((sample) => sample.name === name && sample.labels.node === 'get');
  expect(of('automate_call_seconds_count').map(({ value }) => value)).toEqual([2]);
  expect(of('automate_call_seconds_sum')[0]?.value).toBeCloseTo(0.72);
  const buckets = of('automate_call_seconds_bucket').map(({ labels, value }) => [labels.le, value]);
  expect(buckets).toEqual(
    expect.arrayContaining([
      ['0.01', 0],
      ['0.025', 1],
      ['0.5', 1],
      ['1', 2],
      ['+Inf', 2],
    ]),
  );
});

test('the metrics have counters with the value 0 before the first event', async () => {
  const registry = new MetricsRegistry();
  registry.addFlow('people', ['get'], noFigures);
  const { values } = await read(registry);
  expect(values('automate_records_total')).toEqual({ written: 0, failed: 0 });
  expect(values('automate_calls_total')).toEqual({ 'get ok': 0, 'get failed': 0, 'get retried': 0 });
  expect(values('automate_credits_total')).toEqual({ '': 0 });
});

test("the metrics add up the credits and pauses of all of a flow's runs, including finished runs", async () => {
  const registry = new MetricsRegistry();
  const figures = { credits: 3, pausedMs: 1500, open: 7 };
  const live = { credits: () => figures.credits, pausedMs: () => figures.pausedMs, open: () => figures.open };
  const [one, other] = [registry.addFlow('people', [], live), registry.addFlow('people', [], live)];
  const first = await read(registry);
  expect(first.values('automate_credits_total')).toEqual({ '': 6 });
  expect(first.values('automate_open_records')).toEqual({ '': 14 });
  figures.credits = 5;
  one.end();
  figures.credits = 6;
  const second = await read(registry);
  expect(second.values('automate_credits_total')).toEqual({ '': 11 });
  expect(second.values('automate_paused_seconds_total')).toEqual({ '': 3 });
  expect(second.values('automate_open_records')).toEqual({ '': 7 });
  other.end();
  expect((await read(registry)).values('automate_open_records')).toEqual({ '': 0 });
});

test('the metrics escape special characters in flow names', async () => {
  const registry = new MetricsRegistry();
  const name = 'a "b" \\ c\nautomate_records_total{flow="d"} 1';
  registry.addFlow(name, [], noFigures);
  const { metrics } = await read(registry);
  expect(new Set(metrics.get('automate_records_total')?.samples.map(({ labels }) => labels.flow))).toEqual(new Set([name]));
});

test('the metrics include a queue for as long as its state is known', async () => {
  const registry = new MetricsRegistry();
  let isAway = false;
  registry.addQueue(async () => (isAway ? undefined : { units: { waiting: 3, active: 8 }, workers: 2 }));
  const known = await read(registry);
  expect(known.values('automate_queue_units')).toEqual({ waiting: 3, active: 8 });
  expect(known.values('automate_queue_workers')).toEqual({ '': 2 });
  isAway = true;
  const unknown = await read(registry);
  expect([unknown.values('automate_queue_units'), unknown.values('automate_queue_workers')]).toEqual([{}, {}]);
});

test('the metrics for queues and workers appear only in a process that has a queue or workers', async () => {
  const registry = new MetricsRegistry();
  const names = async () => [...(await read(registry)).metrics].map(([name, { type }]) => `${name} ${type}`);
  const common = [
    ...['automate_records_total counter', 'automate_calls_total counter', 'automate_call_seconds histogram'],
    ...['automate_credits_total counter', 'automate_paused_seconds_total counter', 'automate_open_records gauge'],
  ];
  expect(await names()).toEqual(common);
  registry.addQueue(async () => undefined);
  registry.addWorker(() => 4);
  expect(await names()).toEqual([
    ...common,
    ...['automate_queue_units gauge', 'automate_queue_workers gauge', 'automate_worker_units gauge'],
  ]);
  expect((await read(registry)).values('automate_worker_units')).toEqual({ '': 4 });
});
