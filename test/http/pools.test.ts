import { connect, type Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { Pools } from '../../src/http/pools.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { rawServer } from '../helpers/raw-server.ts';
import { createSender, textOf } from './sending.ts';

const certificates = makeCertificates();

const inFlight = 8;

/** Sends `count` requests, eight at a time. */
async function sendAll(count: number, send: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await send();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

describe('the number of HTTP connections', () => {
  test('is at most the number of requests in flight, because connections are reused', async () => {
    const server = await httpServer((_request, response) => json(response, {}));
    const { get } = createSender();
    await sendAll(200, () => get(server.origin));
    expect([server.requests.length, server.connections()]).toEqual([200, inFlight]);
  });

  test('is at most the number of requests in flight even if responses are compressed', async () => {
    const { gzipSync } = await import('node:zlib');
    const body = gzipSync('x'.repeat(100_000));
    const server = await httpServer((_request, response) => response.setHeader('content-encoding', 'gzip').end(body));
    const { get } = createSender();
    await sendAll(100, () => get(server.origin));
    expect([server.requests.length, server.connections()]).toEqual([100, inFlight]);
  });

  test.each(['http', 'https'])('is at most the number of requests in flight even through a proxy: %s', async (scheme) => {
    const server = await httpServer((_request, response) => json(response, {}), scheme === 'https' ? certificates.good : undefined);
    const proxy = await proxyServer(server.port);
    const environment = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
    const { get } = createSender({ environment, cacert: certificates.authority });
    await sendAll(200, () => get(`${scheme}://api.example.test/`));
    expect([server.requests.length, proxy.connections()]).toEqual([200, inFlight]);
  });

  test('grows if the server closes each connection after a response, and no request is sent twice', async () => {
    const server = await httpServer((_request, response) => response.setHeader('connection', 'close').end('{}'));
    const { get } = createSender();
    await sendAll(50, () => get(server.origin));
    expect([server.requests.length, server.connections()]).toEqual([50, 50]);
  });

  test('grows if the server closes idle connections', async () => {
    const server = await httpServer((_request, response) => json(response, {}));
    const { get } = createSender();
    for (let request = 1; request <= 20; request++) {
      await get(server.origin);
      server.closeIdle();
    }
    expect(server.requests.length).toBe(20);
  });

  test.each(['directly', 'through a proxy'])('is one for each request if each request is aborted: %s', async (way) => {
    const server = await httpServer((_request, response) => json(response, {}));
    const proxy = await proxyServer(server.port);
    const { failure } = createSender({ environment: way === 'directly' ? {} : { HTTP_PROXY: proxy.url } });
    const url = way === 'directly' ? server.origin : 'http://api.example.test/';
    for (let request = 1; request <= 5; request++) await failure(url, { maxBodyBytes: 1 });
    expect([server.requests.length, (way === 'directly' ? server : proxy).connections()]).toEqual([5, 5]);
  });
});

test('a request that is aborted while its connection is being opened is not sent later', async () => {
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

describe('a response that belongs to no request', () => {
  const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;

  test('makes automate close the idle connection on which it arrives', async () => {
    const sockets: Socket[] = [];
    const server = await rawServer((socket) => {
      sockets.push(socket);
      socket.write(answer(`own ${sockets.length}`));
    });
    const { get } = createSender();
    expect(textOf(await get(server.origin))).toBe('own 1');
    sockets[0]?.write(answer('extra'));
    await vi.waitUntil(() => sockets[0]?.destroyed);
    expect(textOf(await get(server.origin))).toBe('own 2');
    expect(server.connections()).toBe(2);
  });

  test('makes automate use a new connection for each further request to that origin', async () => {
    const sockets: Socket[] = [];
    const asked: string[] = [];
    const server = await rawServer((socket, request) => {
      sockets.push(socket);
      asked.push(request);
      socket.write(answer(`own ${sockets.length}`));
    });
    const warnings: string[] = [];
    const { get } = createSender({ warn: (message) => void warnings.push(message) });
    await get(server.origin);
    sockets[0]?.write(answer('extra'));
    await vi.waitUntil(() => sockets[0]?.destroyed);
    expect(warnings).toEqual([expect.stringContaining(`${server.origin} sent an answer that was not requested`)]);
    for (let request = 2; request <= 4; request++) expect(textOf(await get(server.origin))).toBe(`own ${request}`);
    expect(server.connections()).toBe(4);
    expect(asked.map((text) => /^connection: (.+)$/im.exec(text)?.[1])).toEqual(['keep-alive', 'close', 'close', 'close']);
  });

  test('is not taken for the next response if it directly follows a response', async () => {
    let requests = 0;
    const server = await rawServer((socket) => socket.write(answer(`own ${++requests}`) + answer('extra')));
    const { get } = createSender();
    const texts: string[] = [];
    for (let request = 1; request <= 50; request++) texts.push(textOf(await get(server.origin)));
    expect(texts).toEqual(texts.map((_text, index) => `own ${index + 1}`));
    expect(server.connections()).toBe(50);
  });
});

describe('the pools of HTTP connections', () => {
  /** Creates pools whose requests stay in flight. */
  function openPools() {
    const opened: string[] = [];
    const closed: string[] = [];
    const destroyed: string[] = [];
    const pools = new Pools((origin) => {
      opened.push(origin);
      return {
        dispatch: () => true,
        close: () => new Promise(() => closed.push(origin)),
        destroy: async () => void destroyed.push(origin),
      } as never;
    });
    const send = (origin: string) => pools.dispatch({ origin, path: '/', method: 'GET' }, {});
    return { pools, send, opened, closed, destroyed };
  }

  test('are kept for the 256 most recently used origins', () => {
    const { send, opened, closed } = openPools();
    for (let origin = 1; origin <= 256; origin++) send(`http://${origin}`);
    send('http://1');
    expect(closed).toEqual([]);
    send('http://257');
    expect(closed).toEqual(['http://2']);
    send('http://1');
    expect(opened).toHaveLength(257);
    send('http://2');
    expect([opened.length, closed]).toEqual([258, ['http://2', 'http://3']]);
  });

  test('end their requests when they are destroyed, even after they were closed', () => {
    const { pools, send, opened, destroyed } = openPools();
    for (let origin = 1; origin <= 300; origin++) send(`http://${origin}`);
    pools.destroy();
    expect(destroyed.sort()).toEqual(opened.sort());
  });
});
