import { describe, expect, test } from 'vitest';
import type { HttpRequest } from '../../src/core/ports.ts';
import { type Handler, httpServer } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { createSender, textOf } from './sending.ts';

const redirect =
  (status: number, location: string | (() => string)): Handler =>
  ({ path }, response) =>
    path.startsWith('/old')
      ? response.writeHead(status, { location: typeof location === 'string' ? location : location() }).end('moved')
      : response.end('here');

const post = { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json', 'X-Custom': 'c' } };

/** Follows redirects to any host, even to this machine: loopback is in the internal network, so its hosts must be listed. */
const anywhere: Partial<HttpRequest> = { followAny: true, hostFromData: { allowHosts: ['127.0.0.1', 'localhost'] } };

describe('a redirect within the same origin', () => {
  test.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', '{"a":1}'],
    [308, 'POST', '{"a":1}'],
  ])('with status %i after a POST is followed with %s', async (status, method, body) => {
    const server = await httpServer(redirect(status, '../new?x=1#part'));
    const response = await createSender().get(`${server.origin}/old/path`, post);
    expect(textOf(response)).toBe('here');
    expect(server.requests[1]).toMatchObject({ method, path: '/new?x=1', body, headers: { 'x-custom': 'c' } });
    expect(server.requests[1]?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
  });

  test.each([
    [301, 'PUT', 'PUT'],
    [302, 'PATCH', 'PATCH'],
    [303, 'PUT', 'GET'],
    [307, 'DELETE', 'DELETE'],
    [301, 'GET', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [303, 'PROPFIND', 'GET'],
    [302, 'REPORT', 'REPORT'],
  ])('with status %i after %s is followed with %s', async (status, method, expected) => {
    const server = await httpServer(redirect(status, '/new'));
    await createSender().get(`${server.origin}/old`, { ...(method === 'PUT' || method === 'PATCH' ? post : {}), method });
    expect(server.requests[1]).toMatchObject({ method: expected, body: expected === 'PUT' || expected === 'PATCH' ? post.body : '' });
  });

  test('is followed with the credential', async () => {
    const server = await httpServer(redirect(302, () => `${server.origin}/new`));
    const { get } = createSender({ secrets: { t: 'token-1' } });
    await get(`${server.origin}/old`, { auth: { type: 'bearer', credential: 't' } });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-1']);
  });

  test('is followed with the API key only once in the query, even if the server repeats the key', async () => {
    const server = await httpServer(({ path }, response) =>
      path.startsWith('/old') ? response.writeHead(301, { location: path.replace('/old', '/new') }).end() : response.end(),
    );
    const { get } = createSender({ secrets: { k: 'key 1&' } });
    await get(`${server.origin}/old?a=1`, { auth: { type: 'api_key', query: 'key', credential: 'k' } });
    expect(server.requests.map(({ path }) => path)).toEqual(['/old?a=1&key=key%201%26', '/new?a=1&key=key%201%26']);
  });

  test.each([300, 304, 305, 306, 399])('does not happen for the status %i, which is an ordinary response', async (status) => {
    const server = await httpServer(redirect(status, '/new'));
    expect((await createSender().get(`${server.origin}/old`)).status).toBe(status);
    expect(server.requests).toHaveLength(1);
  });

  test('without a Location header is an ordinary response', async () => {
    const server = await httpServer((_request, response) => response.writeHead(302).end());
    expect((await createSender().get(server.origin)).status).toBe(302);
  });

  test('is not followed if the flow counts its status as success', async () => {
    const server = await httpServer(({ path }, response) =>
      response.writeHead(path === '/old' ? 301 : 302, { location: path === '/old' ? '/new' : 'https://login.example.com/' }).end('moved'),
    );
    const response = await createSender().get(`${server.origin}/old`, { unfollowed: [302, 303] });
    expect([response.status, response.header('location'), textOf(response)]).toEqual([302, 'https://login.example.com/', 'moved']);
    expect(response.redirectedTo).toEqual({ origin: server.origin, path: '/new' });
    expect(server.requests).toHaveLength(2);
  });

  test('is followed at most 10 times in a row', async () => {
    const server = await httpServer(({ path }, response) => response.writeHead(302, { location: `/${Number(path.slice(1)) + 1}` }).end());
    expect(await createSender().failure(`${server.origin}/0`)).toMatchObject({
      kind: 'http',
      status: 302,
      retryable: false,
      message: 'more than 10 redirects, the last to /11',
    });
    expect(server.requests).toHaveLength(11);
  });

  test('shares the timeout of its request', async () => {
    const server = await httpServer(async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 40));
      response.writeHead(302, { location: '/' }).end();
    });
    expect(await createSender().failure(server.origin, { timeoutMs: 100 })).toMatchObject({ kind: 'timeout' });
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });

  test('can have a Location in UTF-8', async () => {
    const server = await httpServer(redirect(302, Buffer.from('/zoë?q=é').toString('latin1')));
    await createSender().get(`${server.origin}/old`);
    expect(server.requests[1]?.path).toBe('/zo%C3%AB?q=%C3%A9');
  });
});

describe('a redirect to a different origin', () => {
  test('is followed into the internal network only if the flow lists the host', async () => {
    const proxy = await httpServer((_request, response) => response.end('here'));
    const server = await httpServer(redirect(302, 'http://10.1.2.3/x'));
    const { get, failure } = createSender({ environment: { http_proxy: proxy.origin, no_proxy: '127.0.0.1' } });
    const to = `${server.origin}/old`;
    expect(textOf(await get(to, { followAny: true, redirectHosts: ['10.1.2.3'] }))).toBe('here');
    expect(await failure(to, { followAny: true, redirectHosts: ['10.1.2.4'] })).toMatchObject({ kind: 'request' });
    expect(await failure(to, { followAny: true })).toMatchObject({ kind: 'request' });
    expect(proxy.requests).toHaveLength(1);
  });

  test('counts as a sent request even if the redirect is not followed', async () => {
    const server = await httpServer(redirect(302, 'http://169.254.169.254/x'));
    const { failure } = createSender();
    expect(await failure(`${server.origin}/old`, { followAny: true })).toMatchObject({ kind: 'request', sent: true });
    expect(await failure('http://169.254.169.254/x', anywhere)).toMatchObject({ kind: 'request', sent: false });
  });

  test('is refused by default', async () => {
    const other = await httpServer();
    const server = await httpServer(redirect(307, () => `${other.origin}/x`));
    expect(await createSender().failure(`${server.origin}/old`, post)).toMatchObject({
      kind: 'http',
      status: 307,
      retryable: false,
      message: `the server redirects to ${other.origin}/x, a different origin
if that is the right server, send the POST to it directly: write its address as url`,
    });
    expect(other.requests).toEqual([]);
  });

  test.each<[number, object]>([
    [307, {}],
    [303, post],
    [302, post],
  ])('is refused by default with the advice follow: any, if the body is not needed: %i', async (status, request) => {
    const other = await httpServer();
    const server = await httpServer(redirect(status, () => `${other.origin}/x`));
    expect((await createSender().failure(`${server.origin}/old`, request)).message).toBe(
      `the server redirects to ${other.origin}/x, a different origin (follow: any allows that, without the credential, headers and body)`,
    );
  });

  test('is refused even if it leads to the same machine under a different name', async () => {
    const server = await httpServer(redirect(302, () => `http://localhost:${server.port}/new`));
    expect((await createSender().failure(`${server.origin}/old`)).message).toContain('a different origin');
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['bearer', { type: 'bearer', credential: 'c' }],
    ['basic', { type: 'basic', username: 'u', credential: 'c' }],
    ['api_key header', { type: 'api_key', header: 'X-API-Key', credential: 'c' }],
    ['api_key query', { type: 'api_key', query: 'key', credential: 'c' }],
  ] as const)('is followed without the credential and headers if follow is "any": %s', async (_name, auth) => {
    const other = await httpServer();
    // The redirect repeats the query, as real servers often do.
    const server = await httpServer(({ path }, response) => response.writeHead(307, { location: `${other.origin}${path}` }).end());
    const { get } = createSender({ secrets: { c: 'canary-1' } });
    await get(`${server.origin}/old?page=2`, { ...post, body: undefined, ...anywhere, auth });
    expect(other.requests[0]).toMatchObject({ method: 'POST', path: '/old?page=2', body: '' });
    expect(JSON.stringify(server.requests)).toContain(auth.type === 'basic' ? 'Basic ' : 'canary-1');
    expect(JSON.stringify(other.requests)).not.toMatch(/canary|basic/i);
    expect(Object.keys(other.requests[0]?.headers ?? {}).sort()).toEqual(
      ['accept', 'accept-encoding', 'connection', 'content-length', 'host', 'user-agent'].sort(),
    );
  });

  test.each([
    [307, 'POST'],
    [308, 'POST'],
    [307, 'PUT'],
    [308, 'PATCH'],
    [307, 'DELETE'],
    [301, 'PUT'],
    [302, 'PATCH'],
  ])('with status %i is refused after a %s whose body it would lose', async (status, method) => {
    const other = await httpServer();
    const server = await httpServer(redirect(status, () => `${other.origin}/x?token=1`));
    expect(await createSender().failure(`${server.origin}/old`, { ...post, method, ...anywhere })).toMatchObject({
      kind: 'http',
      status,
      retryable: false,
      sent: true,
      message: `a redirect to another origin (${other.origin}) would lose the body
if that is the right server, send the ${method} to it directly: write its address as url`,
    });
    expect(other.requests).toEqual([]);
  });

  test('is refused with a form and with a body that contains a secret', async () => {
    const other = await httpServer();
    const server = await httpServer(redirect(307, () => other.origin));
    const secretBody = { credentials: ['c'], sessions: [], render: (secretOf: (name: string) => string) => `key=${secretOf('c')}` };
    const { failure } = createSender({ secrets: { c: 'canary-1' } });
    const body = { method: 'POST', body: 'key=***', secretBody } as Partial<HttpRequest>;
    expect((await failure(`${server.origin}/old`, { ...body, ...anywhere })).message).toContain('would lose the body');
    expect(server.requests.map(({ body }) => body)).toEqual(['key=canary-1']);
    expect(other.requests).toEqual([]);
  });

  test('is refused if it would lose the body after a redirect within the same origin', async () => {
    const other = await httpServer();
    const server = await httpServer(({ path }, response) =>
      response.writeHead(308, { location: path === '/old' ? '/older' : `${other.origin}/x` }).end(),
    );
    expect((await createSender().failure(`${server.origin}/old`, { ...post, ...anywhere })).message).toContain('would lose the body');
    expect(server.requests.map(({ path, body }) => [path, body])).toEqual([
      ['/old', post.body],
      ['/older', post.body],
    ]);
    expect(other.requests).toEqual([]);
  });

  test.each([
    [301, 'POST'],
    [302, 'POST'],
    [303, 'POST'],
    [303, 'PUT'],
  ])('with status %i after a %s is followed with GET, which has no body', async (status, method) => {
    const other = await httpServer();
    const server = await httpServer(redirect(status, () => `${other.origin}/x`));
    await createSender().get(`${server.origin}/old`, { ...post, method, ...anywhere });
    expect(other.requests).toMatchObject([{ method: 'GET', path: '/x', body: '' }]);
    expect(other.requests[0]?.headers).not.toHaveProperty('content-length');
  });

  test('is followed without a credential, even if a later redirect leads back to the first origin', async () => {
    const other = await httpServer((_request, response) => response.writeHead(302, { location: `${server.origin}/chosen-by-other` }).end());
    const server = await httpServer(redirect(302, () => other.origin));
    const { get } = createSender({ secrets: { c: 'canary-1' } });
    await get(`${server.origin}/old`, { ...anywhere, headers: { 'X-Custom': 'c' }, auth: { type: 'bearer', credential: 'c' } });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization, headers['x-custom']])).toEqual([
      ['/old', 'Bearer canary-1', 'c'],
      ['/chosen-by-other', undefined, undefined],
    ]);
  });

  test.each([
    ['file:///etc/passwd', /which is not a web address$/],
    ['ftp://example.com/', /which is not a web address$/],
    ['javascript:alert(1)', /which is not a web address$/],
    ['blob:ORIGIN/x', /which is not a web address$/],
    ['http://api.example.test/', /which is refused: expected an https URL, found http:\/\/api\.example\.test/],
    ['https://user:pass@api.example.test/', /which is refused: a URL must not contain a user name or password/],
    ['http://', /which is not a URL$/],
  ])('is refused even with follow: any if it leads to %s', async (location, message) => {
    const server = await httpServer(redirect(302, () => location.replace('ORIGIN', server.origin)));
    const failure = await createSender({ allowHttp: false }).failure(`${server.origin}/old`, anywhere);
    expect(failure).toMatchObject({ kind: 'http', status: 302, retryable: false, message: expect.stringMatching(message) });
    expect(server.requests).toHaveLength(1);
  });

  test.each(['http://169.254.169.254/latest/meta-data', 'http://[fd00:ec2::254]/', 'http://[::ffff:169.254.169.254]/'])(
    'is refused if it leads to a metadata address, even if the address is listed: %s',
    async (location) => {
      const server = await httpServer(redirect(302, location));
      const hostFromData = { allowHosts: ['127.0.0.1', '169.254.169.254', '[fd00:ec2::254]', new URL(location).hostname] };
      // If the redirect were followed by mistake, it would end at a proxy on this machine.
      const proxy = await proxyServer(server.port);
      const { failure } = createSender({ environment: { HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' } });
      expect(await failure(`${server.origin}/old`, { ...anywhere, hostFromData })).toMatchObject({
        kind: 'request',
        retryable: false,
        message: expect.stringContaining('link-local or metadata address'),
      });
      expect(proxy.seen).toEqual([]);
    },
  );

  test('is refused if it leads into the internal network and only the first origin is written in the flow', async () => {
    const server = await httpServer(redirect(302, () => 'http://10.0.0.1/'));
    const failure = await createSender().failure(`${server.origin}/old`, { followAny: true });
    expect(failure).toMatchObject({ kind: 'request', message: expect.stringContaining('inside the network') });
  });

  test('is followed between two servers on this machine if the flow already uses this machine', async () => {
    const other = await httpServer();
    const server = await httpServer(redirect(302, () => other.origin));
    await createSender().get(`${server.origin}/old`, { followAny: true });
    expect(other.requests).toHaveLength(1);
  });

  test('is followed to a third origin and back, without the credential', async () => {
    const third = await httpServer(redirect(302, () => `${server.origin}/new`));
    const other = await httpServer(redirect(302, () => `${third.origin}/old`));
    const server = await httpServer(redirect(302, () => `${other.origin}/old`));
    const { get } = createSender({ secrets: { t: 'token-1' } });
    const auth = { type: 'bearer', credential: 't' } as const;
    expect(textOf(await get(`${server.origin}/old`, { auth, followAny: true }))).toBe('here');
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/old', 'Bearer token-1'],
      ['/new', undefined],
    ]);
  });

  test('is refused if the first host comes from a record and only that host is listed', async () => {
    const third = await httpServer();
    const other = await httpServer(redirect(302, () => third.origin));
    const hostFromData = { allowHosts: [new URL(other.origin).host] };
    const failure = await createSender().failure(`${other.origin}/old`, { followAny: true, hostFromData });
    expect(failure).toMatchObject({ kind: 'request', message: expect.stringContaining('inside the network') });
    expect(third.requests).toEqual([]);
  });
});
