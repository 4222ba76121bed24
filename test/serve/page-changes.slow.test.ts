import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { listeningServer } from '../helpers/mcp/servers.ts';
import { linkOf, pageSession } from '../helpers/page-session.ts';
import { posting, servingHere as serving, serving as servingAlone } from '../helpers/serving.ts';

describe("the server's web page", () => {
  test('saves a map, keeps the comments on its lines, and accepts a field called __proto__', async () => {
    const { origin } = await askedServer();
    const text = `nodes:\n  - type: http\n    id: ask\n    url: ${origin}/{{id}}\n    map:   # keep me\n      name: name   # trailing\n`;
    const server = await serving({ ask: text }, { args: ['--edit'] });
    const ask = await pageSession(server);
    const { etag } = (await (await ask('/ui/flows/ask/text')).json()) as { etag: string };
    const map = JSON.parse('{"name":"name","__proto__":"plan"}') as object;
    const put = await ask('/ui/flows/ask/nodes/ask/map', 'PUT', { map }, { 'if-match': etag });
    const saved = await readFile(server.place.path('flows/ask.yaml'), 'utf8');
    expect([put.status, saved]).toEqual([204, `${text}      __proto__: plan\n`]);
    const wrong = await ask('/ui/flows/ask/nodes/ask/map', 'PUT', { map: { name: 7 } }, { 'if-match': etag });
    expect(wrong.status).toBe(400);
  });

  test('refuses the same connection names as the command does, and saves nothing', async () => {
    const server = await serving({});
    const ask = await pageSession(server);
    const add = (name: string) =>
      ask('/ui/connections', 'POST', { type: 'http', name, url: 'https://api.example.com', auth: { type: 'none' } });
    for (const name of ['../x', '__proto__', '', 'a b', '.a']) expect([name, (await add(name)).status]).toEqual([name, 400]);
    expect(await (await ask('/ui/connections')).json()).toEqual({ connections: [] });
    expect((await add('crm-2')).status).toBe(201);
  });

  test('records logins, logouts and refused login links in the audit log', async () => {
    const server = await serving({});
    for (let i = 0; i < 3; i++) await server.send('/ui/session', { ...posting({ token: 'wrong' }, { origin: server.address }) });
    const ask = await pageSession(server);
    await ask('/ui/session', 'DELETE');
    const { stdout } = await server.place.automate(['serve', 'login']);
    expect(stdout).toMatch('#');
    const again = await pageSession({ ...server, said: () => `page: ${stdout}` });
    const { entries } = (await (await again('/ui/audit')).json()) as { entries: { what: string; address: string; outcome: string }[] };
    expect(entries.map(({ what, address, outcome }) => [what, address, outcome])).toEqual([
      ['session.open', '127.0.0.1', 'ok'],
      ['session.close', '127.0.0.1', 'ok'],
      ['session.open', '127.0.0.1', 'ok'],
      ['session.open', '127.0.0.1', 'session-missing'],
    ]);
  });
});

test('only one of several clients can save a map with the same ETag', async () => {
  const { origin } = await askedServer();
  const server = await serving(
    { ask: `nodes:\n  - type: http\n    id: ask\n    url: ${origin}/{{id}}\n    map:\n      name: name\n` },
    { args: ['--edit'] },
  );
  const ask = await pageSession(server);
  const { etag } = (await (await ask('/ui/flows/ask/text')).json()) as { etag: string };
  const save = (field: string) => ask('/ui/flows/ask/nodes/ask/map', 'PUT', { map: { [field]: 'name' } }, { 'if-match': etag });
  const saves = await Promise.all(Array.from({ length: 20 }, (_, index) => save(`f${index}`)));
  expect(saves.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 19 }, () => 412)]);
});

describe('an existing credential on the page', () => {
  const auth = { type: 'bearer', credential: 'canary' };

  test('is sent only where a flow or connection already sends it, or to its allowed hosts', async () => {
    const heard: unknown[] = [];
    const api = () =>
      httpServer(({ headers }, response) => {
        heard.push(headers.authorization);
        json(response, {});
      });
    const [own, evil, listed] = [await api(), await api(), await api()];
    const place = await vaultPlace();
    const env = { ...place.env, AUTOMATE_CREDENTIAL_BACKEND: 'vault' };
    const set = (name: string, ...more: string[]) =>
      place.automate(['credentials', 'set', name, ...more], { env, stdin: 'CANARYsecret123' });
    await set('canary');
    await set('listed', '--hosts', new URL(listed.origin).host);
    const flow = `nodes: [{ type: http, url: "${own.origin}/{{id}}", auth: { type: bearer, credential: canary } }]`;
    const server = await serving({ one: flow }, { place, env });
    const ask = await pageSession(server);
    const test = (url: string, credential = 'canary') =>
      ask('/ui/connections/tests', 'POST', { type: 'http', name: 'evil', url, auth: { ...auth, credential } });
    const refused = await test(evil.origin);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('is not meant for')]);
    expect((await ask('/ui/connections', 'POST', { type: 'http', name: 'evil', url: evil.origin, auth })).status).toBe(400);
    expect((await test(evil.origin, 'listed')).status).toBe(400);
    expect(heard).toEqual([]);
    expect(await (await test(own.origin)).json()).toMatchObject({ ok: true });
    expect(await (await test(listed.origin, 'listed')).json()).toMatchObject({ ok: true });
    expect(heard).toEqual(['Bearer CANARYsecret123', 'Bearer CANARYsecret123']);
  });

  test('is not used if the user has typed a secret', async () => {
    const server = await serving({}, { env: { AUTOMATE_CREDENTIAL_CANARY: 'CANARYsecret123' } });
    const ask = await pageSession(server);
    const given = { type: 'http', name: 'evil', url: 'http://127.0.0.1:9', auth, secret: 'x' };
    expect((await ask('/ui/connections/tests', 'POST', given)).status).toBe(400);
  });
});

test('a connection that is tested before it is saved counts as tested', async () => {
  const { url } = await listeningServer('streamableHttp');
  const server = await serving({});
  const ask = await pageSession(server);
  const given = { type: 'mcp', name: 'tools', url, auth: { type: 'none' } };
  expect(await (await ask('/ui/connections/tests', 'POST', given)).json()).toMatchObject({ ok: true });
  expect((await ask('/ui/connections', 'POST', given)).status).toBe(201);
  expect((await server.place.automate(['nodes'])).stdout).not.toContain('not fetched yet');
  expect((await ask('/ui/connections', 'POST', { ...given, name: 'other' })).status).toBe(201);
  expect(await (await ask('/ui/connections')).json()).toEqual({
    connections: [
      expect.objectContaining({ name: 'tools', tested_at: expect.any(String), problem: '' }),
      expect.objectContaining({ name: 'other', tested_at: null }),
    ],
  });
});

test("automate serve --open starts the browser without automate's environment variables", async () => {
  const server = await serving({});
  await server.end();
  const { place } = server;
  await place.write('browser', '#!/bin/sh\n{ echo "$1"; env; } > opened.part && mv opened.part opened\n');
  const { chmod } = await import('node:fs/promises');
  await chmod(place.path('browser'), 0o755);
  const env = { BROWSER: place.path('browser'), AUTOMATE_CREDENTIAL_CRM: 'a secret' };
  const next = await servingAlone({}, { place, env, args: ['--open'] });
  await expect.poll(() => readFile(place.path('opened'), 'utf8').catch(() => '')).not.toBe('');
  const [link, ...variables] = (await readFile(place.path('opened'), 'utf8')).split('\n');
  expect(link).toBe(await linkOf(next));
  expect(variables.join()).not.toContain('AUTOMATE_');
});
