import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { serveMetrics } from '../../src/report/metrics-server.ts';

const loopback = { host: '127.0.0.1', port: 0 };
const page = { type: 'text/plain', text: async () => 'figures\n' };

async function served(pages = new Map([['/metrics', page]])) {
  const server = await serveMetrics(loopback, pages);
  onTestFinished(server.close);
  return server;
}

test('the metrics server responds to GET and HEAD for its pages, and to nothing else', async () => {
  const { url } = await served();
  const answer = await fetch(`${url}/metrics?a=1`);
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([200, 'text/plain', 'figures\n']);
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/metrics/`)).status).toBe(404);
  const post = await fetch(`${url}/metrics`, { method: 'POST', body: 'a' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test.each(['__proto__', 'constructor', '*'])('the metrics server responds to a request for %s with 404', async (path) => {
  const { port } = new URL((await served()).url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.end(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[04] /);
});

/** Returns the status of the response to a request with this Host header. */
async function statusFor(url: string, host: string): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
  socket.end(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return /^HTTP\/1\.1 (\d+) /.exec(await text(socket))?.[1] ?? '';
}

test.each([
  ['attacker.example', '421'],
  ['127.0.0.1.attacker.example', '421'],
  ['192.168.1.1:9464', '421'],
  ['a b', '421'],
  ['', '421'],
  ['localhost', '200'],
  ['LOCALHOST:9464', '200'],
  ['127.0.0.1:8080', '200'],
  ['[::1]:9464', '200'],
])('a metrics server on loopback responds to the Host %j with %s, to prevent DNS rebinding', async (host, status) => {
  expect(await statusFor((await served()).url, host)).toBe(status);
});

test('a metrics server that other machines can reach responds to any Host', async () => {
  const server = await serveMetrics({ host: '0.0.0.0', port: 0 }, new Map([['/metrics', page]]));
  onTestFinished(server.close);
  expect(await statusFor(server.url.replace('0.0.0.0', '127.0.0.1'), 'automate.example:9464')).toBe('200');
});
test('the metrics server responds with 503 if the metrics cannot be collected', async () => {
  const { url } = await served(new Map([['/metrics', { ...page, text: () => Promise.reject(new Error('secret')) }]]));
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([503, 'the metrics cannot be read now\n']);
});

test('the metrics server refuses a port that is in use, and an address that does not belong to this machine', async () => {
  const port = Number(new URL((await served()).url).port);
  const taken = serveMetrics({ host: '127.0.0.1', port }, new Map());
  await expect(taken).rejects.toMatchObject({ kind: 'output-exists', code: 'port-taken' });
  const foreign = serveMetrics({ host: '192.0.2.1', port: 0 }, new Map());
  await expect(foreign).rejects.toMatchObject({ kind: 'usage', details: { option: 'metrics' } });
});

test('the metrics server closes keep-alive connections when it stops', async () => {
  const server = await serveMetrics(loopback, new Map([['/metrics', page]]));
  await (await fetch(`${server.url}/metrics`)).text();
  await server.close();
  await expect(fetch(`${server.url}/metrics`)).rejects.toThrow();
});

test('the metrics server prints an IPv6 address in brackets', async () => {
  const server = await serveMetrics({ host: '::1', port: 0 }, new Map([['/metrics', page]]));
  onTestFinished(server.close);
  expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
});
