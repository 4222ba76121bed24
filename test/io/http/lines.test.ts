import { connect, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { createLines } from '../../../src/io/http/lines.ts';
import { makeCertificates } from '../../helpers/certificates.ts';
import { httpServer, json } from '../../helpers/http-server.ts';
import { proxyServer } from '../../helpers/proxy-server.ts';
import { rawServer } from '../../helpers/raw-server.ts';
import { createSender } from './sending.ts';

const certificates = makeCertificates();

const atOnce = 8;

/** Sends so many requests, eight at a time, each as soon as an answer is there. */
async function sendAll(count: number, send: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await send();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

test('there are no more connections than requests at once, and they are used again', async () => {
  const server = await httpServer((_request, response) => json(response, {}));
  const { get } = createSender();
  await sendAll(200, () => get(server.origin));
  expect([server.requests.length, server.connections()]).toEqual([200, atOnce]);
});

test.each(['http', 'https'])('nor are there through a proxy: %s', async (scheme) => {
  const server = await httpServer((_request, response) => json(response, {}), scheme === 'https' ? certificates.good : undefined);
  const proxy = await proxyServer(server.port);
  const environment = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
  const { get } = createSender({ environment, cacert: certificates.authority });
  await sendAll(200, () => get(`${scheme}://api.example.test/`));
  expect([server.requests.length, proxy.connections()]).toEqual([200, atOnce]);
});

test('a connection that the server ends with its answer is made anew, and nothing is sent twice', async () => {
  const server = await httpServer((_request, response) => response.setHeader('connection', 'close').end('{}'));
  const { get } = createSender();
  await sendAll(50, () => get(server.origin));
  expect([server.requests.length, server.connections()]).toEqual([50, 50]);
});

test('one that the server has ended while it was idle is made anew', async () => {
  const server = await httpServer((_request, response) => json(response, {}));
  const { get } = createSender();
  for (let request = 1; request <= 20; request++) {
    await get(server.origin);
    server.closeIdle();
  }
  expect(server.requests.length).toBe(20);
});

test.each(['directly', 'through a proxy'])('for a request that is given up no other connection is made: %s', async (way) => {
  const server = await httpServer((_request, response) => json(response, {}));
  const proxy = await proxyServer(server.port);
  const { failure } = createSender({ environment: way === 'directly' ? {} : { HTTP_PROXY: proxy.url } });
  const url = way === 'directly' ? server.origin : 'http://api.example.test/';
  for (let request = 1; request <= 5; request++) await failure(url, { maxBodyBytes: 1 });
  expect([server.requests.length, (way === 'directly' ? server : proxy).connections()]).toEqual([5, 5]);
});

test('a request that is given up while its connection is made is not sent when that is there', async () => {
  const server = await httpServer((_request, response) => json(response, {}), certificates.good);
  let begun: { readonly socket: Socket; readonly hello: string } | undefined;
  let onward: Socket | undefined;
  const relay = await rawServer((socket, bytes) => {
    if (onward) onward.write(bytes, 'latin1');
    else begun = { socket, hello: bytes };
  });
  const { failure } = createSender({ cacert: certificates.authority });
  const { message } = await failure(relay.origin.replace('http:', 'https:'), { timeoutMs: 20 });
  expect(message).toBe('no response within 20 ms: the connection was not made');
  const { socket, hello } = await vi.waitUntil(() => begun);
  onward = connect(server.port, '127.0.0.1');
  onward.pipe(socket);
  onward.write(hello, 'latin1');
  await vi.waitUntil(() => socket.destroyed || socket.readableEnded || server.requests.length > 0);
  expect(server.requests).toEqual([]);
});

/** Lines that lead nowhere: what they are asked is answered when the test says so. */
function fakeLines() {
  const answers: (() => void)[] = [];
  const failures: (() => void)[] = [];
  let opened = 0;
  let closed = 0;
  const lines = createLines(() => {
    opened++;
    return {
      dispatch(_options: unknown, handler: { onResponseEnd(): void; onResponseError(): void }) {
        answers.push(() => handler.onResponseEnd());
        failures.push(() => handler.onResponseError());
      },
      destroy: async () => void closed++,
    } as never;
  });
  const send = (origin: string) => lines.dispatch({ origin, path: '/', method: 'GET' }, {});
  return { send, answers, failures, counts: () => ({ opened, closed }) };
}

test('as many stay idle as were busy at once', () => {
  const { send, answers, counts } = fakeLines();
  for (let line = 1; line <= 1000; line++) send('http://a');
  for (const answer of answers) answer();
  for (let line = 1; line <= 1000; line++) send('http://a');
  expect(counts()).toEqual({ opened: 1000, closed: 0 });
});

test('of a thousand origins, one after another, the last ones stay', () => {
  const { send, answers, counts } = fakeLines();
  for (let origin = 1; origin <= 1000; origin++) {
    send(`http://${origin}`);
    answers.at(-1)?.();
  }
  expect(counts()).toEqual({ opened: 1000, closed: 1000 - 256 });
  send('http://1000');
  send('http://745');
  expect(counts()).toEqual({ opened: 1000, closed: 1000 - 256 });
  send('http://744');
  expect(counts().opened).toBe(1001);
});

test('one on which something went wrong is not used again', () => {
  const { send, failures, counts } = fakeLines();
  send('http://a');
  failures[0]?.();
  send('http://a');
  expect(counts()).toEqual({ opened: 2, closed: 1 });
});
