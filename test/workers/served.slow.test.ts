import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { childrenOf } from '../helpers/processes.ts';
import { workerHere } from '../helpers/queued-run.ts';
import { hasRedis, redisServer, unlessRedis } from '../helpers/redis.ts';
import { posting, type Serving, serving, servingHere } from '../helpers/serving.ts';

const records = 300;

const body = (text: string): RequestInit => ({ method: 'POST', body: text, headers: { 'content-type': 'text/csv' } });

async function started({ send }: Serving, key: string, flow: string, text = csvOf(records)): Promise<RunShape> {
  return (await (await send(`/v1/flows/${flow}/runs`, { key, ...body(text) })).json()) as RunShape;
}

/** Polls a run until `is` returns true for it. */
async function until({ send }: Serving, key: string, { id }: { id: string }, is: (run: RunShape) => boolean): Promise<RunShape> {
  for (;;) {
    const run = (await (await send(`/v1/runs/${id}`, { key })).json()) as RunShape;
    if (is(run)) return run;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const finished = ({ state }: RunShape) => state === 'finished';

/** Returns the content of a run's output and errors file. */
async function filesOf({ send }: Serving, key: string, { links }: RunShape): Promise<string[]> {
  return Promise.all([links.output, links.errors].map(async (link) => (await send(link, { key })).text()));
}

/** Returns the files that `automate run` writes for the same flow and records. */
async function plainFiles(flow: string): Promise<string[]> {
  const place = await workplace({ 'ask.yaml': flow, 'rows.csv': csvOf(records) });
  await place.automate(['run', 'ask.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  return [await place.read('out.csv'), await place.read('out.errors.csv')];
}

describe('automate serve --workers', () => {
  test('uses the same worker processes for all runs, and writes the same files as the command', async () => {
    const upstream = await askedServer(10);
    const release = upstream.hold();
    const flow = askingFlow(upstream.origin, ', concurrency: 8');
    const server = await serving({ ask: flow, other: flow }, { args: ['--workers', '2'] });
    const key = server.key();
    const children = childrenOf(server.pid as number);
    expect(children).toHaveLength(2);
    const runs = await Promise.all([started(server, key, 'ask'), started(server, key, 'other')]);
    for (const run of runs) await until(server, key, run, ({ workers }) => workers === 2);
    release();
    const ended = await Promise.all(runs.map((run) => until(server, key, run, finished)));
    expect(ended.map(({ counts, credits }) => [counts.read, counts.failed, credits])).toEqual([
      [records, 42, records],
      [records, 42, records],
    ]);
    expect(ended[0]?.workers).toBeNull();
    expect(childrenOf(server.pid as number)).toEqual(children);
    const expected = await plainFiles(flow);
    for (const run of runs) expect(await filesOf(server, key, run)).toEqual(expected);
    expect((await server.end()).code).toBe(0);
  });

  test('replaces a worker process that was killed during a run, without losing or duplicating records', async () => {
    const upstream = await askedServer(10);
    const flow = askingFlow(upstream.origin, ', concurrency: 4');
    const server = await serving({ ask: flow }, { args: ['--workers', '2'] });
    const key = server.key();
    const run = await started(server, key, 'ask');
    await until(server, key, run, ({ counts }) => counts.read > 60);
    process.kill(childrenOf(server.pid as number)[0] as number, 'SIGKILL');
    await until(server, key, run, finished);
    expect(await filesOf(server, key, run)).toEqual(await plainFiles(flow));
    await expect.poll(() => childrenOf(server.pid as number)).toHaveLength(2);
  });

  test('immediately replaces an idle worker process that was killed', async () => {
    const server = await serving({ ask: askingFlow('https://api.example.com') }, { args: ['--workers', '2'] });
    const children = () => childrenOf(server.pid as number);
    const [killed] = children() as [number];
    // A process that dies within its first second is not replaced at once.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => children().filter((pid) => pid !== killed)).toHaveLength(2);
  });

  test("applies a flow's rate limit only until the flow's run or call ends", async () => {
    const [one, other] = [await askedServer(1), await askedServer(1)];
    const slow = (origin: string) => askingFlow(origin, ', rate: 1/m');
    const flows = { slow: slow(one.origin), fast: askingFlow(one.origin), lazy: slow(other.origin), quick: askingFlow(other.origin) };
    const server = await servingHere(flows, { args: ['--workers', '2'] });
    const key = server.key();
    await until(server, key, await started(server, key, 'slow', csvOf(1)), finished);
    await until(server, key, await started(server, key, 'fast', csvOf(60)), finished);
    expect(one.requests).toHaveLength(61);
    const call = async (flow: string) => (await server.send(`/v1/flows/${flow}/calls`, { key, ...posting({ id: 1000 }) })).status;
    expect([await call('fast'), await call('lazy'), await call('quick')]).toEqual([200, 200, 200]);
    await until(server, key, await started(server, key, 'quick', csvOf(60)), finished);
    expect(other.requests).toHaveLength(62);
  });

  test('saves its runs if SIGTERM reaches all of its processes, and continues them after a restart', async () => {
    const upstream = await askedServer(20);
    const flow = askingFlow(upstream.origin, ', concurrency: 2');
    const server = await serving({ ask: flow }, { args: ['--workers', '2'] });
    const key = server.key();
    const run = await started(server, key, 'ask');
    await until(server, key, run, ({ counts }) => counts.read > 20);
    for (const pid of childrenOf(server.pid as number)) process.kill(pid, 'SIGTERM');
    expect((await server.end()).code).toBe(0);
    const next = await serving({}, { place: server.place, args: ['--workers', '2'] });
    await until(next, key, run, finished);
    // A failed record that waits for an earlier record is processed again, as in a run without workers.
    expect([...upstream.calls].filter(([id, times]) => times > 1 && Number(id) % 7 !== 0)).toEqual([]);
    expect(await filesOf(next, key, run)).toEqual(await plainFiles(flow));
  });

  test('applies a rate limit to calls and runs of a flow together', async () => {
    const upstream = await askedServer(1);
    const flow = askingFlow(upstream.origin, ', rate: 50/s');
    const server = await servingHere({ ask: flow }, { args: ['--workers', '2'] });
    const key = server.key({ rate: '1000/s' });
    const startedMs = performance.now();
    const run = await started(server, key, 'ask', csvOf(100));
    const calls = Array.from({ length: 100 }, (_, index) => server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1001 + index }) }));
    for (const call of calls) await call;
    await until(server, key, run, finished);
    expect(upstream.requests).toHaveLength(200);
    // Without a common limit, 2 s would be enough.
    expect(performance.now() - startedMs).toBeGreaterThan(3500);
  });

  test('saves files in the folder that --files sets', async () => {
    const upstream = await askedServer(1);
    const flow = `nodes: [{ id: ask, type: http, url: "${upstream.origin}/{{id}}", save: { to: "{{id}}.json" } }]\n`;
    const place = await workplace();
    const { mkdir } = await import('node:fs/promises');
    await mkdir(place.path('kept'));
    const server = await servingHere({ ask: flow }, { place, args: ['--workers', '2', '--files', place.path('kept')] });
    const key = server.key();
    const run = await started(server, key, 'ask', csvOf(3));
    expect(await until(server, key, run, finished)).toMatchObject({ counts: { written: 3 } });
    expect(readdirSync(place.path('kept'))).toHaveLength(3);
  });
});

describe.skipIf(!hasRedis)(`automate serve --queue${unlessRedis}`, () => {
  test('lets the workers process the records of its runs, and writes the same files as the command', async () => {
    const redis = await redisServer();
    const upstream = await askedServer(10);
    const release = upstream.hold();
    const flow = askingFlow(upstream.origin, ', concurrency: 8');
    const server = await servingHere({ ask: flow }, { args: ['--queue', redis.url] });
    const key = server.key();
    const run = await started(server, key, 'ask');
    expect(await until(server, key, run, ({ state, workers }) => state === 'running' && workers === 0)).toBeTruthy();
    const workers = [1, 2].map(() => workerHere(server.place, ['worker', '--queue', redis.url]));
    await until(server, key, run, ({ workers }) => workers === 2);
    release();
    const ended = await until(server, key, run, finished);
    expect(ended).toMatchObject({ credits: records, counts: { read: records, failed: 42 } });
    expect(upstream.requests).toHaveLength(records);
    expect(await filesOf(server, key, run)).toEqual(await plainFiles(flow));
    for (const worker of workers) void worker.kill('SIGTERM');
    for (const { finished: worker } of workers) expect((await worker).code).toBe(0);
  });

  test('is not ready while Redis is unavailable, but still executes calls, and later continues its runs', async () => {
    const redis = await redisServer();
    const upstream = await askedServer(10);
    const flow = askingFlow(upstream.origin, ', concurrency: 2');
    const server = await servingHere({ ask: flow }, { args: ['--queue', redis.url] });
    const key = server.key();
    workerHere(server.place, ['worker', '--queue', redis.url, '--lease', '5s']);
    const run = await started(server, key, 'ask');
    await until(server, key, run, ({ counts }) => counts.read > 20);
    await redis.stop();
    while ((await server.send('/readyz')).status !== 503) await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await server.send('/healthz')).status).toBe(200);
    expect(await (await server.send('/readyz')).json()).toMatchObject({ type: '/problems/queue-away' });
    expect((await server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1000 }) })).status).toBe(200);
    await redis.start();
    await until(server, key, run, finished);
    expect((await server.send('/readyz')).status).toBe(200);
    expect(await filesOf(server, key, run)).toEqual(await plainFiles(flow));
  });

  test("applies a flow's rate limit only until the run ends, even in workers that keep running", async () => {
    const redis = await redisServer();
    const upstream = await askedServer(1);
    const server = await servingHere(
      { slow: askingFlow(upstream.origin, ', rate: 1/m'), fast: askingFlow(upstream.origin) },
      { args: ['--queue', redis.url] },
    );
    const key = server.key();
    for (const _ of [1, 2]) workerHere(server.place, ['worker', '--queue', redis.url]);
    for (const [flow, text] of [
      ['slow', csvOf(1)],
      ['fast', csvOf(60)],
    ] as const)
      await until(server, key, await started(server, key, flow, text), finished);
    expect(upstream.requests).toHaveLength(61);
  });

  test('has the same run ids as the output of `automate status` and of the workers', async () => {
    const redis = await redisServer();
    const upstream = await askedServer(20);
    const server = await servingHere({ ask: askingFlow(upstream.origin, ', concurrency: 2') }, { args: ['--queue', redis.url] });
    const key = server.key();
    const worker = workerHere(server.place, ['worker', '--queue', redis.url]);
    const arrived = new Promise<() => void>((resolve) => upstream.after(20, () => resolve(upstream.hold())));
    const run = await started(server, key, 'ask');
    const release = await arrived;
    const { stdout } = await server.place.automate(['status', '--queue', redis.url, '--json']);
    expect(JSON.parse(stdout).runs.map((one: { run: string }) => one.run)).toEqual([run.id]);
    void worker.kill('SIGTERM');
    release();
    expect((await worker.finished).stderr).toMatch(
      new RegExp(`joined run ${run.id} of ask\n(.*\n)*left run ${run.id}: this worker stops\n`),
    );
  });

  test('saves its runs at SIGTERM, and a server with --workers can continue them', async () => {
    const redis = await redisServer();
    const upstream = await askedServer(20);
    const flow = askingFlow(upstream.origin, ', concurrency: 8');
    const server = await servingHere({ ask: flow }, { args: ['--queue', redis.url] });
    const key = server.key();
    for (const _ of [1, 2]) workerHere(server.place, ['worker', '--queue', redis.url]);
    const run = await started(server, key, 'ask');
    await until(server, key, run, ({ counts }) => counts.read > 20);
    expect((await server.end()).code).toBe(0);
    const next = await servingHere({}, { place: server.place, args: ['--workers', '2'] });
    const ended = await until(next, key, run, finished);
    const repeated = [...upstream.calls].filter(([, times]) => times > 1);
    expect(repeated.filter(([id]) => Number(id) % 7 !== 0)).toEqual([]);
    expect(ended.credits).toBe(upstream.requests.length);
    expect(await filesOf(next, key, run)).toEqual(await plainFiles(flow));
  });

  test('saves its runs if SIGTERM reaches all of its processes, and continues them after a restart', async () => {
    const redis = await redisServer();
    const upstream = await askedServer(20);
    const flow = askingFlow(upstream.origin, ', concurrency: 2');
    const server = await servingHere({ ask: flow }, { args: ['--queue', redis.url] });
    const key = server.key();
    workerHere(server.place, ['worker', '--queue', redis.url]);
    const run = await started(server, key, 'ask');
    await until(server, key, run, ({ counts }) => counts.read > 20);
    expect((await server.end()).code).toBe(0);
    const next = await servingHere({}, { place: server.place, args: ['--queue', redis.url] });
    await until(next, key, run, finished);
    expect(await filesOf(next, key, run)).toEqual(await plainFiles(flow));
  });
});

describe('automate serve with --workers or --queue', () => {
  test.each([
    { args: ['--workers', '2', '--queue', 'redis://localhost'], text: 'expected one of the two' },
    { args: ['--queue-name', 'team'], text: '--queue' },
    { args: ['--queue', 'http://localhost'], text: 'redis://' },
  ])('refuses the arguments $args', async ({ args, text }) => {
    const place = await workplace({});
    const { code, stderr } = await place.automate(['serve', '.', '--port', '0', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(text);
  });
});
