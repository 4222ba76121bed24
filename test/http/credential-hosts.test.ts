import { describe, expect, test } from 'vitest';
import type { Auth } from '../../src/core/auth/auth.ts';
import { isAllowedHost } from '../../src/credentials/secret.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { createSender } from './sending.ts';

const text = 'canary-1';
const bearer: Auth = { type: 'bearer', credential: 'c' };

/** Creates a sender with one secret that is limited to these hosts. */
const senderFor = (...hosts: string[]) => createSender({ secrets: { c: { text, hosts } } });

describe('a list of hosts to which a secret is limited', () => {
  test.each([
    ['api.example.com', 'https://api.example.com'],
    ['api.example.com', 'https://API.Example.COM'],
    ['api.example.com', 'https://api.example.com:8443'],
    ['api.example.com:8443', 'https://api.example.com:8443'],
    ['*.example.com', 'https://api.example.com'],
    ['*.example.com', 'https://a.b.example.com:8443'],
    ['*.example.com:8443', 'https://a.example.com:8443'],
    ['api.example.com:443', 'https://api.example.com'],
    ['[::1]', 'http://[::1]:3000'],
    ['[::1]:3000', 'http://[::1]:3000'],
    ['[::1]', 'http://[0:0:0:0:0:0:0:1]'],
    ['127.0.0.1', 'http://127.1:80'],
  ])('that contains %s allows the origin %s', (host, origin) => {
    expect(isAllowedHost(new URL(origin).origin, ['other.example.org', host])).toBe(true);
  });

  test.each([
    ['api.example.com', 'https://example.com'],
    ['api.example.com', 'https://api.example.com.evil.com'],
    ['api.example.com', 'https://evil-api.example.com'],
    ['api.example.com', 'https://v2.api.example.com'],
    ['api.example.com:8443', 'https://api.example.com'],
    ['api.example.com:8443', 'https://api.example.com:8444'],
    ['*.example.com', 'https://example.com'],
    ['*.example.com', 'https://evil-example.com'],
    ['*.example.com', 'https://api.example.com.evil.com'],
    ['*.example.com:8443', 'https://a.example.com'],
    ['api.example.com:443', 'http://api.example.com'],
    ['[::1]', 'http://[::2]'],
    ['[::1]:3000', 'http://[::1]:3001'],
    ['[::1]', 'http://127.0.0.1'],
    ['127.0.0.1', 'http://localhost'],
    ['10.0.0.1', 'http://10.0.0.11'],
  ])('that contains %s refuses the origin %s', (host, origin) => {
    expect(isAllowedHost(origin, [host])).toBe(false);
  });

  test('allows no host if it is empty, and every host if it is undefined', () => {
    expect([isAllowedHost('https://example.com', []), isAllowedHost('https://example.com', undefined)]).toEqual([false, true]);
  });
});

describe('a secret that is limited to certain hosts', () => {
  test.each<[what: string, auth: Auth]>([
    ['a token', bearer],
    ['a user:password pair', { type: 'basic', username: 'u', credential: 'c' }],
    ['a key in a header', { type: 'api_key', header: 'X-Key', credential: 'c' }],
    ['a key in the query', { type: 'api_key', query: 'key', credential: 'c' }],
  ])('is sent only to these hosts: %s', async (_, auth) => {
    const server = await httpServer();
    const { get, failure } = senderFor(`127.0.0.1:${server.port}`);
    await get(`${server.origin}/there`, { auth });
    expect(JSON.stringify(server.requests)).toMatch(/canary-1|Basic /);
    expect(await failure(`http://localhost:${server.port}/elsewhere`, { auth })).toMatchObject({
      kind: 'request',
      sent: false,
      retryable: false,
      message: `the credential "c" can be sent only to 127.0.0.1:${server.port}, not to localhost:${server.port}`,
    });
    expect(server.requests.map(({ path }) => path.replace(/\?.*/, ''))).toEqual(['/there']);
  });

  test('stays with its hosts if all requests of a node share their authentication', async () => {
    const server = await httpServer();
    const { get, failure } = senderFor(`127.0.0.1:${server.port}`);
    const auth = [bearer];
    const elsewhere = `http://localhost:${server.port}/elsewhere`;
    await get(`${server.origin}/first`, { auth });
    expect(await failure(elsewhere, { auth })).toMatchObject({ kind: 'request', sent: false });
    await get(`${server.origin}/second`, { auth });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/first', 'Bearer canary-1'],
      ['/second', 'Bearer canary-1'],
    ]);
  });

  test('does not affect requests that do not use it', async () => {
    const server = await httpServer();
    expect((await senderFor('api.example.com').get(server.origin)).status).toBe(200);
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test('is sent after a redirect within the origin, but never to a different origin that is listed', async () => {
    const other = await httpServer();
    const server = await httpServer(({ path }, response) => {
      const location = { '/near': '/end', '/far': `${other.origin}/end` }[path];
      response.writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { location }).end();
    });
    const { get } = senderFor(`127.0.0.1:${server.port}`, `127.0.0.1:${other.port}`);
    await get(`${server.origin}/near`, { auth: bearer });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/near', 'Bearer canary-1'],
      ['/end', 'Bearer canary-1'],
    ]);
    await get(`${server.origin}/far`, { auth: bearer, followAny: true, hostFromData: { allowHosts: ['127.0.0.1'] } });
    expect(other.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([['/end', undefined]]);
  });
});

describe('an OAuth client secret that is limited to certain hosts', () => {
  /** Starts an API and its token server. The client secret of the returned sender is limited to the server `bound`. */
  async function scene(bound: 'api' | 'tokens', status = 200) {
    const servers = {
      api: await httpServer((_, response) => response.writeHead(status).end()),
      tokens: await httpServer((_, response) => json(response, { access_token: 'token-1' })),
    };
    const auth: Auth = {
      type: 'oauth2_client_credentials',
      tokenUrl: `${servers.tokens.origin}/token`,
      clientId: 'me',
      credential: 'c',
      scopes: [],
    };
    return { ...servers, auth, sender: senderFor(`127.0.0.1:${servers[bound].port}`) };
  }

  test('does not limit the access token to these hosts', async () => {
    const { api, tokens, auth, sender } = await scene('tokens');
    await sender.get(api.origin, { auth });
    expect(tokens.requests[0]?.headers.authorization).toBe(`Basic ${btoa('me:canary-1')}`);
    expect(api.requests[0]?.headers.authorization).toBe('Bearer token-1');
    expect(sender.used).toEqual(['c']);
  });

  test('is not sent to the token server if only the API is listed', async () => {
    const { api, tokens, auth, sender } = await scene('api');
    expect(await sender.failure(api.origin, { auth })).toMatchObject({
      kind: 'request',
      sent: false,
      message: `the credential "c" can be sent only to 127.0.0.1:${api.port}, not to 127.0.0.1:${tokens.port}`,
    });
    expect([api.requests, tokens.requests, sender.used]).toEqual([[], [], []]);
  });

  test('counts as used once a token was issued, whatever the API responds', async () => {
    const { api, auth, sender } = await scene('tokens', 500);
    await sender.get(api.origin, { auth });
    expect(sender.used).toEqual(['c']);
  });
});

describe('the use of a credential', () => {
  test.each([
    [200, ['c']],
    [204, ['c']],
    [299, ['c']],
    [304, []],
    [401, []],
    [403, []],
    [404, []],
    [500, []],
  ])('is reported only after a successful response (status %i: %o)', async (status, used) => {
    const server = await httpServer((_, response) => response.writeHead(status).end());
    const sender = createSender({ secrets: { c: text, unused: 'other' } });
    await sender.get(server.origin, { auth: bearer });
    expect(sender.used).toEqual(used);
  });

  test('is not reported for a request without the credential or without a response', async () => {
    const server = await httpServer(({ path }, response) => (path === '/cut' ? response.destroy() : response.end()));
    const sender = createSender({ secrets: { c: text } });
    await sender.get(server.origin);
    await sender.failure(`${server.origin}/cut`, { auth: bearer });
    expect(sender.used).toEqual([]);
  });

  test('is not reported if the response came from a different origin', async () => {
    const other = await httpServer();
    const server = await httpServer((_, response) => response.writeHead(302, { location: other.origin }).end());
    const sender = createSender({ secrets: { c: text } });
    await sender.get(server.origin, { auth: bearer, followAny: true, hostFromData: { allowHosts: ['127.0.0.1'] } });
    expect(other.requests).toHaveLength(1);
    expect(sender.used).toEqual([]);
  });
});
