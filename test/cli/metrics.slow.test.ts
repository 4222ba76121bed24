import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Started, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, json } from '../helpers/http-server.ts';
import { type ParsedMetric, parsedMetrics, valuesOf } from '../helpers/prometheus.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';
import { servingHere as serving } from '../helpers/serving.ts';

const secret = 'canary-secret-5417';
const env = { AUTOMATE_CREDENTIAL_CRM_TOKEN: secret };
const all = 60;
/** The highest id that gets a response at once. Records with a higher id wait until the test calls `release`. */
const answered = 20;
const input = `id,note\n${Array.from({ length: all }, (_, index) => `${index + 1},canary-field\n`).join('')}`;

/** An API that answers every ninth record with 404, and the fifth record first with 503. Later records wait for `release`. */
interface Api extends HttpServer {
  /** True if the record is waiting for `release`. */
  holds(id: number): boolean;
  release(): void;
}

async function api(): Promise<Api> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  onTestFinished(() => release());
  const seen = new Set<number>();
  const server = await httpServer(async ({ path }, response) => {
    const id = Number(/\d+$/.exec(path)?.[0]);
    if (made.holds(id)) await released;
    const isFirst = !seen.has(id);
    seen.add(id);
    json(response, { name: `name ${id}` }, id % 9 === 0 ? 404 : id === 5 && isFirst ? 503 : 200);
  });
  const made = { ...server, release, holds: (id: number) => id > answered };
  return made;
}

/** The concurrency is higher than the number of records, so waiting records never keep others from being sent. */
const flow = ({ origin }: HttpServer) => `name: people
nodes:
  - id: get
    type: http
    url: "${origin}/canary-path/{{id}}"
    auth: { type: bearer, credential: crm-token }
    concurrency: 64
    retry: { backoff: 10ms }
    map: [name]
`;

/** The contract of the metrics: the names, types and labels that they may have. */
const contract: Readonly<Record<string, readonly [type: string, labels: readonly string[]]>> = {
  automate_records_total: ['counter', ['flow', 'result']],
  automate_calls_total: ['counter', ['flow', 'node', 'result']],
  automate_call_seconds: ['histogram', ['flow', 'node']],
  automate_credits_total: ['counter', ['flow']],
  automate_paused_seconds_total: ['counter', ['flow']],
  automate_open_records: ['gauge', ['flow']],
  automate_queue_units: ['gauge', ['state']],
  automate_queue_workers: ['gauge', []],
  automate_worker_units: ['gauge', []],
};

const common = Object.keys(contract).slice(0, 6);

/** Returns the metrics URL from the line that a process prints. */
async function figuresOf({ child }: Pick<Started, 'child'>): Promise<string> {
  let said = '';
  for (;;) {
    const [chunk] = (await once(child.stderr as NodeJS.ReadableStream, 'data')) as [Buffer];
    said += chunk;
    const found = /metrics: (http:\/\/127\.0\.0\.1:\d+)\/metrics/.exec(said)?.[1];
    if (found !== undefined) return found;
  }
}

/** Reads the metrics and checks them against the contract. */
async function read(address: string): Promise<Map<string, ParsedMetric>> {
  const answer = await fetch(`${address}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const text = await answer.text();
  expect(text).not.toMatch(/canary|https?:|127\.0\.0\.1/);
  const metrics = parsedMetrics(text);
  for (const [name, { type, samples }] of metrics) {
    const [expected, labels] = contract[name] ?? [];
    expect([name, type]).toEqual([name, expected]);
    for (const sample of samples) {
      const own = Object.keys(sample.labels).filter((label) => label !== 'le');
      expect([name, own.sort()]).toEqual([name, labels]);
    }
  }
  return metrics;
}

/** Reads the metrics until they include all calls that have a response, and all written records. */
async function readWhenCounted(address: string): Promise<Map<string, ParsedMetric>> {
  for (;;) {
    const metrics = await read(address);
    const sums = ['automate_records_total', 'automate_credits_total'].map((name) =>
      Object.values(valuesOf(metrics, name)).reduce((sum, value) => sum + value, 0),
    );
    if (sums.every((sum) => sum === answered)) return metrics;
  }
}

function expectCounts(metrics: Map<string, ParsedMetric>): void {
  expect(valuesOf(metrics, 'automate_records_total')).toEqual({ written: 18, failed: 2 });
  expect(valuesOf(metrics, 'automate_calls_total')).toEqual({ 'get ok': 18, 'get failed': 2, 'get retried': 1 });
  const count = metrics.get('automate_call_seconds')?.samples.find(({ name }) => name === 'automate_call_seconds_count');
  expect(count).toMatchObject({ labels: { flow: 'people', node: 'get' }, value: answered });
  expect(valuesOf(metrics, 'automate_paused_seconds_total')).toEqual({ '': 0 });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read any of its fields
async function status(address: string): Promise<any> {
  const answer = await fetch(`${address}/status.json`);
  expect(answer.headers.get('content-type')).toBe('application/json');
  const text = await answer.text();
  expect(text).not.toMatch(/canary|https?:/);
  return JSON.parse(text);
}

const records = { read: all, written: 18, failed: 2, open: all - answered };

/** Starts a run that serves its metrics. */
async function started(server: Api, more: readonly string[]) {
  const place = await workplace({ 'flow.yaml': flow(server), 'in.csv': input });
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--metrics', '127.0.0.1:0', ...more];
  const run = place.start(args, { env });
  onTestFinished(() => void run.child.kill('SIGKILL'));
  return { place, run, address: await figuresOf(run) };
}

describe.each([[[]], [['--workers', '2']]])('a run with the options %j', (more) => {
  test('serves its metrics over HTTP until it ends', async () => {
    const server = await api();
    const { run, address } = await started(server, more);
    const metrics = await readWhenCounted(address);
    expect([...metrics.keys()]).toEqual(common);
    expectCounts(metrics);
    expect(valuesOf(metrics, 'automate_open_records')).toEqual({ '': all - answered });
    const { pid } = run.child;
    expect(await status(address)).toEqual({
      queue: null,
      runs: [
        {
          ...{ run: expect.stringMatching(/^[\da-f-]{36}$/), flow: 'people', state: 'running' },
          ...{ started: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/), version: expect.stringMatching(/^\d/) },
          ...{ coordinator: { host: expect.any(String), pid, alive: true }, records, credits: answered },
        },
      ],
      workers: [],
    });
    server.release();
    // A keep-alive connection to the metrics server does not prevent the process from exiting.
    expect((await run.finished).code).toBe(4);
    await expect(fetch(`${address}/metrics`)).rejects.toThrow();
  });

  test('reports in its metrics that it is stopping', async () => {
    const server = await api();
    const { run, address } = await started(server, more);
    await readWhenCounted(address);
    run.child.kill('SIGINT');
    let state = 'running';
    while (state === 'running') state = (await status(address)).runs[0].state;
    expect(state).toBe('stopping');
    server.release();
    expect((await run.finished).code).toBe(130);
  });
});

test('automate retry serves its metrics', async () => {
  const server = await api();
  const place = await workplace({ 'flow.yaml': flow(server), 'in.csv': input });
  const first = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--limit', '18'], { env });
  expect(first.code, first.stderr).toBe(4);
  server.holds = (id) => id === 18;
  const retry = place.start(['retry', 'out.csv', '--metrics', '0'], { env });
  onTestFinished(() => void retry.child.kill('SIGKILL'));
  const address = await figuresOf(retry);
  let metrics = await read(address);
  while (valuesOf(metrics, 'automate_records_total').failed !== 1) metrics = await read(address);
  expect(valuesOf(metrics, 'automate_open_records')).toEqual({ '': 1 });
  expect((await status(address)).runs).toMatchObject([{ records: { read: 2, written: 0, failed: 1, open: 1 } }]);
  server.release();
  expect((await retry.finished).code).toBe(4);
});

describe.skipIf(!hasRedis)(`a run over a queue${unlessRedis}`, () => {
  test('serves the metrics of the whole run, while each worker serves its own metrics', async () => {
    const redis = await redisServer();
    const server = await api();
    const { place, run, address } = await started(server, ['--queue', redis.url]);
    let waiting = await status(address);
    while (!waiting.runs[0]?.units?.waiting || waiting.runs[0].records.open !== all) waiting = await status(address);
    expect(waiting).toMatchObject({ queue: 'default', runs: [{ state: 'waiting', records: { open: all } }], workers: [] });
    const worker = place.start(['worker', '--queue', redis.url, '--metrics', '127.0.0.1:0'], { env });
    onTestFinished(() => void worker.child.kill('SIGKILL'));
    const workerAddress = await figuresOf(worker);

    const metrics = await readWhenCounted(address);
    expect([...metrics.keys()]).toEqual([...common, 'automate_queue_units', 'automate_queue_workers']);
    expectCounts(metrics);
    expect(Object.keys(valuesOf(metrics, 'automate_queue_units'))).toEqual(['waiting', 'active']);
    expect(valuesOf(metrics, 'automate_queue_workers')).toEqual({ '': 1 });

    const own = await readWhenCounted(workerAddress);
    expect([...own.keys()].sort()).toEqual([...common, 'automate_worker_units'].sort());
    expectCounts(own);
    const [units = 0] = Object.values(valuesOf(own, 'automate_worker_units'));
    expect(units).toBeGreaterThan(0);

    const { pid } = worker.child;
    const shown = { id: expect.stringContaining(`-${pid}-`), pid, units, records: answered, problems: [] };
    expect(await status(workerAddress)).toMatchObject({ queue: 'default', runs: [], workers: [shown] });
    expect(await status(address)).toMatchObject({
      queue: 'default',
      runs: [{ flow: 'people', state: 'running', records, units: { active: units }, credits: answered }],
      workers: [{ pid }],
    });

    server.release();
    expect((await run.finished).code).toBe(4);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });

  test('still serves its own metrics while Redis does not respond', async () => {
    const redis = await redisServer();
    const server = await api();
    const { address } = await started(server, ['--queue', redis.url]);
    while ((await status(address)).runs[0]?.records.read !== all);
    redis.freeze();
    const metrics = await read(address);
    expect(valuesOf(metrics, 'automate_open_records')).toEqual({ '': all });
    expect(valuesOf(metrics, 'automate_queue_workers')).toEqual({});
    const { runs, workers, queue } = await status(address);
    expect([queue, runs[0].units, runs[0].records.read, workers]).toEqual(['default', undefined, all, []]);
  });
});

test('automate serve exposes metrics of its runs and calls', async () => {
  const server = await api();
  const { key, send, said, end } = await serving({ people: flow(server).replace('name: people\n', '') }, { args: ['--metrics', '0'], env });
  const addressSaid = () => /metrics: (http:\S+)\/metrics\n/.exec(said())?.[1];
  await expect.poll(addressSaid).toBeDefined();
  const address = addressSaid() as string;
  const one = key();
  const post = (path: string, type: string, body: string) =>
    send(path, { method: 'POST', key: one, headers: { 'content-type': type }, body });
  expect((await status(address)).runs).toEqual([]);
  const { id } = (await (await post('/v1/flows/people/runs', 'text/csv', input)).json()) as { id: string };
  expectCounts(await readWhenCounted(address));
  expect(await status(address)).toMatchObject({
    queue: null,
    runs: [{ run: id, flow: 'people', state: 'running', records, credits: answered }],
    workers: [],
  });
  server.release();
  while ((await status(address)).runs.length > 0);
  const call = await post('/v1/flows/people/calls', 'application/json', '{"id":1,"note":"canary-field"}');
  expect(await call.json()).toMatchObject({ credits: 1 });
  const metrics = await read(address);
  expect(valuesOf(metrics, 'automate_records_total')).toEqual({ written: 55, failed: 6 });
  expect(valuesOf(metrics, 'automate_credits_total')).toEqual({ '': all + 1 });
  expect(valuesOf(metrics, 'automate_open_records')).toEqual({ '': 0 });
  expect((await end()).code).toBe(0);
});
