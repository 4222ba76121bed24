import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { AutomateError } from '../../../src/core/failure.ts';
import { httpServer } from '../../helpers/http-server.ts';
import { createSender } from '../sending.ts';

/** Sends a request with this authentication. Returns the request as the server received it. */
async function seen(auth: Auth, secret: string, path = '/', headers: Record<string, string> = {}) {
  const server = await httpServer();
  await createSender({ secrets: { c: secret } }).get(server.origin + path, { auth, headers });
  const [request] = server.requests;
  if (!request) throw new Error('nothing was sent');
  return request;
}

/** Decodes a header as UTF-8, because Node.js converts each byte to one character. */
const utf8 = (text: unknown) => Buffer.from(String(text), 'latin1').toString();

describe('the authentication of a request', () => {
  test('changes nothing if auth is not set', async () => {
    const server = await httpServer();
    await createSender().get(server.origin);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('adds a bearer token', async () => {
    const { headers } = await seen({ type: 'bearer', credential: 'c' }, 'tok-1/+=');
    expect(headers.authorization).toBe('Bearer tok-1/+=');
  });

  test('can add a bearer token with non-ASCII characters', async () => {
    const { headers } = await seen({ type: 'bearer', credential: 'c' }, 'pässwörd-日本');
    expect(utf8(headers.authorization)).toBe('Bearer pässwörd-日本');
  });

  test('adds an API key as a header', async () => {
    const { headers, path } = await seen({ type: 'api_key', header: 'X-API-Key', credential: 'c' }, 'key 1');
    expect(headers['x-api-key']).toBe('key 1');
    expect(headers.authorization).toBeUndefined();
    expect(path).toBe('/');
  });

  test.each([
    ['/', '/?api%20key=k%26%3D%2B%20%23%C3%A9'],
    ['/a?b=1&c', '/a?b=1&c&api%20key=k%26%3D%2B%20%23%C3%A9'],
  ])('adds an API key to the query of %s', async (path, expected) => {
    const request = await seen({ type: 'api_key', query: 'api key', credential: 'c' }, 'k&=+ #é', path);
    expect(request.path).toBe(expected);
    expect(new URL(request.path, 'http://x').searchParams.get('api key')).toBe('k&=+ #é');
  });

  test.each([
    [{ type: 'basic', credential: 'c' }, 'user:pass:word', 'user:pass:word'],
    [{ type: 'basic', username: 'me@example.com', credential: 'c' }, 'pass:word', 'me@example.com:pass:word'],
    [{ type: 'basic', username: 'Zoë', credential: 'c' }, 'pässwörd 日本', 'Zoë:pässwörd 日本'],
    [{ type: 'basic', username: '', credential: 'c' }, 'only-password', ':only-password'],
  ] as const)('adds a basic auth header: %o', async (auth, secret, pair) => {
    const [scheme, text] = ((await seen(auth, secret)).headers.authorization ?? '').split(' ');
    expect(scheme).toBe('Basic');
    expect(Buffer.from(text ?? '', 'base64').toString()).toBe(pair);
  });

  test('replaces a header of the same name, in upper or lower case', async () => {
    const { headers } = await seen({ type: 'bearer', credential: 'c' }, 'right', '/', { AUTHORIZATION: 'wrong', Authorization: 'wrong' });
    expect(headers.authorization).toBe('Bearer right');
    const key = await seen({ type: 'api_key', header: 'x-Api-KEY', credential: 'c' }, 'right', '/', { 'X-API-Key': 'wrong' });
    expect(key.headers['x-api-key']).toBe('right');
  });
});

describe('several credentials for one request', () => {
  const auth: readonly Auth[] = [
    { type: 'bearer', credential: 'a' },
    { type: 'api_key', header: 'X-Key', credential: 'b' },
    { type: 'api_key', query: 'id', credential: 'c' },
    { type: 'api_key', query: 'key', credential: 'd' },
  ];

  test('are all sent in the headers and query, and reported as used', async () => {
    const server = await httpServer();
    const { get, used } = createSender({ secrets: { a: 'A1', b: 'B1', c: 'C1', d: 'D1' } });
    await get(`${server.origin}/x?y=1`, { auth });
    expect(server.requests[0]).toMatchObject({
      path: '/x?y=1&id=C1&key=D1',
      headers: { authorization: 'Bearer A1', 'x-key': 'B1' },
    });
    expect(used).toEqual(['a', 'b', 'c', 'd']);
  });

  test('are not sent after a redirect to a different origin, even if the redirect repeats the query', async () => {
    const other = await httpServer();
    const server = await httpServer(({ path }, response) => response.writeHead(307, { location: `${other.origin}${path}` }).end());
    const { get } = createSender({ secrets: { a: 'CAN1', b: 'CAN2', c: 'CAN3', d: 'CAN4' } });
    await get(`${server.origin}/x?y=1`, { auth, followAny: true });
    expect(other.requests[0]?.path).toBe('/x?y=1');
    expect(JSON.stringify(other.requests)).not.toContain('CAN');
  });
});

test('a request whose credential does not exist is not sent, and throws an error', async () => {
  const server = await httpServer();
  const sent = createSender().get(server.origin, { auth: { type: 'bearer', credential: 'gone' } });
  await expect(sent).rejects.toThrow(new AutomateError('credential', 'there is no credential "gone"'));
  expect(server.requests).toEqual([]);
});
