import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { proxyFinder } from '../../src/http/proxy.ts';
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
    const url = 'http://api.invalid/';
    await createSender({ environment: { http_proxy: lower.url, HTTP_PROXY: upper.url } }).get(url);
    expect([lower.seen.length, upper.seen.length]).toEqual([1, 0]);
    for (const environment of [
      { http_proxy: '', HTTP_PROXY: upper.url },
      { HTTP_PROXY: '', HTTPS_PROXY: upper.url },
    ]) {
      expect(await createSender({ environment }).failure(url)).toMatchObject({ kind: 'network' });
    }
    expect([lower.seen.length, upper.seen.length]).toEqual([1, 0]);
    expect(server.requests).toHaveLength(1);
  });

  test.each(['127.0.0.1', '127.1.2.3', '127.1', 'localhost', 'LOCALHOST.', 'api.localhost', '[::1]', '[::ffff:127.0.0.1]'])(
    'never gets a request to this machine: %s',
    (host) => {
      const proxyOf = proxyFinder({ HTTP_PROXY: 'http://proxy.example.com', HTTPS_PROXY: 'http://proxy.example.com' });
      expect([proxyOf(`http://${host}:8080`), proxyOf(`https://${host}`)]).toEqual([undefined, undefined]);
    },
  );

  test.each(['128.0.0.1', '10.0.0.1', 'mylocalhost', 'localhost.example.com', '127.0.0.1.example.com', '[::ffff:10.0.0.1]'])(
    'gets a request to a different machine: %s',
    (host) => {
      expect(proxyFinder({ HTTP_PROXY: 'http://proxy.example.com' })(`http://${host}`)?.host).toBe('proxy.example.com');
    },
  );

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
      message: expect.stringMatching(
        new RegExp(
          `^the proxy ${new URL(proxy.url).host} refused the connection to https://api.example.test with status ${status}${
            status === 407 ? `\nset HTTPS_PROXY to http://user:password@${new URL(proxy.url).host}, .*` : ''
          }$`,
        ),
      ),
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
      message: `the proxy ${new URL(proxy.url).host} refused the connection to http://api.example.test with status 407\nset HTTP_PROXY to http://user:password@${new URL(proxy.url).host}, with the user name and password for the proxy`,
    });
  });

  test.each([
    [403, { server: 'squid/5.7', 'x-squid-error': 'ERR_ACCESS_DENIED 0' }, ' (ERR_ACCESS_DENIED)'],
    [503, { 'x-squid-error': 'ERR_DNS_FAIL 0' }, ' (ERR_DNS_FAIL)'],
    [403, { 'proxy-status': 'proxy.corp; error=http_request_denied' }, ''],
    [403, { server: 'tinyproxy/1.11.1' }, ''],
    [500, { 'proxy-agent': 'Privoxy 3.0.34' }, ''],
  ])('is told by the headers of its answer %i to a request for an http URL: %j', async (status, headers, reason) => {
    const proxy = await proxyServer(1, status, headers);
    const { failure } = createSender({ environment: { HTTP_PROXY: proxy.url } });
    expect(await failure('http://api.example.test/')).toMatchObject({
      kind: 'network',
      retryable: status >= 500,
      code: 'proxy',
      message: `the proxy ${new URL(proxy.url).host} answered ${status} in place of http://api.example.test${reason}`,
    });
  });

  test('passes on the error of a server, which may be its own', async () => {
    const server = await httpServer((_, response) =>
      response.writeHead(403, { server: 'nginx', 'proxy-status': 'proxy.corp; received-status=403' }).end('no'),
    );
    const proxy = await proxyServer(server.port);
    const { get } = createSender({ environment: { HTTP_PROXY: proxy.url } });
    expect(await get('http://api.example.test/')).toMatchObject({ status: 403, proxy: new URL(proxy.url).host });
    expect(await get(server.origin)).not.toHaveProperty('proxy', expect.anything());
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
    ['10.1.2.3', true],
    ['*', true],
    ['example.com, 10.1.2.3', true],
    ['example.com 10.1.2.3:8080', true],
    ['10.0.0.0/8', true],
    ['10.1.2.3:1', false],
    ['1.2.3', false],
    ['11.0.0.0/8', false],
    ['', false],
  ])('with the value "%s" excludes the server\'s address from the proxy: %s', (list, isDirect) => {
    const proxyOf = proxyFinder({ HTTP_PROXY: 'http://proxy.example.com', NO_PROXY: list });
    expect(proxyOf('http://10.1.2.3:8080') === undefined).toBe(isDirect);
  });

  test.each([
    ['intranet', true],
    ['INTRANET', true],
    ['.intranet', true],
    ['*.intranet', true],
    ['net', false],
  ])('with the value "%s" excludes the host name intranet from the proxy: %s', (list, isDirect) => {
    const proxyOf = proxyFinder({ http_proxy: 'http://proxy.example.com', no_proxy: list });
    expect(proxyOf('http://intranet:8080') === undefined).toBe(isDirect);
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
    await get('http://10.0.0.1/', { hostFromData: { allowHosts: ['10.0.0.1'] } });
    expect(proxy.seen).toHaveLength(2);
  });
});
