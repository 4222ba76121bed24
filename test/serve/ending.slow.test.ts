import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { askedServer, askingFlow, idRows } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { pageSession } from '../helpers/page-session.ts';
import { runThat, startRunOf } from '../helpers/served-runs.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

/** Starts an upstream server that responds only when `answer` is called. `asked` resolves when this many requests have arrived. */
async function heldUpstream() {
  let answer = () => {};
  const answering = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { origin, requests } = await httpServer(async (_request, response) => {
    await answering;
    json(response, { name: 'late' });
  });
  const asked = (count: number) => expect.poll(() => requests.length).toBeGreaterThanOrEqual(count);
  return { origin, asked, answer };
}

/** Starts to download a file. The rest is read only on demand. */
async function slowDownload({ address }: Serving, key: string, path: string) {
  const { hostname, port, host } = new URL(address);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  let bytes = 0;
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    head ||= chunk.toString('latin1');
    bytes += chunk.length;
    if (bytes === chunk.length) socket.pause();
  });
  await new Promise((resolve) => socket.once('data', resolve));
  return {
    async rest(): Promise<{ readonly found: number; readonly expected: number }> {
      const ended = new Promise((resolve) => socket.once('close', resolve));
      socket.resume();
      await ended;
      return { found: bytes - head.indexOf('\r\n\r\n') - 4, expected: Number(/content-length: (\d+)/i.exec(head)?.[1]) };
    },
  };
}

async function secondsTo(
  end: Promise<{ readonly code: number | null }>,
): Promise<{ readonly code: number | null; readonly seconds: number }> {
  const startMs = performance.now();
  const { code } = await end;
  return { code, seconds: (performance.now() - startMs) / 1000 };
}

test("SIGTERM makes the server finish downloads, tests and calls, and send waiting clients the run's state", async () => {
  const { origin, asked, answer } = await heldUpstream();
  const note = 'x'.repeat(300);
  const server = await serving({
    ask: askingFlow(origin),
    set: `nodes: [{ type: set, fields: { note: "${note} {{id}}" } }]\n`,
  });
  const key = server.key({ scopes: ['run', 'test'] });
  const headers = { 'content-type': 'text/csv', prefer: 'wait=30' };
  const run = (await (await server.send('/v1/flows/set/runs', { key, method: 'POST', body: idRows(60_000), headers })).json()) as {
    links: { output: string };
  };
  const download = await slowDownload(server, key, run.links.output);
  const tested = server.send('/v1/flows/ask/tests', { key, ...posting({ record: { id: 1 } }) });
  const waiting = startRunOf(server, key, idRows(1), { prefer: 'wait=20' });
  await asked(2);
  const running = async () => ((await (await server.send('/v1/runs?state=running', { key })).json()) as { runs: [] }).runs.length;
  await expect.poll(running).toBe(1);
  const ended = secondsTo(server.end());
  expect((await waiting).state).toMatch(/running|stopping/);
  answer();
  expect((await tested).status).toBe(200);
  const { found, expected } = await download.rest();
  expect(expected).toBeGreaterThan(18_000_000);
  expect(found).toBe(expected);
  expect((await ended).code).toBe(0);
});

test('SIGTERM makes the server abort requests that take longer than --grace', async () => {
  const { origin, asked } = await heldUpstream();
  const server = await serving({ ask: askingFlow(origin) }, { args: ['--grace', '2s'] });
  const key = server.key({ scopes: ['run', 'test'] });
  const call = server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1 }) });
  const tested = server.send('/v1/flows/ask/tests', { key, ...posting({ record: { id: 1 } }) }).catch(() => 'cut off');
  const run = await startRunOf(server, key, idRows(3));
  await runThat(server, key, run, ({ state }) => state === 'running');
  await asked(5);
  const { code, seconds } = await secondsTo(server.end());
  expect(code).toBe(0);
  // Without --grace, it would be 30 s.
  expect(seconds).toBeLessThan(25);
  expect([(await call).status, await tested]).toEqual([504, 'cut off']);
  const next = await serving({ ask: askingFlow((await askedServer()).origin) }, { place: server.place });
  await runThat(next, key, run, ({ state }) => state !== 'queued');
});

test('SIGTERM makes the server wait for a webhook for at most the time in --grace', async () => {
  const { origin } = await askedServer();
  const { origin: hook, requests } = await httpServer((_request, _response) => {});
  const place = await vaultPlace();
  const server = await serving({ ask: askingFlow(origin) }, { place, args: ['--grace', '2s'], env: place.env });
  await place.automate(['webhooks', 'add', 'ops', '--url', hook], { env: place.env });
  await startRunOf(server, server.key(), idRows(3), { prefer: 'wait=30' });
  await expect.poll(() => requests.length).toBe(1);
  const { code, seconds } = await secondsTo(server.end());
  expect([code, seconds < 25]).toEqual([0, true]);
  expect(server.said()).not.toContain('database');
});

test('SIGTERM makes the server wait for a call even if a connection was saved during the call', async () => {
  const { origin, asked, answer } = await heldUpstream();
  const server = await serving({ ask: askingFlow(origin) });
  const ask = await pageSession(server);
  expect((await ask('/ui/connections', 'POST', { type: 'http', name: 'crm', url: origin, auth: { type: 'none' } })).status).toBe(201);
  const called = server.send('/v1/flows/ask/calls', { key: server.key({ scopes: ['run'] }), ...posting({ id: 1 }) });
  await asked(1);
  const ended = server.end();
  answer();
  expect((await called).status).toBe(200);
  expect((await ended).code).toBe(0);
});
