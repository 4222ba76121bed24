import { mkdir, readdir, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/serve/listening.ts';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, csvOf, idRows } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { posting, type Serving, servingHere as serving, serving as servingAlone } from '../helpers/serving.ts';

const body = (text: string): RequestInit => ({ method: 'POST', body: text, headers: { 'content-type': 'text/csv' } });

async function started({ send }: Serving, key: string, text: string): Promise<RunShape> {
  return (await (await send('/v1/flows/ask/runs', { key, ...body(text) })).json()) as RunShape;
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

describe('a server that stops or crashes', () => {
  test('finishes calls and saves runs at SIGTERM, and completes the runs after its next start', async () => {
    const upstream = await askedServer(20);
    const flow = askingFlow(upstream.origin, ', concurrency: 2');
    const server = await serving({ ask: flow }, { args: ['--max-runs', '1'] });
    const { place } = server;
    const key = server.key();
    const run = await started(server, key, csvOf(80));
    const queued = await started(server, key, csvOf(5));
    await until(server, key, run, ({ counts }) => counts.read > 5);
    const events = await server.send(run.links.events, { key });
    const call = server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1000 }) });
    await until(server, key, run, () => upstream.calls.has('1000'));
    const ended = server.end();
    expect((await call).status).toBe(200);
    expect((await ended).code).toBe(0);
    await events.text().catch(() => '');
    const next = await serving({}, { place, args: ['--max-runs', '1'] });
    await until(next, key, queued, finished);
    const whole = await until(next, key, run, finished);
    expect(whole.counts).toMatchObject({ read: 80, failed: 11 });
    expect(whole.credits).toBe(80);
    expect(whole.failures).toMatchObject([{ status: 404, count: 11 }]);
    await place.write('rows.csv', csvOf(80));
    upstream.forget();
    await place.automate(['run', 'flows/ask.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(await (await next.send(run.links.output, { key })).text()).toBe(await place.read('out.csv'));
    expect(await (await next.send(run.links.errors, { key })).text()).toBe(await place.read('out.errors.csv'));
  });

  test('loses nothing at SIGKILL, and sends only requests that were in progress twice', async () => {
    const upstream = await askedServer(10);
    const server = await servingAlone({ ask: askingFlow(upstream.origin, ', concurrency: 4') });
    const { place } = server;
    const key = server.key();
    const run = await started(server, key, idRows(200));
    await until(server, key, run, ({ counts }) => counts.read > 20);
    await server.end('SIGKILL');
    const next = await serving({}, { place });
    const whole = await until(next, key, run, finished);
    expect(whole.counts).toMatchObject({ read: 200, written: 172, failed: 28 });
    const text = await (await next.send(run.links.output, { key })).text();
    expect(
      text
        .split('\n')
        .slice(1, -1)
        .map((line) => Number(line.split(',')[0])),
    ).toEqual(Array.from({ length: 200 }, (_, index) => index + 1).filter((id) => id % 7 !== 0));
    await next.end();
    const { stdout } = await place.automate(['credits', '--json']);
    const sent = [...upstream.calls.values()].reduce((sum, count) => sum + count, 0);
    const { spent } = JSON.parse(stdout) as { spent: number };
    expect(spent).toBeGreaterThanOrEqual(sent);
    expect(spent).toBeLessThanOrEqual(sent + 4);
  });

  test('does not resume a run by itself after three crashes during this run', async () => {
    const { origin } = await askedServer(30);
    let server = await servingAlone({ ask: askingFlow(origin, ', concurrency: 1') });
    const { place } = server;
    const key = server.key();
    const run = await started(server, key, idRows(300));
    for (let crash = 0; crash < 3; crash++) {
      await until(server, key, run, ({ counts }) => counts.read > crash * 3);
      await server.end('SIGKILL');
      server = await servingAlone({}, { place });
    }
    const stopped = await until(server, key, run, ({ state }) => state === 'stopped');
    expect(stopped).toMatchObject({ ending: 'crashed', resumable: true });
    expect((await server.send(`/v1/runs/${run.id}/resume`, { key, method: 'POST' })).status).toBe(202);
    await until(server, key, run, ({ state }) => state === 'running');
  });

  test('does not resume a run by itself after a crash if --no-resume is set', async () => {
    const { origin } = await askedServer(30);
    const server = await servingAlone({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key();
    const run = await started(server, key, idRows(300));
    await until(server, key, run, ({ counts }) => counts.read > 0);
    await server.end('SIGKILL');
    const next = await serving({}, { place: server.place, args: ['--no-resume'] });
    expect(await until(next, key, run, () => true)).toMatchObject({ state: 'stopped', ending: 'crashed', resumable: true });
  });

  test("exits at once at a second signal, with that signal's exit code", async () => {
    const { origin, requests } = await httpServer((_request, response) => void response.on('close', () => undefined));
    const server = await servingAlone({ ask: askingFlow(origin) });
    const key = server.key();
    const run = await started(server, key, idRows(3));
    await until(server, key, run, () => requests.length > 0);
    const first = server.end('SIGTERM');
    await until(server, key, run, ({ state }) => state === 'stopping').catch(() => undefined);
    const second = server.end('SIGTERM');
    expect((await second).code).toBe(143);
    await first;
  });
});

describe('the home folder of a server', () => {
  test('contains only files that the owner alone can read', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const run = await started(server, key, idRows(9));
    await until(server, key, run, finished);
    // While the server runs, it replaces files, so a file could be gone between readdir and stat.
    await server.end('SIGTERM');
    const folder = server.place.path(`.automate/serve/runs/${run.id}`);
    const modes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(`${folder}/${name}`)).mode & 0o777));
    expect(new Set(modes)).toEqual(new Set([0o600]));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('is used by only one server: a second server exits, unless the first is dead', async () => {
    const server = await servingAlone({});
    const second = await server.place.automate(['serve', 'flows', '--port', '0']);
    expect([second.code, second.stderr]).toEqual([73, expect.stringMatching(new RegExp(`process \\d+ at ${server.address}`))]);
    await server.end('SIGKILL');
    await serving({}, { place: server.place });
  });

  test('is used by `automate serve login` to create login links for the page', async () => {
    const server = await serving({});
    const { stdout } = await server.place.automate(['serve', 'login']);
    const [, token] = stdout.trim().split('#');
    const open = () =>
      server
        .send('/ui/session', { ...posting({ token }, { origin: server.address }) })
        .then(async (answer) => [answer.status, await answer.json()]);
    expect(await open()).toEqual([200, { page_token: expect.any(String) }]);
    expect(await open()).toEqual([403, expect.objectContaining({ type: '/problems/session-missing' })]);
    await server.end();
    expect((await server.place.automate(['serve', 'login'])).code).toBe(2);
  });
});

describe('a server address that is reachable from other machines', () => {
  test.each([
    [
      ['--host', '0.0.0.0'],
      ['an API key', 'encryption', '--allow-host'],
    ],
    [
      ['--host', '::', '--behind-proxy'],
      ['an API key', '--allow-host'],
    ],
    [['--host', '0.0.0.0', '--tls-cert', 'a.pem'], ['--tls-key']],
  ])('needs an API key, encryption and a host name: %s', async (args, missing) => {
    const place = await workplace();
    await mkdir(place.path('flows'));
    const { code, stderr } = await place.automate(['serve', 'flows', '--port', '0', ...args]);
    expect(code).toBe(2);
    for (const one of missing) expect(stderr).toContain(one);
  });
});

test('a call in progress is not affected by other clients that disconnect or runs that stop', async () => {
  const { origin, requests, hold } = await askedServer();
  const release = hold();
  const server = await serving({ ask: askingFlow(origin) });
  const key = server.key();
  const run = await started(server, key, idRows(50));
  const gone = new AbortController();
  const left = server.send('/v1/flows/ask/calls', { key, signal: gone.signal, ...posting({ id: 1001 }) }).catch(() => 'gone');
  const stays = server.send('/v1/flows/ask/calls', { key, ...posting({ id: 1002 }) });
  await until(server, key, run, ({ state }) => state === 'running');
  await expect.poll(() => requests.filter(({ path }) => /^\/100[12]$/.test(path))).toHaveLength(2);
  gone.abort();
  await server.send(`/v1/runs/${run.id}/stop`, { key, method: 'POST' });
  expect(await left).toBe('gone');
  release();
  expect((await stays).status).toBe(200);
});

test('the login link contains the host name under which clients reach the server', async () => {
  const place = await workplace();
  await place.automate(['keys', 'create', 'crm']);
  const { said } = await serving({}, { place, args: ['--host', '0.0.0.0', '--behind-proxy', '--allow-host', 'flows.example'] });
  await expect.poll(said).toMatch(/page: https:\/\/flows\.example\/login#\S+\n/);
  expect((await place.automate(['serve', 'login'])).stdout).toMatch(/^https:\/\/flows\.example\/login#\S+\n$/);
  const open = { host: '0.0.0.0', tlsCert: 'cert.pem', tlsKey: 'key.pem' };
  expect(clientAddress({ ...open, allowHost: ['flows.example', 'other.example'] }, 4804)).toBe('https://flows.example:4804');
  expect(clientAddress({ ...open, allowHost: ['flows.example:8443'] }, 4804)).toBe('https://flows.example:8443');
  expect(clientAddress({ ...open, allowHost: ['flows.example'] }, 443)).toBe('https://flows.example');
  expect(clientAddress({ host: '127.0.0.1', allowHost: ['flows.example'] }, 4020)).toBe('http://127.0.0.1:4020');
});
