import nock from 'nock';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Failure } from '../../../src/core/failure.ts';
import { AccessTokens, clientTokens, type OAuth } from '../../../src/http/auth/oauth.ts';

const origin = 'https://login.example.com';
const auth: OAuth = {
  type: 'oauth2_client_credentials',
  tokenUrl: `${origin}/token?tenant=1`,
  clientId: 'client é:1',
  credential: 'c',
  scopes: ['read', 'write:all'],
};

/** Creates a source of access tokens and an API that accepts every token. Uses Node's own fetch, because nock can intercept it. */
function useTokens() {
  let nowMs = 0;
  const used: string[] = [];
  const fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request);
  const tools = { now: () => nowMs, fetch, secret: () => {}, used: (credential: string) => void used.push(credential) };
  const tokens = new AccessTokens(tools);
  const get = () => tokens.sendWith([clientTokens(auth, (use) => use('s3cr3t'), tools)], async ([token]) => ({ status: 200, token }));
  return {
    used,
    /** Requests a token. Returns the token that was sent to the API. */
    token: async () => (await get()).token,
    failure: async () =>
      get().then(
        () => expect.unreachable(),
        (error: Failure) => error,
      ),
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

const server = () => nock(origin).post('/token?tenant=1');

afterEach(() => {
  const open = nock.pendingMocks();
  nock.cleanAll();
  vi.restoreAllMocks();
  expect(open).toEqual([]);
});

describe('an OAuth token server', () => {
  test('receives a form, the pair id:secret, and an Accept header for JSON', async () => {
    const form = { grant_type: 'client_credentials', scope: 'read write:all' };
    const pair = Buffer.from('client%20%C3%A9%3A1:s3cr3t').toString('base64');
    nock(origin, { reqheaders: { authorization: `Basic ${pair}`, accept: 'application/json' } })
      .post('/token?tenant=1', form)
      .reply(200, { access_token: 't', expires_in: 3600 });
    const { token, used } = useTokens();
    expect([await token(), used]).toEqual(['t', ['c']]);
  });

  test.each([
    ['application/x-www-form-urlencoded; charset=utf-8', 'access_token=gho_a%2Fb&scope=repo&token_type=bearer&expires_in=60'],
    ['text/plain', 'access_token=gho_a%2Fb&expires_in=60\n'],
  ])('can answer with a form instead of JSON, as %s', async (type, body) => {
    server().times(2).reply(200, body, { 'content-type': type });
    const { token, pass } = useTokens();
    expect(await token()).toBe('gho_a/b');
    pass(61_000);
    expect(await token()).toBe('gho_a/b');
  });

  test.each([
    ['error=bad_verification_code&error_description=The+code+is+wrong', 'expected JSON with access_token, found error, error_description'],
    ['scope=repo', 'the answer is not JSON (application/x-www-form-urlencoded)'],
  ])('fails the request if its form has no token: %s', async (body, message) => {
    server().reply(200, body, { 'content-type': 'application/x-www-form-urlencoded' });
    expect(await useTokens().failure()).toMatchObject({ kind: 'parse', message: expect.stringContaining(message) });
  });

  test('that refuses to issue a token gets no further request for a minute', async () => {
    const refusal = { error: 'invalid_client', error_description: 'no such client' };
    server().reply(401, refusal);
    const { token, failure, pass } = useTokens();
    for (let record = 1; record <= 3; record++) {
      expect(await failure()).toMatchObject({
        kind: 'http',
        status: 401,
        retryable: false,
        sent: false,
        message: `no access token from ${origin}: the server answered 401: ${JSON.stringify(refusal)}`,
      });
    }
    pass(61_000);
    server().reply(200, { access_token: 't' });
    expect(await token()).toBe('t');
  });

  test.each([
    [500, {}, undefined],
    [503, { 'retry-after': '7' }, 7000],
    [429, { 'retry-after': '7' }, 7000],
  ])('that fails with status %i gets another request at the next attempt', async (status, headers, retryAfterMs) => {
    server().reply(status, '', headers);
    server().reply(200, { access_token: 't' });
    const { token, failure } = useTokens();
    expect(await failure()).toMatchObject({ kind: 'http', status, retryable: true, sent: false, retryAfterMs });
    expect(await token()).toBe('t');
  });

  test('that responds too late makes the request fail with a timeout', async () => {
    const timeout = AbortSignal.timeout;
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout(20));
    server().delay(5000).reply(200, { access_token: 't' });
    expect(await useTokens().failure()).toMatchObject({
      kind: 'timeout',
      retryable: true,
      sent: false,
      message: `no access token from ${origin}: no response within 30 s`,
    });
    nock.abortPendingRequests();
  });

  test.each([
    ['"token"', 'a string'],
    ['17', 'a number'],
    ['{}', 'nothing'],
    ['[1]', '0'],
    ['{"access_token":""}', 'access_token'],
    ['{"access_token":{"a":1},"x":2}', 'access_token, x'],
    ['{"error":"invalid_scope","error_description":"no\\u001b[31m such"}', 'error, error_description (invalid_scope: no such)'],
    ['{"accessToken":"canary-token"}', 'accessToken'],
  ])('that responds with %s makes the request fail, with a message that shows no token', async (body, found) => {
    server().reply(200, body);
    expect(await useTokens().failure()).toMatchObject({
      kind: 'parse',
      status: 200,
      retryable: false,
      sent: false,
      message: `no access token from ${origin}: expected JSON with access_token, found ${found}`,
    });
  });

  test.each([
    ['', {}, 'no content type'],
    ['<html>Log in</html>', { 'content-type': 'text/html' }, 'text/html'],
    // A response that is neither JSON nor a form can still contain a token, so the message must not quote the body.
    ['token: canary', {}, 'no content type'],
  ])('that responds with "%s", which is not JSON, makes the request fail', async (body, headers, contentType) => {
    server().reply(200, body, headers);
    const message = `no access token from ${origin}: the answer is not JSON (${contentType})`;
    expect(await useTokens().failure()).toMatchObject({ kind: 'parse', status: 200, retryable: false, sent: false, message });
  });

  test('that issues a token unsuitable for a header makes the request fail', async () => {
    server().reply(200, { access_token: 'a\r\nb' });
    expect(await useTokens().failure()).toMatchObject({
      kind: 'parse',
      message: expect.stringContaining('without spaces and control characters'),
    });
  });
});
