import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

const upstream = () => httpServer(({ path }, response) => json(response, { name: `n${path}` }));

/** Connects the SDK's own client with an API key. The mode "legacy" opens a session; "auto" uses the newest revision of the protocol. */
async function connected(
  { address }: Serving,
  key: string,
  mode: 'legacy' | 'auto' = 'legacy',
  { query = '', onChanged }: { readonly query?: string; readonly onChanged?: () => void } = {},
): Promise<Client> {
  const headers = { authorization: `Bearer ${key}` };
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, ...(onChanged && { listChanged: { tools: { onChanged } } }) },
  );
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp${query}`), { requestInit: { headers } }));
  return client;
}

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

const initialize = message('initialize', {
  ...{ protocolVersion: '2025-11-25', capabilities: {} },
  clientInfo: { name: 'test', version: '1' },
});

const asMcp = { accept: 'application/json, text/event-stream' };

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe.each(['legacy', 'auto'] as const)('the SDK\'s MCP client over HTTP, in the mode "%s"', (mode) => {
  test('can list the flows of its API key, and call a flow', async () => {
    const { origin } = await upstream();
    const server = await serving({ one: askingFlow(origin), two: askingFlow(origin) });
    const client = await connected(server, server.key({ flows: ['two'] }), mode);
    expect(await names(client)).toEqual(['two']);
    const rows = [{ id: '7', name: 'n/7' }];
    expect(await client.callTool({ name: 'two', arguments: { id: '7' } })).toMatchObject({
      structuredContent: { rows },
      content: [{ type: 'text', text: JSON.stringify({ rows }) }],
    });
    await expect(client.callTool({ name: 'one', arguments: { id: '7' } })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'two', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  test("receives progress messages, and can cancel a call, which aborts the call's requests", async () => {
    const cancel = new AbortController();
    let left = () => {};
    const closed = new Promise<void>((resolve) => {
      left = resolve;
    });
    const told: (string | undefined)[] = [];
    const { origin } = await httpServer(async ({ path }, response) => {
      if (path === '/first') return json(response, { name: 'one' });
      response.on('close', left);
      await expect.poll(() => told).toHaveLength(1);
      return cancel.abort();
    });
    const flow = `nodes: [${['first', '{{id}}'].map((path) => `{ type: http, url: "${origin}/${path}", map: [name] }`).join(', ')}]`;
    const server = await serving({ ask: flow });
    const client = await connected(server, server.key(), mode);
    const onprogress = (progress: { message?: string }) => void told.push(progress.message);
    const call = client.callTool({ name: 'ask', arguments: { id: '7' } }, { signal: cancel.signal, onprogress });
    await expect(call).rejects.toThrow();
    await closed;
    expect(told).toEqual(['http-1: 1 answer']);
  });
});

describe('a call to the server over MCP', () => {
  test('counts for its key in the records, credits and audit log, and is limited by the quota', async () => {
    const { origin } = await upstream();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key({ quota: 1 });
    const client = await connected(server, key);
    const call = () => client.callTool({ name: 'ask', arguments: { id: '7' } });
    expect(await call()).not.toHaveProperty('isError', true);
    const refused = await call();
    expect(refused).toMatchObject({ isError: true });
    expect((refused.content as { text: string }[])[0]?.text).toMatch(
      /the quota of 1 credits? of the key "crm" .* is used up.*automate keys change crm --credits N$/s,
    );
    const usage = await (await server.send('/v1/usage', { key })).json();
    expect(usage).toMatchObject({ records: 1, credits: 1, remaining: 0 });
    await client.close();
    await server.end();
    const { ServerDatabase } = await import('../../src/serve/store/database.ts');
    const { AuditStore } = await import('../../src/serve/store/audit.ts');
    const database = new ServerDatabase(server.place.path('.automate'));
    onTestFinished(() => database.close());
    const entries = new AuditStore(database, Date.now).read({ limit: 10 }).filter(({ what }) => what === 'flow.call');
    expect(entries.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['ask', 'credits-used-up'],
      ['ask', 'ok'],
    ]);
  });

  test('reveals no secret of the flow in rows, errors or progress messages', async () => {
    const secret = 'canary-7f3a91c2d4';
    const { origin } = await httpServer(({ path, headers }, response) =>
      json(response, { name: headers.authorization, error: headers.authorization }, path === '/bad' ? 503 : 200),
    );
    const auth = ', auth: { type: bearer, credential: crm }, retry: { max: 1, backoff: 1ms }';
    const server = await serving({ ask: askingFlow(origin, auth) }, { env: { AUTOMATE_CREDENTIAL_CRM: secret } });
    const client = await connected(server, server.key());
    const told: unknown[] = [];
    const call = (id: string) => client.callTool({ name: 'ask', arguments: { id } }, { onprogress: (one) => void told.push(one) });
    const answers = [await call('good'), await call('bad')];
    expect(answers).toMatchObject([{ structuredContent: { rows: [{ name: 'Bearer ***' }] } }, { isError: true }]);
    expect(JSON.stringify([answers, told, server.said()])).not.toContain(secret);
    expect(JSON.stringify(told)).toContain('retries after');
  });

  test('can set the variables that the flow offers to callers', async () => {
    const flow = 'vars: { region: null }\nopen_vars: [region]\nnodes: [{ type: set, fields: { r: "{{vars.region}}" } }]';
    const server = await serving({ f: flow });
    const key = server.key();
    const given = await connected(server, key, 'legacy', { query: '?var.region=eu' });
    expect(await given.callTool({ name: 'f', arguments: {} })).toMatchObject({ structuredContent: { rows: [{ r: 'eu' }] } });
    const none = await connected(server, key);
    expect(await none.callTool({ name: 'f', arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('the variable "region" has no value') }],
    });
  });
});

test.each(['legacy', 'auto'] as const)('MCP clients are notified when the flows in the folder change, in the mode "%s"', async (mode) => {
  const server = await serving({ one: askingFlow('http://127.0.0.1:1') });
  let onChanged = () => {};
  const changed = new Promise<void>((resolve) => {
    onChanged = resolve;
  });
  const client = await connected(server, server.key(), mode, { onChanged: () => onChanged() });
  expect(await names(client)).toEqual(['one']);
  await server.place.write('flows/two.yaml', askingFlow('http://127.0.0.1:1'));
  await changed;
  expect(await names(client)).toEqual(['one', 'two']);
});

describe('an MCP request to the server', () => {
  test.each([
    ['without a key', 401, {}, initialize],
    ['with the Origin of a different site', 403, { origin: 'http://evil.example' }, initialize],
    ['with the Origin null', 403, { origin: 'null' }, initialize],
    ['without a session', 400, {}, message('tools/list')],
    ['with an unknown session', 404, { 'mcp-session-id': 'x' }, message('tools/list')],
    ['with a body above 1 MB', 413, {}, { ...initialize, more: 'x'.repeat(1024 * 1024) }],
    ['with an unsupported content type', 415, { 'content-type': 'text/plain' }, initialize],
    ['that does not accept events', 406, { accept: 'text/html' }, initialize],
  ])('%s is refused with the status %i', async (what, status, headers, body) => {
    const server = await serving({});
    const key = what === 'without a key' ? {} : { key: server.key() };
    const answer = await server.send('/mcp', { ...posting(body, { ...asMcp, ...headers }), ...key });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  });

  test('is refused with 403 if its key is not allowed to run flows', async () => {
    const server = await serving({});
    const answer = await server.send('/mcp', { ...posting(initialize, asMcp), key: server.key({ scopes: ['read'] }) });
    expect([answer.status, await answer.json()]).toEqual([403, expect.objectContaining({ type: '/problems/scope-missing', scope: 'run' })]);
  });

  test('is refused with 405 if its HTTP method is not supported', async () => {
    const server = await serving({});
    const answer = await server.send('/mcp', { method: 'PUT', key: server.key() });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
  });

  test('is refused with 404 if it uses the session of a different key', async () => {
    const server = await serving({});
    const opened = await server.send('/mcp', { ...posting(initialize, asMcp), key: server.key() });
    const session = opened.headers.get('mcp-session-id') as string;
    const send = (key: string) => server.send('/mcp', { ...posting(message('tools/list'), { ...asMcp, 'mcp-session-id': session }), key });
    expect((await send(server.key({ name: 'other' }))).status).toBe(404);
  });

  test('is refused with 404 if the server runs with --no-mcp', async () => {
    const server = await serving({}, { args: ['--no-mcp'] });
    expect((await server.send('/mcp', { ...posting(initialize, asMcp), key: server.key() })).status).toBe(404);
  });
});

test("an MCP client's event streams end within a second after its key is revoked", async () => {
  const server = await serving({});
  const key = server.key();
  const opened = await server.send('/mcp', { ...posting(initialize, asMcp), key });
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
  const stream = await server.send('/mcp', { headers: { accept: 'text/event-stream', ...session }, key });
  expect(stream.status).toBe(200);
  const ended = stream.text().then(
    () => 'ended',
    () => 'cut off',
  );
  await server.place.automate(['keys', 'revoke', 'crm']);
  expect(await ended).toBe('cut off');
});

test("an MCP client's event stream does not delay the end of the server", async () => {
  const server = await serving({});
  const client = await connected(server, server.key());
  const closed = new Promise<void>((resolve) => {
    client.onerror = () => resolve();
  });
  expect((await server.end()).code).toBe(0);
  await closed;
});

test('the requests of an MCP call are aborted when the client disconnects', async () => {
  let [asked, left] = [() => {}, () => {}];
  const [sent, closed] = [new Promise<void>((resolve) => (asked = resolve)), new Promise<void>((resolve) => (left = resolve))];
  const { origin } = await httpServer((_, response) => {
    response.on('close', left);
    asked();
  });
  const server = await serving({ ask: askingFlow(origin) });
  const client = await connected(server, server.key());
  const call = client.callTool({ name: 'ask', arguments: { id: 1 } });
  const ended = expect(call).rejects.toThrow();
  await sent;
  await client.close();
  await ended;
  await closed;
});

test('an MCP session no longer exists once its client has ended it', async () => {
  const server = await serving({});
  const key = server.key();
  const opened = await server.send('/mcp', { ...posting(initialize, asMcp), key });
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
  expect((await server.send('/mcp', { method: 'DELETE', headers: session, key })).status).toBe(200);
  expect((await server.send('/mcp', { ...posting(message('tools/list'), { ...asMcp, ...session }), key })).status).toBe(404);
});
