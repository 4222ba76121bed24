import nock from 'nock';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { RemoteServer } from '../../src/core/tools.ts';
import { signedFetch } from '../../src/mcp/signed-fetch.ts';

const server: RemoteServer = {
  url: 'https://mcp.example.com/mcp',
  auth: { type: 'bearer', credential: 'c' },
  headers: {},
  allowHttp: false,
};

/** Creates a fetch that authenticates requests. It uses Node's own fetch, because nock can intercept it. */
function useFetch() {
  const fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request);
  const secrets = new Map([['c', { text: 's3cr3t', from: 'test' }]]);
  return signedFetch({ fetch, fetchNamed: fetch }, server, {
    ...{ secrets, tokens: {} as never, signers: {} as never, used: () => {}, wallNow: () => 0 },
    ...{ fetch, secret: () => {}, now: () => 0 },
  });
}

afterEach(() => {
  nock.cleanAll();
  vi.restoreAllMocks();
});

describe("the search for an MCP server's login server", () => {
  const login = 'https://login.example.com';
  const path = '/.well-known/oauth-authorization-server';

  test('reads the metadata of the authorization server without sending the credential', async () => {
    nock(login, { badheaders: ['authorization'] })
      .get(path)
      .reply(200, { issuer: login });
    const response = await useFetch()(`${login}${path}`, { headers: { accept: 'application/json' } });
    expect([response.status, await response.json()]).toEqual([200, { issuer: login }]);
  });

  test.each([404, 429, 500])(
    'returns a response with status %i without a retry, so that the MCP client tries the next URL',
    async (status) => {
      nock(login).get(path).reply(status, 'no such page');
      const response = await useFetch()(new URL(`${login}${path}`));
      expect([response.status, await response.text()]).toEqual([status, 'no such page']);
    },
  );

  test('does not follow redirects', async () => {
    nock(login).get(path).reply(302, '', { location: 'https://elsewhere.example.com/' });
    expect((await useFetch()(`${login}${path}`)).status).toBe(302);
  });

  test('fails with a timeout if the response is late', async () => {
    const timeout = AbortSignal.timeout;
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout(20));
    nock(login).get(path).delay(5000).reply(200, {});
    await expect(useFetch()(`${login}${path}`)).rejects.toMatchObject({ kind: 'timeout', message: 'no response within 30 s' });
    nock.abortPendingRequests();
  });

  test('is refused if the server does not use https', async () => {
    await expect(useFetch()('http://login.example.com/')).rejects.toMatchObject({
      kind: 'request',
      sent: false,
      message: 'expected an https URL for the login, found http://login.example.com',
    });
  });
});

describe('a request to an MCP server', () => {
  test('is authenticated', async () => {
    nock('https://mcp.example.com', { reqheaders: { authorization: 'Bearer s3cr3t' } })
      .post('/mcp')
      .reply(200, {});
    expect((await useFetch()(server.url, { method: 'POST', body: '{}' })).status).toBe(200);
  });

  test('fails with the reason and the value of Retry-After if the server refuses it', async () => {
    nock('https://mcp.example.com').post('/mcp').reply(429, 'too many', { 'retry-after': '7' });
    await expect(useFetch()(server.url, { method: 'POST', body: '{}' })).rejects.toMatchObject({
      kind: 'http',
      status: 429,
      retryable: true,
      retryAfterMs: 7000,
      message: 'the server answered 429: too many',
    });
  });
});
