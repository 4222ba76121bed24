import { expect, test } from 'vitest';
import { savedConnections } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { pageSession } from '../helpers/page-session.ts';
import { servingHere as serving } from '../helpers/serving.ts';

test('the server uses one TCP connection for thirty tests of a saved connection from the page', async () => {
  const api = await httpServer();
  const server = await serving({});
  const ask = await pageSession(server);
  const given = { type: 'http', name: 'crm', url: api.origin, auth: { type: 'none' } };
  expect((await ask('/ui/connections', 'POST', given)).status).toBe(201);
  for (let count = 0; count < 30; count++)
    expect(await (await ask('/ui/connections/crm/tests', 'POST')).json()).toMatchObject({ ok: true });
  expect([api.requests.length, api.connections()]).toEqual([30, 1]);
});

test('the page can save a connection with HTTP/2, which must be true or false', async () => {
  const server = await serving({});
  const ask = await pageSession(server);
  const given = { type: 'http', name: 'push', url: 'https://api.example.com', auth: { type: 'none' } };
  expect((await ask('/ui/connections', 'POST', { ...given, http2: 'yes' })).status).toBe(400);
  expect((await ask('/ui/connections', 'POST', { ...given, http2: true })).status).toBe(201);
  expect(JSON.stringify(await savedConnections(server.place))).toContain('"http2":true');
});
