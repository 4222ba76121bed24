import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { httpServer } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { rawServer, unusedPort } from '../helpers/raw-server.ts';
import { createSender, textOf } from './sending.ts';

const certificates = makeCertificates();

describe('an HTTP proxy', () => {
  test.each(['HTTP_PROXY', 'http_proxy'])('that is set in %s gets each request for an http URL, with the whole URL', async (name) => {
    const server = await httpServer(({ path, headers }, response) => response.end(`${headers.host} ${path}`));
    const proxy = await proxyServer(server.port);
    const { get } = createSender({ environment: { [name]: proxy.url } });
    for (let i = 0; i < 3; i++) expect(textOf(await get('http://api.example.test/a?b=1'))).toBe('api.example.test /a?b=1');
    expect(proxy.seen).toEqual(Array(3).fill('GET http://api.example.test/a?b=1'));
  });

  test('that is set in ALL_PROXY is not used', async () => {
    const server = await httpServer((_, response) => response.end('direct'));
    const proxy = await proxyServer(server.port);
    const { get } = createSender({ environment: { ALL_PROXY: proxy.url, all_proxy: proxy.url } });
    expect(textOf(await get(`${server.origin}/a`))).toBe('direct');
    expect(proxy.seen).toEqual([]);
  });

  test.each(['HTTPS_PROXY', 'https_proxy'])('that is set in %s is used for https URLs, through a tunnel', async (name) => {
    const server = await httpServer(({ path, body }, response) => response.end(`${path} ${body}`), certificates.good);
    const proxy = await proxyServer(server.port);
    const { get } = createSender({ environment: { [name]: proxy.url }, cacert: certificates.authority });
    for (let i = 0; i < 3; i++) expect(textOf(await get('https://api.example.test/a', { method: 'POST', body: 'b' }))).toBe('/a b');
    expect(proxy.seen).toEqual(['CONNECT api.example.test:443']);
    expect(server.connections()).toBe(1);
  });

  test("does not prevent automate from checking the server's certificate through the tunnel", async () => {
    const server = await httpServer(undefined, certificates.wrongHost);
    const proxy = await proxyServer(server.port);
    const { failure } = createSender({ environment: { HTTPS_PROXY: proxy.url }, cacert: certificates.authority });
    expect(await failure('https://api.example.test/')).toMatchObject({
      kind: 'network',
      retryable: false,
      message: expect.stringMatching(/^the TLS connection to https:\/\/api\.example\.test failed: .*ERR_TLS_CERT_ALTNAME_INVALID/s),
    });
    expect(server.requests).toEqual([]);
  });

  test.each(['https', 'http'])('that is set for the wrong scheme is not used for a URL with the scheme %s', async (scheme) => {
    const server = await httpServer(undefined, scheme === 'https' ? certificates.good : undefined);
    const proxy = await proxyServer(server.port);
    const environment = { [scheme === 'https' ? 'HTTP_PROXY' : 'HTTPS_PROXY']: proxy.url };
    await createSender({ environment, cacert: certificates.authority }).get(server.origin);
    expect(proxy.seen).toEqual([]);
  });

  test('gets the user name and password in its URL, and no other server gets them', async () => {
    const server = await httpServer();
    const proxy = await proxyServer(server.port);
    const url = proxy.url.replace('//', '//us%40er:p%3Aw@');
    await createSender({ environment: { HTTP_PROXY: url } }).get('http://api.example.test/');
    await createSender({ environment: { HTTP_PROXY: proxy.url.replace('//', '//token@') } }).get('http://api.example.test/');
    const basic = (pair: string) => `GET http://api.example.test/ Basic ${Buffer.from(pair).toString('base64')}`;
    await createSender({ environment: { HTTP_PROXY: proxy.url.replace('//', '//u:100%@') } }).get('http://api.example.test/');
    expect(proxy.seen).toEqual([basic('us@er:p:w'), basic('token:'), basic('u:100%')]);
    expect(JSON.stringify(server.requests)).not.toContain('Basic');
  });

  test('is taken from the lower-case variable if both are set; an empty variable means no proxy', async () => {
    const server = await httpServer();
    const [lower, upper] = [await proxyServer(server.port), await proxyServer(server.port)];
    await createSender({ environment: { http_proxy: lower.url, HTTP_PROXY: upper.url } }).get(server.origin);
    expect([lower.seen.length, upper.seen.length]).toEqual([1, 0]);
    await createSender({ environment: { http_proxy: '', HTTP_PROXY: upper.url } }).get(server.origin);
    await createSender({ environment: { HTTP_PROXY: '', HTTPS_PROXY: upper.url } }).get(server.origin);
    expect([lower.seen.length, upper.seen.length]).toEqual([1, 0]);
    expect(server.requests).toHaveLength(3);
  });

  test('can be set without a scheme, and is then used over http', async () => {
    const server = await httpServer();
    const proxy = await proxyServer(server.port);
    await createSender({ environment: { HTTP_PROXY: proxy.url.replace('http://', '') } }).get('http://api.example.test/');
    expect(proxy.seen).toHaveLength(1);
  });

  test.each(['ftp://proxy.example.test', 'http://', '::'])(
    'is refused at the start if it is not a URL, without showing its password: %s',
    (url) => {
      expect(() => createSender({ environment: { https_proxy: url } })).toThrow(/^https_proxy: expected the URL of a proxy/);
      expect(() => createSender({ environment: { https_proxy: 'bogus://user:canary@x' } })).not.toThrow(/canary/);
    },
  );

  test.each([407, 403, 429, 502])('is mentioned in the failure if it refuses with status %i', async (status) => {
    const proxy = await proxyServer(1, status);
    const { failure } = createSender({ environment: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url } });
    expect(await failure('https://api.example.test/')).toMatchObject({
      kind: 'network',
      retryable: status === 429 || status === 502,
      sent: false,
      message: `the proxy ${new URL(proxy.url).host} refused the connection to https://api.example.test with status ${status}`,
    });
  });

  test('is mentioned in the failure if it closes the connection instead of opening a tunnel', async () => {
    const proxy = await rawServer((socket) => socket.end());
    const { failure } = createSender({ environment: { HTTPS_PROXY: proxy.origin } });
    expect(await failure('https://api.example.test/', { timeoutMs: 2000 })).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      message: `https://api.example.test: the connection was closed before the answer was complete, through the proxy 127.0.0.1:${proxy.port}`,
    });
    expect(proxy.connections()).toBe(1);
  });

  test('is mentioned in the failure for http URLs if it requires a password', async () => {
    const proxy = await proxyServer(1, 407);
    const { failure } = createSender({ environment: { HTTP_PROXY: proxy.url } });
    expect(await failure('http://api.example.test/')).toMatchObject({
      kind: 'network',
      retryable: false,
      message: `the proxy ${new URL(proxy.url).host} refused the connection to http://api.example.test with status 407`,
    });
  });

  test('is mentioned in the failure if it cannot be reached', async () => {
    const port = await unusedPort();
    const environment = { HTTP_PROXY: `http://u:canary@127.0.0.1:${port}`, HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const { failure } = createSender({ environment });
    for (const origin of ['http://api.example.test', 'https://api.example.test']) {
      expect(await failure(origin)).toMatchObject({
        kind: 'network',
        retryable: true,
        sent: false,
        message: `${origin}: the connection was refused (ECONNREFUSED), through the proxy 127.0.0.1:${port}`,
      });
    }
  });

  test('that never responds makes the request fail after its timeout', async () => {
    const silent = createServer().on('connect', () => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => {
      silent.close();
      silent.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { failure } = createSender({ environment: { HTTPS_PROXY: url } });
    expect(await failure('https://api.example.test/', { timeoutMs: 50 })).toMatchObject({ kind: 'timeout', sent: false });
  });
});

describe('the environment variable NO_PROXY', () => {
  test.each([
    ['127.0.0.1', true],
    ['*', true],
    ['example.com, 127.0.0.1', true],
    ['example.com 127.0.0.1:PORT', true],
    ['127.0.0.0/8', true],
    ['127.0.0.1:1', false],
    ['0.0.1', false],
    ['10.0.0.0/8', false],
    ['', false],
  ])('with the value "%s" excludes the server\'s address from the proxy: %s', async (list, isDirect) => {
    const server = await httpServer();
    const proxy = await proxyServer(server.port);
    const environment = { HTTP_PROXY: proxy.url, NO_PROXY: list.replace('PORT', String(server.port)) };
    await createSender({ environment }).get(server.origin);
    expect(proxy.seen).toHaveLength(isDirect ? 0 : 1);
  });

  test.each([
    ['localhost', true],
    ['LOCALHOST', true],
    ['.localhost', true],
    ['*.localhost', true],
    ['host', false],
  ])('with the value "%s" excludes the host name localhost from the proxy: %s', async (list, isDirect) => {
    const server = await httpServer();
    const proxy = await proxyServer(server.port);
    await createSender({ environment: { http_proxy: proxy.url, no_proxy: list } }).get(`http://localhost:${server.port}/`);
    expect(proxy.seen).toHaveLength(isDirect ? 0 : 1);
  });
});

describe('a host from a record that is reached through a proxy', () => {
  const hostFromData = { allowHosts: [] };

  test('is refused if its address can be looked up locally and is internal', async () => {
    const server = await httpServer();
    const proxy = await proxyServer(server.port);
    const { failure, get } = createSender({ environment: { HTTP_PROXY: proxy.url } });
    for (const url of ['http://169.254.169.254/', 'http://10.0.0.1/', 'http://localhost/']) {
      expect(await failure(url, { hostFromData })).toMatchObject({ kind: 'request', sent: false });
    }
    expect(proxy.seen).toEqual([]);
    // A name that cannot be resolved locally is left to the proxy, which may be able to resolve it.
    expect((await get('http://nowhere.invalid/', { hostFromData })).status).toBe(200);
    await get('http://localhost/', { hostFromData: { allowHosts: ['localhost'] } });
    expect(proxy.seen).toHaveLength(2);
  });
});
