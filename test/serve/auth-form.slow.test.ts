import { expect, test } from 'vitest';
import { authTypes } from '../../src/core/auth/auth-types.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { pageSession } from '../helpers/page-session.ts';
import { servingHere as serving } from '../helpers/serving.ts';

/** Logs in to a server whose secrets are in a vault. */
async function loggedIn() {
  const place = await vaultPlace();
  return pageSession(await serving({}, { place, env: { ...place.env, AUTOMATE_CREDENTIAL_BACKEND: 'vault' } }));
}

test('the form of the page has every type of authentication, with a field for each option', async () => {
  const ask = await loggedIn();
  const { types } = (await (await ask('/ui/auth-types', 'GET')).json()) as { types: { type: string; fields: { name: string }[] }[] };
  expect(types.map(({ type }) => type)).toEqual(authTypes.map(({ type }) => type));
  for (const { type, fields } of types) {
    const own = authTypes.find((one) => one.type === type) as (typeof authTypes)[number];
    expect(fields.map(({ name }) => name)).toEqual(Object.keys(own.parts).filter((key) => key !== 'credential'));
  }
});

test('a connection with a signature and one with a login are added and tested', async () => {
  const api = await httpServer(({ path, headers, body }, response) => {
    if (path === '/login') return json(response, body.includes('canary-1') ? { token: 'canary-token-1' } : {}, 200);
    return json(response, {}, headers['x-signature'] || headers.authorization === 'Bearer canary-token-1' ? 200 : 401);
  });
  const ask = await loggedIn();
  const hmac = { type: 'hmac', credential: 'partner', of: '{path}', headers: 'X-Key=partner-17\nX-Signature={signature}' };
  const session = {
    type: 'session',
    login: JSON.stringify({ url: '/login', body: { p: { credential: 'shop' } }, take: { t: 'token' } }),
    send: JSON.stringify({ headers: { Authorization: { session: 't', prefix: 'Bearer ' } } }),
  };
  for (const [name, auth] of Object.entries({ hmac, session })) {
    const given = { type: 'http', name, url: api.origin, auth, secret: 'canary-1' };
    expect(await (await ask('/ui/connections/tests', 'POST', given)).json()).toMatchObject({ ok: true });
    expect((await ask('/ui/connections', 'POST', given)).status).toBe(201);
  }
  expect(api.requests.find(({ headers }) => headers['x-key'])?.headers['x-key']).toBe('partner-17');
});

test.each([
  [{ type: 'digset', credential: 'c' }, 'expected none, bearer'],
  [{ type: 'digest', credential: 'c', pasword: 'canary' }, 'digest has no option of that name'],
  [{ type: 'session', login: 'canary' }, 'login: expected JSON'],
  [{ type: 'hmac', credential: 'c', of: '{pth}', headers: 'X={signature}' }, 'no placeholder {pth}'],
])('a form with %j is refused', async (auth, message) => {
  const ask = await loggedIn();
  const response = await ask('/ui/connections', 'POST', { type: 'http', name: 'x', url: 'https://x.example.com', auth });
  const text = await response.text();
  expect([response.status, text]).toEqual([400, expect.stringContaining(message)]);
  expect(text).not.toContain('canary');
});

test('the page cannot send an existing secret to another server, also not as part of a login', async () => {
  const ask = await loggedIn();
  const first = {
    type: 'http',
    name: 'first',
    url: 'https://a.example.com',
    auth: { type: 'bearer', credential: 'shop' },
    secret: 'canary-1',
  };
  expect((await ask('/ui/connections', 'POST', first)).status).toBe(201);
  const login = JSON.stringify({ url: 'https://evil.example.com/login', body: { p: { credential: 'shop' } } });
  for (const url of ['https://a.example.com', 'https://evil.example.com']) {
    const response = await ask('/ui/connections', 'POST', { type: 'http', name: 'evil', url, auth: { type: 'session', login } });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('is not meant for https://evil.example.com')]);
  }
});
