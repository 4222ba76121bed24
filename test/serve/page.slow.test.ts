import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { axeProblems, hasBrowser, openPage, unlessBrowser } from '../helpers/browser.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { killRuns, ledgerIn, spend } from '../helpers/ledger.ts';
import { vaultPlace } from '../helpers/light-vault.ts';
import { linkOf, pageSession as session } from '../helpers/page-session.ts';
import { type Serving, servingHere as serving } from '../helpers/serving.ts';

const upstream = () => httpServer(({ path }, response) => json(response, { name: `n${path}`, plan: 'pro' }, path === '/3' ? 404 : 200));

/** Opens a server's page in a browser, and logs in. */
async function loggedIn(server: Serving) {
  const page = await openPage(await linkOf(server));
  await page.waitForSelector('nav');
  return page;
}

describe('the HTTP routes of the web page', () => {
  test("are refused without a session, except the page's own files, which contain only code", async () => {
    const { origin } = await upstream();
    const { send } = await serving({ one: askingFlow(origin) });
    for (const path of ['server', 'keys', 'billing', 'audit', 'connections', 'library', 'openapi.json', 'flows/one/text', 'runs/x/view'])
      expect([path, (await send(`/ui/${path}`)).status]).toEqual([path, 403]);
    for (const path of ['/', '/login', '/flows/one', '/settings/keys']) {
      const response = await send(path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await response.text()).toContain('/assets/page.js');
    }
    expect((await send('/assets/page.css')).headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect((await send('/assets/../package.json')).status).toBe(404);
  });

  test('can create, rotate and revoke API keys, and write the audit log', async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin) });
    const ask = await session(server);
    const made = (await (await ask('/ui/keys', 'POST', { name: 'crm', scopes: ['run', 'read'], expires: '90d' })).json()) as {
      key: string;
      id: string;
    };
    expect(made.key).toMatch(/^amk_[0-9A-Za-z]{49}$/);
    expect((await server.send('/v1/flows', { key: made.key })).status).toBe(200);
    const listed = await (await ask('/ui/keys')).text();
    expect(listed).toContain('"name":"crm"');
    expect(listed).not.toContain(made.key);
    const rotated = (await (await ask(`/ui/keys/${made.id}/rotate`, 'POST', { overlap: '0s' })).json()) as { key: string };
    await expect.poll(async () => (await server.send('/v1/flows', { key: made.key })).status).toBe(401);
    expect((await server.send('/v1/flows', { key: rotated.key })).status).toBe(200);
    const changed = await ask(`/ui/keys/${made.id}`, 'PATCH', { credits: 5, expires: null, rate: '7/min', flows: ['other'] });
    expect([changed.status, await changed.json()]).toEqual([
      200,
      expect.objectContaining({ name: 'crm', credits: 5, expires_at: null, rate: '7/min', flows: ['other'] }),
    ]);
    await expect.poll(async () => (await server.send('/v1/flows/one', { key: rotated.key })).status).toBe(404);
    const refused = await ask(`/ui/keys/${made.id}`, 'PATCH', {});
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ detail: 'expected a limit to change, found none' }),
    ]);
    expect((await ask(`/ui/keys/${made.id}/revoke`, 'POST', {})).status).toBe(204);
    await expect.poll(async () => (await server.send('/v1/flows', { key: rotated.key })).status).toBe(401);
    const { entries } = (await (await ask('/ui/audit')).json()) as { entries: { who: string; what: string; on: string }[] };
    const own = entries.filter(({ who }) => who === 'session').map(({ what, on }) => [what, on]);
    expect(own.slice(0, 4)).toEqual([
      ['key.revoke', 'crm'],
      ['key.change', 'crm'],
      ['key.rotate', 'crm'],
      ['key.create', 'crm'],
    ]);
    expect((await ask(`/ui/keys/${made.id}`, 'PATCH', { credits: 5 })).status).toBe(400);
    const wrong = await ask('/ui/keys', 'POST', { name: 'x', rate: 'often' });
    expect([wrong.status, await wrong.json()]).toEqual([400, expect.objectContaining({ detail: expect.stringContaining('600/min') })]);
  });

  test('can show the credits and set the monthly allowance', async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin) });
    const ask = await session(server);
    expect((await ask('/ui/billing/allowance', 'PUT', { credits: 500 })).status).toBe(204);
    expect(await (await ask('/ui/billing')).json()).toMatchObject({ used: 0, allowance: 500, remaining: 500, by_flow: [] });
    expect((await server.place.automate(['credits', '--json'])).stdout).toContain('"limit": 500');
    expect((await ask('/ui/billing/allowance', 'PUT', { credits: -1 })).status).toBe(400);
  });

  test('show no credits as held by a run that has died', async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin) });
    const ask = await session(server);
    const home = server.place.path('.automate');
    expect((await ask('/ui/billing/allowance', 'PUT', { credits: 5000 })).status).toBe(204);
    const ledger = ledgerIn(home, { run: 'dead', wallNow: Date.now });
    spend(ledger, 'a', 3);
    expect(await (await ask('/ui/billing')).json()).toMatchObject({ used: 0, held: 256 });
    killRuns(home).close();
    expect(await (await ask('/ui/billing')).json()).toMatchObject({ used: 3, held: 0, remaining: 4997 });
  });

  test('can save a map without changing other bytes, unless the flow was changed in between', async () => {
    const { origin } = await upstream();
    const text = `# mine\nnodes:\n  - type: http # here\n    id: ask\n    url: ${origin}/{{id}}\n    map:\n      name: name\n    timeout: 5s   # odd  blanks\n`;
    const server = await serving({ one: text }, { args: ['--edit', '--allow-http'] });
    const ask = await session(server);
    const { etag, nodes, ...shown } = (await (await ask('/ui/flows/one/text')).json()) as { etag: string; nodes: unknown[] };
    expect(shown).toEqual({ file: 'one.yaml', text, requests: [{ id: 'ask', method: 'GET', url: `${origin}/{{id}}` }] });
    expect(nodes).toEqual([{ id: 'ask', yaml: expect.stringContaining('url:'), map: { name: 'name' } }]);
    const path = '/ui/flows/one/nodes/ask/map';
    expect((await ask(path, 'PUT', { map: { name: 'name', plan: 'plan' } }, { 'if-match': '"other"' })).status).toBe(412);
    expect((await ask(path, 'PUT', { map: { name: 'a..b' } }, { 'if-match': etag })).status).toBe(409);
    expect(await readFile(server.place.path('flows/one.yaml'), 'utf8')).toBe(text);
    expect((await ask(path, 'PUT', { map: { name: 'name', plan: 'plan' } }, { 'if-match': etag })).status).toBe(204);
    expect(await readFile(server.place.path('flows/one.yaml'), 'utf8')).toBe(
      text.replace('name: name\n', 'name: name\n      plan: plan\n'),
    );
    const closed = await serving({ one: text });
    expect((await (await session(closed))(path, 'PUT', { map: {} }, { 'if-match': etag })).status).toBe(404);
  });

  test('can test a connection with its secret, and keep nothing if the test fails', async () => {
    const api = await httpServer(({ headers }, response) =>
      json(response, {}, headers.authorization === 'Bearer right-secret' ? 200 : 401),
    );
    const place = await vaultPlace();
    const server = await serving({}, { place, env: { ...place.env, AUTOMATE_CREDENTIAL_BACKEND: 'vault' } });
    const ask = await session(server);
    const given = {
      type: 'http',
      name: 'crm',
      url: api.origin,
      auth: { type: 'bearer', credential: 'crm-secret' },
      secret: 'wrong-secret',
    };
    const failed = (await (await ask('/ui/connections/tests', 'POST', given)).json()) as { ok: boolean; check: string[] };
    expect(failed).toMatchObject({ ok: false, check: expect.arrayContaining(['the URL']) });
    expect((await server.place.automate(['credentials', 'list', '--json'])).stdout).not.toContain('crm-secret');
    expect((await ask('/ui/connections', 'POST', { ...given, secret: 'right-secret' })).status).toBe(201);
    expect(await (await ask('/ui/connections/crm/tests', 'POST')).json()).toMatchObject({ ok: true });
    const shown = await (await ask('/ui/connections')).text();
    expect(shown).toContain('"credential":"crm-secret"');
    expect(shown).not.toContain('right-secret');
    const replacing = await ask('/ui/connections/tests', 'POST', { ...given, name: 'other', secret: 'another' });
    expect([replacing.status, await replacing.text()]).toEqual([400, expect.stringContaining('there is a credential')]);
    expect((await ask('/ui/connections', 'POST', { ...given, name: 'other', command: 'sh' })).status).toBe(400);
    expect((await ask('/ui/connections/crm', 'DELETE')).status).toBe(204);
    expect(await (await ask('/ui/connections')).json()).toEqual({ connections: [] });
  });

  test("can show a run's figures and its report", async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin) });
    const ask = await session(server);
    const body = { method: 'POST', body: 'id\n1\n2\n3\n', headers: { 'content-type': 'text/csv', prefer: 'wait=30' } };
    const key = server.key({ scopes: ['run'] });
    const run = (await (await server.send('/v1/flows/one/runs', { ...body, key })).json()) as { id: string; state: string };
    expect(run.state).toBe('finished');
    const view = await (await ask(`/ui/runs/${run.id}/view`)).json();
    expect(view).toMatchObject({
      flow: 'one',
      input: 'input.csv',
      counts: { written: 2, failed: 1 },
      statuses: [
        { status: '200', count: 2 },
        { status: '404', count: 1 },
      ],
    });
    const report = await server.send(`/v1/runs/${run.id}/report`, { key });
    expect(report.headers.get('content-security-policy')).toContain('sandbox');
    const html = await report.text();
    expect(html).toContain('2 of 2');
    expect(html + JSON.stringify(view)).not.toContain(server.place.folder);
    expect((await server.send(`/v1/runs/${run.id}/view`, { key })).status).toBe(404);
  });
});

describe.skipIf(!hasBrowser)(`the web page in a browser, with a real server${unlessBrowser}`, () => {
  test('asks for the variables that callers can set in a plan, a run and a test request', async () => {
    const { origin } = await upstream();
    const flow = `vars: { region: null, size: 10 }\nopen_vars: [region, size]\nnodes: [{ type: http, url: "${origin}/{{id}}?r={{vars.region}}&n={{vars.size}}" }]\n`;
    const server = await serving({ one: flow });
    const page = await loggedIn(server);
    await page.getByRole('link', { name: 'one' }).click();
    await page.getByText('/v1/flows/one/calls?var.region=...').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByLabel('File of records').setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from('id\n1\n') });
    expect(await page.getByRole('button', { name: 'Plan' }).isDisabled()).toBe(true);
    await page.getByLabel('Variable region').fill('eu');
    await page.getByRole('button', { name: 'Plan' }).click();
    await page.getByText('The first request').click();
    await page.getByText('/1?r=eu&n=10').waitFor();
    await page.getByLabel('Variable size').fill('5');
    await page.getByRole('button', { name: 'Plan' }).click();
    await page.getByRole('button', { name: 'Run 1 record' }).click();
    await page.getByText('finished').first().waitFor();
    await page.goto(new URL('/flows/one/test', page.url()).href);
    await page.getByLabel('id', { exact: true }).fill('7');
    await page.getByLabel('Variable region').fill('us');
    await page.getByText('Only show it, send nothing').click();
    await page.getByRole('button', { name: 'Show the request' }).click();
    await page.getByText('/7?r=us&n=10').waitFor();
    expect(await axeProblems(page)).toEqual([]);
  });

  test('works from the login through a run to the usage figures', async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin) }, { args: ['--edit'] });
    const page = await loggedIn(server);
    await page.getByRole('link', { name: 'one' }).click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page
      .getByLabel('File of records')
      .setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from('id\n1\n2\n3\n') });
    await page.getByRole('button', { name: 'Run 3 records' }).click();
    await page.getByText('finished, some failed').waitFor();
    await page.getByText('2 of 2').first().waitFor();
    await page.getByRole('button', { name: 'Retry failed' }).waitFor();
    expect(await axeProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('nightly');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const value = await page.getByRole('region', { name: 'Value of the key' }).textContent();
    expect((await server.send('/v1/flows', { key: (value ?? '').trim() })).status).toBe(200);
    await page.getByRole('link', { name: 'Usage and limits' }).click();
    await page.getByText('unlimited').first().waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('key.create').waitFor();
    await page.getByRole('link', { name: 'HTTP interface' }).click();
    await page.getByText('/v1/flows/{flow}/calls').first().waitFor();
    expect(page.said).toEqual([]);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('automate serve login').waitFor();
    await page.goto(`${server.address}/problems/key-expired`);
    await page.getByText('The key was made for a limited time').waitFor();
    expect(await axeProblems(page)).toEqual([]);
  });

  test('can build a map from a response and save it', async () => {
    const { origin } = await upstream();
    const server = await serving(
      { one: `nodes:\n  - type: http\n    id: ask\n    url: ${origin}/{{id}}\n` },
      { args: ['--edit', '--allow-http'] },
    );
    const page = await loggedIn(server);
    await page.goto(`${server.address}/flows/one/test`);
    await page.getByLabel('id', { exact: true }).fill('1');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'plan', exact: true }).press('Enter');
    await page.getByRole('button', { name: 'Save to one.yaml' }).click();
    await expect.poll(() => readFile(server.place.path('flows/one.yaml'), 'utf8')).toContain('    map:\n      plan: plan\n');
  });
});
