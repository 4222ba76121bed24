import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { idRows } from '../helpers/asking.ts';
import { readAllFiles, type Workplace } from '../helpers/cli.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { clientSecret, followLogin, type LoginRules, loginApi } from '../helpers/login-api.ts';

type Place = Workplace & { readonly env: Record<string, string> };

const flow = 'nodes: [{ type: http, connection: crm, url: "/{{id}}", map: [name, echo], retry: { max: 0 } }]\n';

/** Starts `connections login` without a browser, and follows the URL that it prints. Returns the result of the command. */
async function logIn({ startHere, env }: Place, ...args: string[]) {
  const { stdout, finished } = startHere(['connections', 'login', 'crm', '--no-browser', ...args], { env });
  const [address] = await Promise.race([once(stdout, 'data'), finished.then(({ stderr }) => [stderr])]);
  const page = await followLogin(String(address).trim());
  return { ...(await finished), page };
}

async function scene(rules: LoginRules = {}, ...more: string[]) {
  const api = await loginApi(rules);
  const place = await vaultPlace({ 'flow.yaml': flow, 'rows.csv': idRows(6) });
  const auth = ['--auth', 'oauth2_authorization_code', '--credential', 'crm-login', '--client-id', 'me'];
  const added = await place.automate(['connections', 'add', 'http', 'crm', '--base-url', api.origin, ...auth, ...more], { env: place.env });
  const run = (...args: string[]) =>
    place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--force', ...args], { env: place.env });
  return { api, place, added, run };
}

describe('an interactive login to an HTTP API', () => {
  test('is required before a run sends anything, and then lets later runs work unattended', async () => {
    const { api, place, added, run } = await scene({ audience: 'https://crm' }, '--params', 'audience=https://crm');
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('log in: automate connections login crm') });
    expect(api.requests).toEqual([]);

    const before = await run();
    expect(before.code).toBe(7);
    expect(before.stderr).toContain('automate connections login crm');
    const { env } = place;
    for (const args of [
      ['validate', 'flow.yaml'],
      ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'x.csv', '--dry-run'],
      ['connections', 'test', 'crm'],
    ]) {
      const { code, stdout, stderr } = await place.automate(args, { env });
      expect([args[0], code, stdout + stderr]).toEqual([args[0], 7, expect.stringContaining('log in: automate connections login crm')]);
    }
    const doctor = await place.automate(['doctor', 'flow.yaml'], { env });
    expect(doctor.stdout + doctor.stderr).toContain('automate connections login crm');
    expect(api.requests).toEqual([]);

    const login = await logIn(place);
    expect(login).toMatchObject({ code: 0, page: expect.stringContaining('has received the code') });
    expect(login.stderr).toContain('"crm" is logged in');
    expect(await run()).toMatchObject({ code: 0 });
    expect(await place.read('out.csv')).toContain('6,n6,Bearer ***');
    expect(api.tokenRequests.map((form) => form.get('grant_type'))).toEqual(['authorization_code']);

    const all = [login.stdout, login.stderr, await readAllFiles(place)].join('\n');
    for (const secret of api.secrets()) expect(all).not.toContain(secret);
  });

  test('is refreshed once for all requests, and stores each new refresh token', async () => {
    const { api, place, run } = await scene();
    await logIn(place);
    api.forget();
    for (let count = 2; count <= 4; count++) {
      expect(await run()).toMatchObject({ code: 0 });
      expect(api.tokenRequests).toHaveLength(count);
      api.forget();
    }
    expect(api.refused).toEqual([]);
  });

  test('that has expired ends the run with 7, and the message shows the login command', async () => {
    const { api, place, run } = await scene();
    await logIn(place);
    api.forget();
    api.revoke();
    const { code, stderr } = await run();
    expect([code, stderr]).toEqual([7, expect.stringContaining('log in: automate connections login crm')]);
    expect(stderr).toContain('invalid_grant');
    expect(api.refused).toEqual(['invalid_grant']);
    const tested = await place.automate(['connections', 'test', 'crm', '--path', '/1'], { env: place.env });
    expect([tested.code, tested.stderr]).toEqual([7, expect.stringContaining('log in: automate connections login crm')]);
    await logIn(place);
    expect(await run()).toMatchObject({ code: 0 });
  });

  test('is refreshed only once by two simultaneous runs', async () => {
    const { api, place } = await scene();
    await logIn(place);
    api.forget();
    const args = (out: string) => ['run', 'flow.yaml', '--in', 'rows.csv', '--out', out];
    const runs = ['a.csv', 'b.csv'].map((out) => place.start(args(out), { env: place.env }).finished);
    for (const run of runs) expect(await run).toMatchObject({ code: 0 });
    expect([api.tokenRequests.length, api.refused]).toEqual([2, []]);
  });

  test.each(['basic', 'body'] as const)('sends the client secret to the token server (%s)', async (client) => {
    const { api, place, run } = await scene({ client }, '--client-credential', 'crm-client', '--client-auth', client);
    await place.automate(['credentials', 'set', 'crm-client'], { env: place.env, stdin: clientSecret });
    expect(await logIn(place)).toMatchObject({ code: 0 });
    api.forget();
    expect(await run()).toMatchObject({ code: 0 });
    expect(api.tokenRequests).toHaveLength(2);
  });

  test('sends the client secret to no server that is not one of its hosts', async () => {
    const { api, place } = await scene({ client: 'basic' }, '--client-credential', 'crm-client', '--client-auth', 'basic');
    const set = ['credentials', 'set', 'crm-client', '--hosts', 'other.example'];
    expect(await place.automate(set, { env: place.env, stdin: clientSecret })).toMatchObject({ code: 0 });
    const { code, stderr } = await logIn(place);
    expect([code, stderr]).toEqual([7, expect.stringContaining('"crm-client" can be sent only to other.example')]);
    expect(api.tokenRequests).toEqual([]);
  });

  test('finds the token server through openid-configuration', async () => {
    const { api, place, run } = await scene({ wellKnown: '/.well-known/openid-configuration' });
    expect(await logIn(place)).toMatchObject({ code: 0 });
    expect(api.requests.slice(0, 2).map(({ path }) => path)).toEqual([
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ]);
    expect(await run()).toMatchObject({ code: 0 });
    expect((await place.automate(['credentials', 'list'], { env: place.env })).stdout).toContain('crm-login');
    expect(await place.automate(['connections', 'remove', 'crm'], { env: place.env })).toMatchObject({ code: 0 });
    expect((await place.automate(['credentials', 'list'], { env: place.env })).stdout).not.toContain('crm-login');
    expect((await readdir(place.path('.automate'))).filter((name) => name.includes('lock'))).toEqual([]);
  });

  test('works for a connection that the flow defines, and sends the token to no other host', async () => {
    const { api, place } = await scene();
    const urls = `authorize_url: "${api.origin}/authorize", token_url: "${api.origin}/token"`;
    const auth = `{ type: oauth2_authorization_code, credential: own, client_id: me, ${urls} }`;
    const text = (base: string) => `connections: { crm: { type: http, base_url: "${base}", auth: ${auth} } }\n${flow}`;
    await place.write('own.yaml', text(api.origin));
    const args = (file: string) => ['run', file, '--in', 'rows.csv', '--out', 'own.csv', '--force'];
    const before = await place.automate(args('own.yaml'), { env: place.env });
    expect([before.code, before.stderr]).toEqual([7, expect.stringContaining('automate connections login crm --flow own.yaml')]);
    expect(await logIn(place, '--flow', place.path('own.yaml'))).toMatchObject({ code: 0 });
    expect(await place.automate(args('own.yaml'), { env: place.env })).toMatchObject({ code: 0 });
    const other = await loginApi();
    await place.write('other.yaml', text(other.origin));
    const refused = await place.automate(args('other.yaml'), { env: place.env });
    expect([refused.code, other.requests]).toEqual([7, []]);
  });
});
