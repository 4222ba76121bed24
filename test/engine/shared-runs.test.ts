import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import { Gates } from '../../src/engine/gates.ts';
import type { Run } from '../../src/engine/run.ts';
import { createClock } from '../../src/files/clock.ts';
import { createHttp } from '../../src/http/client.ts';
import { Routes } from '../../src/http/routes.ts';
import { RunFiles } from '../../src/http/transfers/run-files.ts';
import { createTransport } from '../../src/http/transport.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { numberedRecords } from '../helpers/flows.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { type FlowOptions, type FlowResult, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const flow = (name: string, more = '', origin = 'https://api.example.com') =>
  `name: ${name}\nnodes: [{ type: http, url: "${origin}/${name}/{{id}}"${more} }]`;
const names = ['a', 'b', 'c'];
const times = (requests: readonly SentRequest[]) => requests.map(({ atMs }) => atMs);

/** Runs three flows with 20 records each that share the same gates. */
function runThree(more: string, options: (name: string) => FlowOptions = () => ({})): Promise<FlowResult[]> {
  const clock = createFakeClock();
  const gates = new Gates(clock);
  return Promise.all(names.map((name) => runFlow(flow(name, more), numberedRecords(20), { clock, gates, ...options(name) })));
}

/** Returns a callback that calls `act` with the run after `ms`. */
const actAfter =
  (ms: number, act: (run: Run) => void): NonNullable<FlowOptions['started']> =>
  (run, clock) =>
    void clock.sleepUntil(ms).then(() => act(run));

describe('runs that share the same gates', () => {
  test('together keep to one rate, and take turns', async () => {
    const results = await runThree(', rate: 10/s');
    const all = results.flatMap(({ requests }) => times(requests)).sort((a, b) => a - b);
    expect(all).toHaveLength(60);
    for (const from of all) expect(all.filter((at) => at >= from && at < from + 1000).length).toBeLessThan(12);
    for (const { requests } of results) expect(times(requests)[9]).toBeLessThan(3100);
  });

  test('pause together if one run receives a 429', async () => {
    const http = (name: string): FlowOptions['http'] => {
      return (_, index) => (name === 'a' && index === 3 ? { status: 429, headers: { 'retry-after': '60' } } : {});
    };
    const results = await runThree(', rate: 10/s', (name) => ({ http: http(name) }));
    const [first, , other] = results.map(({ requests }) => times(requests));
    const pausedAtMs = first?.[3] as number;
    expect(other?.filter((at) => at > pausedAtMs + 100 && at < pausedAtMs + 60_000)).toEqual([]);
    expect(results.map(({ rows }) => rows.length)).toEqual([20, 20, 20]);
  });

  test('have separate slots if they run different flows, even if node ids are equal', async () => {
    const results = await runThree(', concurrency: 4', () => ({ http: () => ({ afterMs: 100 }) }));
    for (const { waitedMs } of results) expect(waitedMs).toBeCloseTo(500, -2);
  });

  test('continue if one run is stopped', async () => {
    const stop = actAfter(1000, ({ phase }) => phase.advance('stopped'));
    const results = await runThree(', rate: 10/s', (name) => (name === 'b' ? { started: stop } : {}));
    expect(results.map(({ rows }) => rows.length)).toEqual([20, expect.any(Number), 20]);
    const [, stopped] = results;
    expect(stopped?.rows.length).toBeLessThan(5);
    expect(Math.max(...times(stopped?.requests ?? []))).toBeLessThanOrEqual(1000);
    // The other runs use the part of the rate that the stopped run no longer needs.
    expect(Math.max(...results.flatMap(({ requests }) => times(requests)))).toBeLessThan(4500);
  });

  test('continue if one run ends early', async () => {
    const finish = actAfter(1000, ({ phase }) => phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' }));
    const results = await runThree(', rate: 10/s', (name) => (name === 'b' ? { started: finish } : {}));
    expect(results.map(({ ending }) => ending)).toEqual(['complete', 'interrupted', 'complete']);
  });
});

test('a stopped run aborts its own requests, but not the requests of other runs on the same connections', async () => {
  const open = new Map<string, ServerResponse[]>(names.map((name) => [name, []]));
  const closed: string[] = [];
  const server = await httpServer((request, response) => {
    const name = request.path.split('/')[1] as string;
    open.get(name)?.push(response);
    response.on('close', () => response.writableEnded || closed.push(name));
    return once(response, 'close');
  });
  const clock = createClock();
  const gates = new Gates(clock);
  const options = { environment: {}, userAgent: 'automate/test', now: () => performance.now(), wallNow: () => Date.now() };
  const routes = new Routes(options);
  const runs = new Map<string, Run>();
  const results = names.map((name) => {
    const transport = createTransport(options, routes);
    const httpPort = createHttp({
      ...{ transport, secrets: new Map(), allowHttp: true, now: clock.now, wallNow: clock.wallNow },
      ...{ used: () => undefined, secret: () => undefined, files: new RunFiles({ folder: undefined }) },
    });
    const started: FlowOptions['started'] = (run) => void runs.set(name, run);
    return runFlow(flow(name, '', server.origin), numberedRecords(4), { clock, gates, httpPort, started, allowHttp: true });
  });
  while ([...open.values()].some((responses) => responses.length < 4)) await clock.nextTurn();

  runs.get('b')?.phase.advance('stopped');
  expect((await results[1])?.rows).toEqual([]);
  while (closed.length < 4) await clock.nextTurn();
  for (const name of ['a', 'c']) for (const response of open.get(name) ?? []) json(response, {});

  const [a, , c] = await Promise.all(results);
  expect([a?.rows.length, c?.rows.length]).toEqual([4, 4]);
  expect(closed).toEqual(['b', 'b', 'b', 'b']);
});
