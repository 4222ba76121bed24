import { describe, expect, test } from 'vitest';
import type { Auth } from '../../src/core/auth/auth.ts';
import { LimitReached } from '../../src/core/failure.ts';
import { SecretCommands } from '../../src/credentials/command-secrets.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { local, remote, useTools } from '../helpers/mcp/tools.ts';

/**
 * Creates tools whose credential `token` comes from a command that prints a different secret at each run. `later` moves the clock forward.
 */
function scene(command: string, hosts?: readonly string[]) {
  const time = { ms: 0 };
  const clock = { now: () => time.ms, sleepUntil: () => new Promise<void>(() => {}) };
  const commands = new SecretCommands({ environment: process.env, clock }).forUser(
    [{ name: 'token', env: 'default', backend: 'vault', setAt: '2030-01-01T00:00:00.000Z', command, ...(hosts && { hosts }) }],
    '/home',
    { hide: () => {} },
  );
  const later = (ms: number) => {
    time.ms += ms;
  };
  return { ...useTools({ commands, now: clock.now }), later };
}

/** Starts a server that responds to every request with 401, and records the credentials that it gets. */
async function refusing() {
  const seen: (string | undefined)[] = [];
  const server = await httpServer(({ headers, path }, response) => {
    if (path === '/token') return json(response, { access_token: 'access', expires_in: 60 });
    seen.push(headers.authorization);
    return response.writeHead(401).end();
  });
  return { url: `${server.origin}/mcp`, origin: server.origin, seen, requests: server.requests };
}

const bearer: Auth = { type: 'bearer', credential: 'token' };

describe('a credential of an MCP server that comes from a command', () => {
  test('authenticates requests, and its command runs once more after a 401', async () => {
    const { url, seen } = await refusing();
    const { call, later } = scene('date +n-%N');
    expect(await call(remote(url, bearer), 'work')).toMatchObject({ kind: 'http', status: 401 });
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toMatch(/^Bearer n-\d+$/);
    later(10_000);
    await call(remote(url, bearer), 'work');
    expect(new Set(seen).size).toBe(2);
  });

  test('can be used as the client secret for the token server', async () => {
    const { url, origin, seen, requests } = await refusing();
    const auth: Auth = { type: 'oauth2_client_credentials', credential: 'token', tokenUrl: `${origin}/token`, clientId: 'me', scopes: [] };
    await scene('echo s3cret-1').call(remote(url, auth), 'work');
    const pair = String(requests.find(({ path }) => path === '/token')?.headers.authorization).slice(6);
    expect(Buffer.from(pair, 'base64').toString()).toBe('me:s3cret-1');
    expect(seen[0]).toBe('Bearer access');
  });

  test('is sent only to the hosts to which it is limited', async () => {
    const { url, seen } = await refusing();
    const failure = await scene('echo s3cret-1', ['api.example.com']).call(remote(url, bearer), 'work');
    expect(failure).toMatchObject({ kind: 'request', message: expect.stringContaining('can be sent only to api.example.com') });
    expect(seen).toEqual([]);
  });

  test('ends the run before anything is sent if its command fails', async () => {
    const { url, seen } = await refusing();
    for (const connection of [remote(url, bearer), local(['true'], { credentials: { KEY: 'token' } })])
      await expect(scene('false').call(connection, 'work')).rejects.toThrow(LimitReached);
    expect(seen).toEqual([]);
  });
});
