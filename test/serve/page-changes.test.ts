import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer } from '../helpers/asking.ts';
import { linkOf, pageSession } from '../helpers/page-session.ts';
import { posting, serving } from '../helpers/serving.ts';

describe('the page', () => {
  test('saves a map with the comments of its lines, and a field named __proto__', async () => {
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

  test('refuses the names of connections that the command refuses, and saves nothing', async () => {
    const server = await serving({});
    const ask = await pageSession(server);
    const add = (name: string) =>
      ask('/ui/connections', 'POST', { type: 'http', name, url: 'https://api.example.com', auth: { type: 'none' } });
    for (const name of ['../x', '__proto__', '', 'a b', '.a']) expect([name, (await add(name)).status]).toEqual([name, 400]);
    expect(await (await ask('/ui/connections')).json()).toEqual({ connections: [] });
    expect((await add('crm-2')).status).toBe(201);
  });

  test('notes log-ins, log-outs and refused links in the audit, one refused link a minute and address', async () => {
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

test('serve --open opens the page in the browser, without the variables of automate', async () => {
  const server = await serving({});
  await server.end();
  const { place } = server;
  await place.write('browser', '#!/bin/sh\n{ echo "$1"; env; } > opened.part && mv opened.part opened\n');
  const { chmod } = await import('node:fs/promises');
  await chmod(place.path('browser'), 0o755);
  const env = { BROWSER: place.path('browser'), AUTOMATE_CREDENTIAL_CRM: 'a secret' };
  const next = await serving({}, { place, env, args: ['--open'] });
  await expect.poll(() => readFile(place.path('opened'), 'utf8').catch(() => '')).not.toBe('');
  const [link, ...variables] = (await readFile(place.path('opened'), 'utf8')).split('\n');
  expect(link).toBe(await linkOf(next));
  expect(variables.join()).not.toContain('AUTOMATE_');
});
