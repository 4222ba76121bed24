import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import type { Failure } from '../../../src/core/failure.ts';
import { AccessTokens, clientTokens, type OAuth, type TokenTools } from '../../../src/http/auth/oauth.ts';
import { type HttpServer, httpServer, json, type SeenRequest } from '../../helpers/http-server.ts';
import { unusedPort } from '../../helpers/raw-server.ts';
import { createSender } from '../sending.ts';

const secret = 's3cr3t +/:é&%';

interface Scene {
  readonly api: HttpServer;
  readonly tokens: HttpServer;
  readonly auth: Auth;
  /** Sends requests at the same time, and returns their statuses. */
  get(count?: number): Promise<number[]>;
  failure(): Promise<Failure>;
  failures(count: number): Promise<Failure[]>;
  readonly secrets: readonly string[];
  /** Moves the clock forward. */
  pass(ms: number): void;
}

type TokenAnswer = (response: ServerResponse, index: number, request: SeenRequest) => unknown;

const numbered =
  (more: object = {}): TokenAnswer =>
  (response, index) =>
    json(response, { access_token: `token-${index}`, token_type: 'Bearer', expires_in: 3600, ...more });

/** Starts an API and its token server. `accepts` tells whether the API accepts a token; by default it accepts all tokens. */
async function scene(answer: TokenAnswer, accepts: (token: string) => boolean = () => true, more: object = {}): Promise<Scene> {
  let requested = 0;
  const tokens = await httpServer((request, response) => answer(response, requested++, request));
  const api = await httpServer(({ headers }, response) =>
    response.writeHead(accepts((headers.authorization ?? '').replace('Bearer ', '')) ? 200 : 401).end(),
  );
  let passedMs = 0;
  const sender = createSender({ secrets: { c: secret }, now: () => performance.now() + passedMs });
  const auth: Auth = {
    type: 'oauth2_client_credentials',
    tokenUrl: `${tokens.origin}/token?tenant=1`,
    clientId: 'client é:1',
    credential: 'c',
    scopes: ['read', 'write:all'],
    ...more,
  };
  const many = <Result>(count: number, send: () => Promise<Result>) => Promise.all(Array.from({ length: count }, send));
  return {
    api,
    tokens,
    auth,
    secrets: sender.secrets,
    get: async (count = 1) => (await many(count, () => sender.get(api.origin, { auth }))).map(({ status }) => status),
    failure: () => sender.failure(api.origin, { auth }),
    failures: (count) => many(count, () => sender.failure(api.origin, { auth })),
    pass(ms) {
      passedMs += ms;
    },
  };
}

const bearers = ({ api }: Scene) => api.requests.map(({ headers }) => headers.authorization);

describe('an OAuth access token', () => {
  test('can be sent together with API keys in a list of credentials', async () => {
    const at = await scene(numbered());
    const sender = createSender({ secrets: { c: secret, k: 'K1' } });
    await sender.get(at.api.origin, { auth: [at.auth, { type: 'api_key', header: 'X-Key', credential: 'k' }] });
    expect(at.api.requests[0]?.headers).toMatchObject({ authorization: 'Bearer token-0', 'x-key': 'K1' });
    expect(sender.used).toEqual(['c', 'k']);
  });

  test('is requested as RFC 6749 specifies', async () => {
    const at = await scene(numbered());
    await at.get();
    const [request] = at.tokens.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/token?tenant=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    });
    expect([...new URLSearchParams(request?.body)]).toEqual([
      ['grant_type', 'client_credentials'],
      ['scope', 'read write:all'],
    ]);
    const [scheme, pair = ''] = (request?.headers.authorization ?? '').split(' ');
    expect(scheme).toBe('Basic');
    // RFC 6749, section 2.3.1: both parts are form-encoded, so a colon within a part is not taken for the separator.
    const parts = Buffer.from(pair, 'base64').toString().split(':');
    expect(parts.map((part) => new URLSearchParams(`x=${part}`).get('x'))).toEqual(['client é:1', secret]);
    expect(bearers(at)).toEqual(['Bearer token-0']);
  });

  test('is requested without a scope if the flow sets no scope', async () => {
    const at = await scene(numbered(), undefined, { scopes: [] });
    await at.get();
    expect(at.tokens.requests[0]?.body).toBe('grant_type=client_credentials');
  });

  test('is requested once, however many records wait for the token', async () => {
    const at = await scene(numbered());
    await at.get(30);
    await at.get(30);
    expect(at.tokens.requests).toHaveLength(1);
    expect(new Set(bearers(at))).toEqual(new Set(['Bearer token-0']));
  });

  test.each([
    [3600, 3_569_000],
    ['3600', 3_569_000],
    [60, 53_000],
    [10, 8900],
    [undefined, 3_569_000],
    [0, 800],
    [-5, 800],
    ['soon', 3_569_000],
  ])('that expires in %s s is used until shortly before its expiry', async (lifetime, keptMs) => {
    const at = await scene(numbered({ expires_in: lifetime }));
    await at.get();
    at.pass(keptMs);
    await at.get();
    expect(at.tokens.requests).toHaveLength(1);
    at.pass(2000);
    await at.get();
    expect(bearers(at)).toEqual(['Bearer token-0', 'Bearer token-0', 'Bearer token-1']);
  });

  test('is masked in all output, and so is the id:secret pair that requests it', async () => {
    const at = await scene(numbered());
    await at.get();
    expect(at.secrets).toContain('token-0');
    expect(at.secrets).toContain(at.tokens.requests[0]?.headers.authorization?.replace('Basic ', ''));
  });

  test('takes the place of the previous token in the list of secrets to mask', async () => {
    const registered: [string, string | undefined][] = [];
    let nowMs = 0;
    const tools: TokenTools = {
      now: () => nowMs,
      fetch: async () => Response.json({ access_token: `token-${nowMs}` }),
      secret: (text, slot) => void registered.push([text, slot]),
      used: () => {},
    };
    const tokens = new AccessTokens(tools);
    const auth: OAuth = { type: 'oauth2_client_credentials', tokenUrl: 'http://t/', clientId: 'c', credential: 'c', scopes: [] };
    for (; nowMs < 7_300_000; nowMs += 7_200_000)
      await tokens.sendWith([clientTokens(auth, (use) => use(secret), tools)], async () => ({ status: 200 }));
    const slots = registered.filter(([text]) => text.startsWith('token-')).map(([, slot]) => slot);
    expect(slots).toEqual([expect.any(String), slots[0]]);
  });

  test('can take longer to obtain than the timeout of the request that needs it', async () => {
    let passedMs = 0;
    const at = await scene((...asked) => {
      passedMs += 60_000;
      return numbered()(...asked);
    });
    const { get } = createSender({ secrets: { c: secret }, now: () => performance.now() + passedMs });
    expect((await get(at.api.origin, { auth: at.auth, timeoutMs: 30_000 })).status).toBe(200);
  });
});

describe('a 401 for a request with an access token', () => {
  test('causes one request for a new token, however many requests had the old one', async () => {
    const at = await scene(numbered(), (token) => token === 'token-1');
    expect(await at.get(20)).toEqual(Array(20).fill(200));
    expect(at.tokens.requests).toHaveLength(2);
    expect(at.api.requests).toHaveLength(40);
    await at.get();
    expect(at.tokens.requests).toHaveLength(2);
  });

  test('leads to a new token, and the wait for the token does not count towards the timeout', async () => {
    let passedMs = 0;
    const at = await scene((...asked) => {
      passedMs += 60_000;
      return numbered()(...asked);
    });
    const api = await httpServer(async ({ headers }, response) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      response.writeHead(headers.authorization === 'Bearer token-1' ? 200 : 401).end();
    });
    const { get } = createSender({ secrets: { c: secret }, now: () => performance.now() + passedMs });
    expect((await get(api.origin, { auth: at.auth, timeoutMs: 30_000 })).status).toBe(200);
  });

  test('shares one timeout with the response to the repeated request', async () => {
    let passedMs = 0;
    const at = await scene(numbered());
    const api = await httpServer(async ({ headers }, response) => {
      if (headers.authorization === 'Bearer token-0') passedMs += 40_000;
      else await new Promise((resolve) => setTimeout(resolve, 50));
      response.writeHead(headers.authorization === 'Bearer token-1' ? 200 : 401).end();
    });
    const { failure } = createSender({ secrets: { c: secret }, now: () => performance.now() + passedMs });
    expect((await failure(api.origin, { auth: at.auth, timeoutMs: 30_000 })).kind).toBe('timeout');
  });

  test('does not discard a token that is newer than the rejected token', async () => {
    let revoked = false;
    let held: (() => void) | undefined;
    const at = await scene(numbered(), (token) => !revoked || token !== 'token-0');
    const api = await httpServer(async ({ path, headers }, response) => {
      if (path === '/slow' && headers.authorization === 'Bearer token-0') await new Promise<void>((resolve) => (held = resolve));
      response.writeHead(headers.authorization === 'Bearer token-0' && revoked ? 401 : 200).end();
    });
    const { get } = createSender({ secrets: { c: secret } });
    const slow = get(`${api.origin}/slow`, { auth: at.auth });
    while (!held) await new Promise((resolve) => setTimeout(resolve, 1));
    revoked = true;
    expect((await get(api.origin, { auth: at.auth })).status).toBe(200);
    held();
    expect((await slow).status).toBe(200);
    expect(at.tokens.requests).toHaveLength(2);
  });

  test('is final if the token was new, and no further token is requested for a minute', async () => {
    const at = await scene(numbered(), () => false);
    expect(await at.get()).toEqual([401]);
    expect(await at.get(10)).toEqual(Array(10).fill(401));
    expect(at.tokens.requests).toHaveLength(2);
    expect(at.api.requests).toHaveLength(12);
    at.pass(61_000);
    expect(await at.get()).toEqual([401]);
    expect(at.tokens.requests).toHaveLength(3);
  });

  test('is final if the request uses a different auth type', async () => {
    const at = await scene(numbered(), () => false);
    const { get } = createSender({ secrets: { c: secret } });
    expect((await get(at.api.origin, { auth: { type: 'bearer', credential: 'c' } })).status).toBe(401);
    expect(at.api.requests).toHaveLength(1);
  });
});

describe('an OAuth token server', () => {
  test('that cannot be reached makes the request fail before it is sent', async () => {
    const port = await unusedPort();
    const at = await scene(numbered(), undefined, { tokenUrl: `http://127.0.0.1:${port}/token` });
    expect(await at.failure()).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      message: `no access token: http://127.0.0.1:${port}: the connection was refused (ECONNREFUSED)`,
    });
    expect(at.api.requests).toEqual([]);
  });

  test('that refuses to issue a token makes each waiting record fail with its own Failure object', async () => {
    const at = await scene((response) => json(response, { error: 'invalid_client' }, 401));
    const failures = [...(await at.failures(5)), await at.failure()];
    expect(new Set(failures).size).toBe(6);
    expect(at.tokens.requests).toHaveLength(1);
    expect(at.api.requests).toEqual([]);
  });

  test('cannot redirect the token request, so only the address in the flow gets the client secret', async () => {
    const at = await scene((response) => response.writeHead(307, { location: '/elsewhere' }).end());
    expect(await at.failure()).toMatchObject({ kind: 'http', status: 307, retryable: false });
    expect(at.tokens.requests).toHaveLength(1);
  });

  test('that responds with 11 MB makes the request fail', async () => {
    const at = await scene((response) => response.end('x'.repeat(11_000_000)));
    expect(await at.failure()).toMatchObject({ kind: 'parse', retryable: false, sent: false });
  });
});
