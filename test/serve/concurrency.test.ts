import { describe, expect, test } from 'vitest';
import { askingFlow, idRows } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { pageSession } from '../helpers/page-session.ts';
import { csvRun, runThat, startRunOf } from '../helpers/served-runs.ts';
import { posting, type Serving, servingHere as serving, serving as servingAlone } from '../helpers/serving.ts';

/** Starts a server that responds after 20 ms and records the highest number of simultaneous requests. */
async function countingServer() {
  const inFlight = { now: 0, max: 0 };
  const server = await httpServer(async ({ path }, response) => {
    inFlight.max = Math.max(inFlight.max, ++inFlight.now);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inFlight.now--;
    json(response, { name: `name${path}` });
  });
  return { ...server, inFlight };
}

const call = ({ send }: Serving, key: string, id: number, flow = 'ask') =>
  send(`/v1/flows/${flow}/calls`, { key, ...posting({ id }) }).then((answer) => answer.status);

const saved = (origin: string) => ['connections', 'add', 'http', 'crm', '--base-url', origin, '--concurrency', '2'];
const connected = 'nodes: [{ id: ask, type: http, connection: crm, url: "/{{id}}", map: { name: name } }]\n';

describe('the concurrency limit of a server', () => {
  test('applies to all runs, calls and tests of a flow together if a node sets it', async () => {
    const { origin, inFlight } = await countingServer();
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 3') });
    const key = server.key({ scopes: ['run', 'test'] });
    const runs = await Promise.all([1, 2, 3].map(() => startRunOf(server, key, idRows(20))));
    const calls = [1, 2, 3, 4, 5, 6].map((id) => call(server, key, id));
    const tested = server.send('/v1/flows/ask/tests', { key, ...posting({ record: { id: 7 } }) });
    expect(await Promise.all(calls)).toEqual(Array(6).fill(200));
    expect((await tested).status).toBe(200);
    for (const run of runs) {
      const { state, counts } = await runThat(server, key, run, (now) => now.state === 'finished');
      expect([state, counts.written]).toEqual(['finished', 20]);
    }
    expect(inFlight.max).toBe(3);
  });

  test('applies to all flows and tests that use a saved connection together', async () => {
    const { origin, inFlight } = await countingServer();
    const place = await workplace();
    await place.automate(saved(origin));
    const server = await serving({ ask: connected, other: connected }, { place });
    const key = server.key();
    const run = await startRunOf(server, key, idRows(20));
    const other = (await (await server.send('/v1/flows/other/runs', { key, ...csvRun(idRows(20)) })).json()) as typeof run;
    const calls = [1, 2, 3, 4].flatMap((id) => [call(server, key, id), call(server, key, id, 'other')]);
    const ask = await pageSession(server);
    const tests = [1, 2, 3].map(async () => (await ask('/ui/connections/crm/tests', 'POST')).json());
    expect(await Promise.all(calls)).toEqual(Array(8).fill(200));
    expect(await Promise.all(tests)).toEqual(Array(3).fill(expect.objectContaining({ ok: true })));
    for (const one of [run, other]) await runThat(server, key, one, ({ state }) => state === 'finished');
    expect(inFlight.max).toBe(2);
  });

  test('allows 40 calls at the same time without a Node.js warning', async () => {
    const { origin } = await countingServer();
    const server = await servingAlone({ ask: askingFlow(origin) });
    const key = server.key();
    const calls = Array.from({ length: 40 }, (_, id) => call(server, key, id));
    expect(await Promise.all(calls)).toEqual(Array(40).fill(200));
    const { stderr } = await server.end();
    expect(stderr).not.toContain('Warning');
  });
  test('does not count the calls of a stopped run', async () => {
    const { origin, inFlight } = await countingServer();
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key();
    const run = await startRunOf(server, key, idRows(5000));
    await runThat(server, key, run, ({ counts }) => counts.written > 0);
    expect(await call(server, key, 1)).toBe(200);
    await server.send(`/v1/runs/${run.id}/stop`, { key, method: 'POST' });
    await runThat(server, key, run, ({ state }) => state === 'stopped');
    expect(await call(server, key, 2)).toBe(200);
    expect(inFlight.max).toBe(1);
  });
});
