import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../src/core/auth/auth.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Handler, httpServer, json, type SeenRequest } from '../helpers/http-server.ts';
import { listeningServer } from '../helpers/mcp/servers.ts';
import { remote, secretOf, useTools } from '../helpers/mcp/tools.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { unusedPort } from '../helpers/raw-server.ts';

const certificates = makeCertificates();

describe('the MCP server server-everything at a URL', () => {
  test('can be called over Streamable HTTP', async () => {
    const { url } = await listeningServer('streamableHttp');
    const { tools, call } = useTools();
    expect(await tools.server(remote(url))).toMatchObject({
      name: 'mcp-servers/everything',
      transport: 'streamable HTTP',
      protocol: '2025-11-25',
    });
    expect(await call(remote(url), 'echo', { message: 'hi' })).toMatchObject({ body: { text: 'Echo: hi' } });
  });

  test('can be called over SSE if it does not support Streamable HTTP', async () => {
    const { url } = await listeningServer('sse');
    const { tools, call } = useTools();
    expect(await tools.server(remote(url))).toMatchObject({ transport: 'SSE' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => call(remote(url), 'echo', { message: String(index) })));
    expect(answers.map((answer) => 'text' in answer && answer.text)).toEqual(Array.from({ length: 20 }, (_, index) => `Echo: ${index}`));
  });

  test('gets a new session after it has forgotten the old session', async () => {
    const port = String(await unusedPort());
    const first = await listeningServer('streamableHttp', port);
    const { call, events } = useTools();
    const connection = remote(first.url);
    await call(connection, 'echo', { message: '1' });
    await first.stop();
    expect(await call(connection, 'echo', { message: '2' })).toMatchObject({ kind: 'network', retryable: true });
    await listeningServer('streamableHttp', port);
    expect(await call(connection, 'echo', { message: '3' })).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      message: expect.stringContaining('no longer knows the session'),
    });
    expect(await call(connection, 'echo', { message: '3' })).toMatchObject({ text: 'Echo: 3' });
    expect(events.filter(({ type }) => type === 'server-started')).toHaveLength(2);
  });
});

/** Starts a small MCP server over HTTP. `answer` can respond to a request itself, and then returns true. */
function mcpServer(answer: Handler = () => false, tls?: { readonly key: string; readonly cert: string }) {
  return httpServer(async (request, response) => {
    if ((await answer(request, response)) === true) return undefined;
    const { method, body } = request;
    if (method !== 'POST') return response.writeHead(405).end();
    const { id, method: asked, params = {} } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    if (asked === 'initialize') {
      return json(response, {
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } },
      });
    }
    if (asked === 'tools/list')
      return json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } });
    if (asked === 'tools/call')
      return json(response, {
        jsonrpc: '2.0',
        id,
        result: { content: [{ type: 'text', text: `{"got":${JSON.stringify(params.arguments)}}` }] },
      });
    return json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  }, tls);
}

const isCall = ({ body }: SeenRequest) => body.includes('"tools/call"');

describe('the credential for an MCP server at a URL', () => {
  const secrets = new Map([
    ['token', secretOf('s3cret-token')],
    ['login', secretOf('me:s3cret')],
    ['bound', secretOf('s3cret', ['api.example.com'])],
  ]);

  test.each<[string, Auth, string, string]>([
    ['bearer', { type: 'bearer', credential: 'token' }, 'authorization', 'Bearer s3cret-token'],
    ['api_key', { type: 'api_key', credential: 'token', header: 'X-Key' }, 'x-key', 's3cret-token'],
    ['basic', { type: 'basic', credential: 'login' }, 'authorization', `Basic ${Buffer.from('me:s3cret').toString('base64')}`],
  ])('authenticates every request if its type is %s, and its use is recorded', async (_, auth, header, value) => {
    const server = await mcpServer();
    const { call, used } = useTools({ secrets });
    expect(await call(remote(`${server.origin}/mcp`, auth, { 'X-Team': 'a' }), 'work', { id: '1' })).toMatchObject({
      body: { got: { id: '1' } },
    });
    expect(server.requests.map(({ headers }) => [headers[header], headers['x-team']])).toEqual(server.requests.map(() => [value, 'a']));
    expect(used).toContain(auth.credential);
  });

  test('is used to request an access token, and a new token if the first is revoked', async () => {
    let given = 0;
    const server = await mcpServer(({ path, headers }, response) => {
      if (path === '/token') {
        json(response, { access_token: `token-${++given}`, token_type: 'bearer', expires_in: 3600 });
        return true;
      }
      if (headers.authorization === `Bearer token-${given === 1 ? 1 : 2}` && !(given === 1 && server.requests.length > 6)) return false;
      response.writeHead(401).end();
      return true;
    });
    const auth: Auth = {
      type: 'oauth2_client_credentials',
      credential: 'token',
      tokenUrl: `${server.origin}/token`,
      clientId: 'me',
      scopes: [],
    };
    const { call, secrets: hidden } = useTools({ secrets });
    const connection = remote(`${server.origin}/mcp`, auth);
    for (let id = 1; id <= 6; id++) expect(await call(connection, 'work', { id })).toMatchObject({ body: { got: { id } } });
    expect(given).toBe(2);
    expect(hidden).toEqual(expect.arrayContaining(['token-1', 'token-2']));
  });

  test('is sent only to the hosts to which it is limited', async () => {
    const server = await mcpServer();
    const { call } = useTools({ secrets });
    const failure = await call(remote(`${server.origin}/mcp`, { type: 'bearer', credential: 'bound' }), 'work');
    expect(failure).toMatchObject({
      kind: 'request',
      sent: false,
      message: expect.stringContaining('can be sent only to api.example.com'),
    });
    expect(server.requests).toEqual([]);
  });

  test('is not sent after a redirect to a different origin', async () => {
    const elsewhere = await mcpServer();
    const server = await mcpServer((_, response) => {
      response.writeHead(307, { location: `${elsewhere.origin}/mcp` }).end();
      return true;
    });
    const { call } = useTools({ secrets });
    expect(await call(remote(`${server.origin}/mcp`, { type: 'bearer', credential: 'token' }), 'work')).toMatchObject({
      kind: 'http',
      status: 307,
      sent: false,
      message: `the MCP server "tools" answered 307: it redirects to ${elsewhere.origin}/mcp`,
    });
    expect(elsewhere.requests).toEqual([]);
  });

  test.each([401, 403])('makes a call fail with the reason and without a retry if the server responds with %i', async (status) => {
    const server = await mcpServer((_, response) => {
      response
        .writeHead(status, { 'www-authenticate': 'Bearer error="invalid_token", error_description="it expired"' })
        .end('no'.repeat(1000));
      return true;
    });
    const { call } = useTools({ secrets });
    const failure = await call(remote(`${server.origin}/mcp`, { type: 'bearer', credential: 'token' }), 'work');
    expect(failure).toMatchObject({
      kind: 'http',
      status,
      retryable: false,
      message: expect.stringMatching(/Bearer .*it expired.*; (no)+/),
    });
  });
});

describe('the connection to an MCP server at a URL', () => {
  test("can go through a proxy, and the server's certificate is still checked against --cacert", async () => {
    const server = await mcpServer(undefined, certificates.good);
    const proxy = await proxyServer(server.port);
    const environment = { HTTPS_PROXY: proxy.url };
    const connection = remote('https://api.example.test/mcp');
    const trusting = useTools({ environment, cacert: certificates.authority });
    expect(await trusting.call(connection, 'work', { id: 1 })).toMatchObject({ body: { got: { id: 1 } } });
    expect(new Set(proxy.seen)).toEqual(new Set(['CONNECT api.example.test:443']));
    const doubting = useTools({ environment });
    expect(await doubting.call(connection, 'work')).toMatchObject({
      kind: 'network',
      sent: false,
      message: expect.stringContaining('the TLS connection'),
    });
  });

  test('can be redirected within the origin', async () => {
    const server = await mcpServer(({ path }, response) => {
      if (path !== '/old') return false;
      response.writeHead(307, { location: '/mcp' }).end();
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/old`), 'work', { id: 1 })).toMatchObject({ body: { got: { id: 1 } } });
  });
});

test.each(['http://169.254.169.254', 'http://auth.example.com'])(
  'an MCP server cannot redirect a login to an unsafe address: %s',
  async (issuer) => {
    const server = await mcpServer(({ path }, response) => {
      if (path.startsWith('/.well-known/oauth-protected-resource'))
        json(response, { resource: `${server.origin}/mcp`, authorization_servers: [issuer] });
      else
        response
          .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${server.origin}/.well-known/oauth-protected-resource"` })
          .end();
      return true;
    });
    const connection = remote(`${server.origin}/mcp`, {
      type: 'oauth2_authorization_code',
      credential: 'login',
      clientId: undefined,
      clientCredential: undefined,
      scopes: [],
    });
    const strict = { ...connection, server: { ...connection.server, allowHttp: issuer.includes('169') } };
    const { call } = useTools();
    expect(await call(strict as typeof connection, 'work')).toMatchObject({ kind: 'request', sent: false });
  },
);

test("an MCP server's event stream can be long, and split anywhere", async () => {
  const server = await mcpServer((request, response) => {
    if (!isCall(request)) return false;
    const { id } = JSON.parse(request.body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const note = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data: 'x'.repeat(1_000_000) },
    });
    for (let index = 0; index < 12; index++) {
      response.write(`event: message\ndata: ${note}\n`);
      response.write('\n');
    }
    const result = { content: [{ type: 'text', text: 'done' }] };
    response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    return true;
  });
  const { call } = useTools();
  expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({ text: 'done' });
});

test('an SSE stream that breaks ends its MCP session, and the next call opens a new session', async () => {
  const streams: ServerResponse[] = [];
  const greeted = new Set<string>();
  let forgotten = '';
  const server = await httpServer(({ method, path, body }, response) => {
    if (method === 'GET') {
      streams.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      return void response.write(`event: endpoint\ndata: /messages?session=${streams.length}\n\n`);
    }
    const session = new URL(path, 'http://x').searchParams.get('session');
    if (session === null) return void response.writeHead(405).end();
    if (session === forgotten) return void response.writeHead(404).end('no such session');
    const { id, method: asked } = JSON.parse(body);
    response.writeHead(202).end();
    const answer = (more: object) =>
      streams[Number(session) - 1]?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, ...more })}\n\n`);
    if (asked === 'initialize') {
      greeted.add(session);
      const serverInfo = { name: 'small', version: '1' };
      answer({ result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo } });
    } else if (!greeted.has(session)) answer({ error: { code: -32602, message: 'not initialized' } });
    else if (asked === 'tools/list') answer({ result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } });
    else if (asked === 'tools/call') answer({ result: { content: [{ type: 'text', text: `ok ${session}` }] } });
  });
  const { call, events } = useTools();
  const connection = remote(`${server.origin}/sse`);
  expect(await call(connection, 'work')).toMatchObject({ text: 'ok 1' });
  streams[0]?.end();
  await expect.poll(() => events.at(-1)?.type).toBe('server-lost');
  expect(await call(connection, 'work')).toMatchObject({ text: 'ok 2' });
  forgotten = '2';
  expect(await call(connection, 'work')).toMatchObject({
    kind: 'network',
    retryable: true,
    message: expect.stringContaining('no longer knows the session'),
  });
  expect(await call(connection, 'work')).toMatchObject({ text: 'ok 3' });
});

describe('an invalid or missing response from an MCP server at a URL', () => {
  test.each<[string, (response: ServerResponse) => unknown, string, RegExp]>([
    ['is truncated', (response) => response.write(': a\n\ndata: {"js', () => response.destroy()), 'network', /before it answered/],
    ['is empty', (response) => response.end(), 'network', /before it answered/],
    ['has a message of more than 10 MB', (response) => response.write(`data: ${'x'.repeat(11_000_000)}`), 'parse', /more than 10 MB/],
  ])('makes a call fail at once if its stream %s', async (_, answer, kind, message) => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      answer(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      return true;
    });
    const { call } = useTools();
    const failure = await call(remote(`${server.origin}/mcp`), 'work', {}, { timeoutMs: 9000 });
    expect(failure).toMatchObject({ kind, retryable: kind === 'network', sent: true, message: expect.stringMatching(message) });
  });

  test('makes a call fail at once if its status is 202', async () => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      response.writeHead(202).end();
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work', {}, { timeoutMs: 9000 })).toMatchObject({
      kind: 'parse',
      message: expect.stringContaining('the server answered 202'),
    });
  });

  test('is retryable after the time in Retry-After if its status is 429', async () => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      response.writeHead(429, { 'retry-after': '7' }).end('slow down');
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({
      kind: 'http',
      status: 429,
      retryable: true,
      retryAfterMs: 7000,
      message: 'the server answered 429: slow down',
    });
  });

  test('is retryable if its status is 503 while the session is being opened', async () => {
    const server = await mcpServer((_, response) => {
      response.writeHead(503).end('down');
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({ kind: 'http', status: 503, retryable: true });
  });

  test('is a failure of the class "parse" if it is an HTML page', async () => {
    const server = await mcpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>');
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({
      kind: expect.stringMatching(/^(?:parse|network)$/),
      message: expect.stringContaining('text/html'),
    });
  });

  test.each([
    ['not JSON', '<html>hello</html>', { kind: 'parse', retryable: false, message: /^expected JSON from the MCP server "tools": .*<html/ }],
    ['truncated JSON', '{"jsonrpc": "2.0", "result": {"con', { kind: 'network', retryable: true, message: /is lost/ }],
  ])('makes a call fail if it is %s', async (_, text, { message, ...expected }) => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return true;
    });
    const { call } = useTools();
    const failure = await call(remote(`${server.origin}/mcp`), 'work');
    expect(failure).toMatchObject({ ...expected, sent: true, message: expect.stringMatching(message) });
  });

  test('is a failure of the class "parse" if it is larger than 10 MB', async () => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ text: 'x'.repeat(11_000_000) }));
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({
      kind: 'parse',
      message: 'the server sent a message of more than 10 MB',
    });
  });

  test('is a failure of the class "network" if the connection is refused', async () => {
    const { call } = useTools();
    expect(await call(remote('http://127.0.0.1:9/mcp'), 'work')).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
      message: expect.stringContaining('the connection was refused'),
    });
  });

  test('is a failure of the class "timeout" if it never ends', async () => {
    const server = await mcpServer((request, response) => {
      if (!isCall(request)) return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n\n');
      return true;
    });
    const { call } = useTools();
    expect(await call(remote(`${server.origin}/mcp`), 'work', {}, { timeoutMs: 300 })).toMatchObject({ kind: 'timeout' });
  });
});

test('numbers in the results of MCP tools keep all their digits, and arguments that would lose digits are refused', async () => {
  const server = await mcpServer((request, response) => {
    if (!isCall(request)) return false;
    const { id } = JSON.parse(request.body);
    const text = '{"id":12345678901234567890}';
    response.setHeader('content-type', 'application/json');
    response.end(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}}`,
    );
    return true;
  });
  const { call } = useTools();
  const { ExactNumber } = await import('../../src/core/value/value.ts');
  expect(await call(remote(`${server.origin}/mcp`), 'work')).toMatchObject({ body: { id: new ExactNumber('12345678901234567890') } });
  const failure = await call(remote(`${server.origin}/mcp`), 'work', { id: new ExactNumber('12345678901234567890') });
  expect(failure).toMatchObject({ kind: 'request', sent: false, message: expect.stringContaining('would lose digits') });
  expect(await call(remote(`${server.origin}/mcp`), 'work', { price: new ExactNumber('1.50') })).not.toHaveProperty('kind', 'request');
});
