import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { idRows } from '../helpers/asking.ts';
import { posting, type Serving, serving } from '../helpers/serving.ts';

const flow = `nodes: [{ type: set, fields: { note: "{{id}} ${'is a long note, '.repeat(60)}" } }]\n`;

/** Opens a connection that sends a string but reads nothing until it is resumed. */
async function connection({ address }: Serving, text = ''): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(text);
  return socket;
}

function head({ address }: Serving, key: string, route: string, ...headers: readonly string[]): string {
  return `${[`${route} HTTP/1.1`, `Host: ${new URL(address).host}`, `Authorization: Bearer ${key}`, ...headers].join('\r\n')}\r\n\r\n`;
}

/** Returns the first line that a connection receives. */
async function statusLine(socket: Socket): Promise<string> {
  for await (const chunk of socket) return String(chunk).split('\r\n')[0] as string;
  return '';
}

async function call({ send }: Serving, key: string): Promise<number> {
  return (await send('/v1/flows/a/calls', { key, ...posting({ id: 1 }) })).status;
}

async function finishedRun({ send }: Serving, key: string, count: number): Promise<{ id: string; state: string }> {
  const headers = { 'content-type': 'text/csv', prefer: 'wait=60' };
  const answer = await send('/v1/flows/a/runs', { key, method: 'POST', body: idRows(count), headers });
  return (await answer.json()) as { id: string; state: string };
}

/** Returns the resident memory of the server in MB. */
function memoryOf({ place }: Serving): number {
  const { pid } = JSON.parse(readFileSync(place.path('.automate/serve.lock'), 'utf8')) as { pid: number };
  const [, kB] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kB) / 1000;
}

test('automate serve still responds to a client that sends 50 MB before it reads anything', async () => {
  const server = await serving({ a: flow });
  const key = server.key();
  const body = Buffer.from(idRows(6_500_000));
  expect(body.length).toBeGreaterThan(50_000_000);
  const socket = await connection(
    server,
    head(server, key, 'POST /v1/flows/a/runs?limit=10', 'Content-Type: text/csv', `Content-Length: ${body.length}`),
  );
  await new Promise((resolve) => socket.write(body, resolve));
  expect(await statusLine(socket)).toBe('HTTP/1.1 202 Accepted');
});

test('automate serve needs little memory for clients that never read their responses, and continues other work', async () => {
  const server = await serving({ a: flow });
  const key = server.key();
  const { id, state } = await finishedRun(server, key, 20_000);
  expect(state).toBe('finished');
  const before = memoryOf(server);
  // Each client requests the output, which has 20 MB.
  for (let client = 0; client < 20; client++) await connection(server, head(server, key, `GET /v1/runs/${id}/output`));
  expect((await finishedRun(server, key, 1000)).state).toBe('finished');
  expect(await call(server, key)).toBe(200);
  expect(memoryOf(server) - before).toBeLessThan(100);
  expect((await server.end()).code).toBe(0);
});

test('automate serve is not affected by 1,000 idle connections', async () => {
  const server = await serving({ a: flow });
  const key = server.key();
  await Promise.all(Array.from({ length: 1000 }, () => connection(server)));
  expect(await call(server, key)).toBe(200);
  expect((await finishedRun(server, key, 100)).state).toBe('finished');
  expect((await server.end()).code).toBe(0);
});

test('automate serve deletes the files of an incomplete upload', async () => {
  const server = await serving({ a: flow });
  const key = server.key({ scopes: ['run', 'read'] });
  const socket = await connection(
    server,
    head(server, key, 'POST /v1/flows/a/runs', 'Content-Type: text/csv', 'Content-Length: 1000', 'Expect: 100-continue'),
  );
  expect(await statusLine(socket)).toBe('HTTP/1.1 100 Continue');
  socket.destroy();
  await expect.poll(() => readdirSync(server.place.path('.automate/serve/runs'))).toEqual([]);
  expect(await (await server.send('/v1/runs', { key })).json()).toEqual({ runs: [], next_cursor: null });
});
