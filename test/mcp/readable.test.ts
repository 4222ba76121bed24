import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readableMessage, unreadableCode } from '../../src/mcp/readable.ts';
import { oddServer } from '../helpers/mcp/servers.ts';
import { local, remote, useTools } from '../helpers/mcp/tools.ts';

const answer = (more: object) => ({ jsonrpc: '2.0', id: 1, ...more });

describe('a message of an MCP server', () => {
  test('has no nulls for members that are optional, but keeps those in data', () => {
    const result = {
      content: [{ type: 'text', text: 'x', annotations: null }],
      structuredContent: { a: null, b: [null] },
      isError: null,
      _meta: { a: null },
    };
    expect(readableMessage(answer({ result, error: null }))).toEqual(
      answer({ result: { content: [{ type: 'text', text: 'x' }], structuredContent: { a: null, b: [null] }, _meta: { a: null } } }),
    );
    const schema = { type: 'object', title: null, properties: { a: { default: null, enum: [null] } } };
    expect(readableMessage(answer({ result: { tools: [{ name: 'a', inputSchema: schema }], nextCursor: null } }))).toEqual(
      answer({ result: { tools: [{ name: 'a', inputSchema: { type: 'object', properties: schema.properties } }] } }),
    );
    expect(
      readableMessage({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', logger: null, data: null } }),
    ).toEqual({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: null } });
  });

  test('is an error if it is a response that is none', () => {
    for (const more of [{ result: null }, { result: [] }, { result: 'ok' }, { result: 1 }, {}, { error: 'no' }, { error: {} }]) {
      expect(readableMessage(answer(more))).toMatchObject({
        id: 1,
        error: { code: unreadableCode, message: expect.stringContaining('found {') },
      });
    }
    expect(readableMessage({ id: 1, result: {} })).toMatchObject({ error: { code: unreadableCode } });
    expect(readableMessage({ ...answer({ result: {} }), id: null })).toBeUndefined();
    expect(readableMessage({ ...answer({ error: { code: -32700, message: 'x' } }), id: null }, 7)).toMatchObject({ id: 7 });
  });

  test('can be an error with a code that is no number', () => {
    expect(readableMessage(answer({ error: { code: '-32602', message: 'x', data: null } }))).toMatchObject({ error: { code: -32602 } });
    expect(readableMessage(answer({ error: { message: 'x' }, result: null }))).toMatchObject({ error: { code: -32000, message: 'x' } });
  });
});

describe('a local MCP server', () => {
  test('can write null for everything optional', async () => {
    const { call, tools } = useTools();
    const connection = local(oddServer('nulls'));
    expect(await call(connection, 'work', { id: '1' })).toMatchObject({ text: '{"a":null}', body: { a: null }, isError: false });
    expect(await call(connection, 'open', {})).toMatchObject({ isError: false });
    expect((await tools.server(connection)).tools).toMatchObject([{ name: 'work' }, { name: 'open' }]);
  });

  test('can write null for no tools', async () => {
    const { call } = useTools();
    expect(await call(local(oddServer('no-tools')), 'work', {})).toMatchObject({ message: expect.stringContaining('it has none') });
  });

  test.each([
    ['{"jsonrpc":"2.0","id":ID,"result":[]}'],
    ['{"jsonrpc":"2.0","id":ID,"result":null}'],
    ['{"jsonrpc":"2.0","id":ID,"result":"ok"}'],
    ['{"jsonrpc":"2.0","id":ID,"error":"broken"}'],
    ['{"jsonrpc":"2.0","id":ID}'],
    ['{"jsonrpc":"1.0","id":ID,"result":{}}'],
    ['{"id":ID,"result":{}}'],
    ['{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":NaN}}}'],
    ['[{"jsonrpc":"2.0","id":ID,"result":[]}]'],
  ])('fails the call at once with what it sent: %s', async (raw) => {
    const { call } = useTools();
    const failure = await call(local(oddServer('raw')), 'work', { id: raw });
    expect(failure).toMatchObject({ kind: 'parse', message: expect.stringMatching(/^expected an answer to the call, found \{/) });
  });

  test('can refuse a call without saying which', async () => {
    const { call } = useTools();
    const raw = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
    expect(await call(local(oddServer('raw')), 'work', { id: raw })).toMatchObject({
      kind: 'tool',
      message: 'the server refused the call: Parse error (-32700)',
    });
  });
});

/** Starts a server over HTTP whose answers to calls are `written`, with ID in the place of their id. The answers stay open if `isOpen`. */
async function httpServer(type: string, written: string, isOpen = false): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body);
      if (id === undefined) return response.writeHead(202).end();
      const say = (found: object) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, ...found }));
      const serverInfo = { name: 'odd', version: '1', title: null };
      if (method === 'initialize')
        return say({
          result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: null }, serverInfo },
          error: null,
        });
      if (method === 'tools/list') return say({ result: { tools: [{ name: 'work', title: null, inputSchema: {} }], nextCursor: null } });
      if (method !== 'tools/call') return say({ error: { code: -32601, message: 'no' } });
      response.setHeader('content-type', type).write(written.replaceAll('ID', String(id)));
      return isOpen || response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
}

const good =
  '{"jsonrpc":"2.0","id":ID,"error":null,"result":{"content":[{"type":"text","text":"ok","_meta":null}],"structuredContent":null}}';

describe('an MCP server over HTTP', () => {
  test.each([
    ['application/json', good],
    ['application/json; charset=utf-8', `[${good}]`],
    ['text/event-stream', `: hi\n\nevent: ping\ndata: now\n\ndata: ping\n\nevent: message\r\ndata: ${good}\r\n\r\n`],
    ['text/event-stream', `id: 1\ndata:\n\ndata: {"jsonrpc":"2.0","id":ID,\ndata: "result":{"content":[{"type":"text","text":"ok"}]}}\n\n`],
  ])('can write null for everything optional (%s)', async (type, written) => {
    const { call } = useTools();
    expect(await call(remote(await httpServer(type, written, type.startsWith('text'))), 'work', {})).toMatchObject({ text: 'ok' });
  });

  test.each([
    ['{"jsonrpc":"2.0","id":ID,"result":[]}'],
    ['{"jsonrpc":"2.0","id":ID,"result":null}'],
    ['{"jsonrpc":"2.0","id":ID}'],
    ['{"detail":"Not found"}'],
    ['{}'],
    ['[]'],
    ['null'],
  ])('fails the call at once with what it sent: %s', async (written) => {
    const { call } = useTools();
    const expected = { kind: 'parse', message: expect.stringMatching(/^expected an answer to the call, found [{[n]/) };
    expect(await call(remote(await httpServer('application/json', written)), 'work', {})).toMatchObject(expected);
    expect(await call(remote(await httpServer('text/event-stream', `data: ${written}\n\n`, true)), 'work', {})).toMatchObject(expected);
  });

  test('fails the call at once if an event is broken JSON', async () => {
    const { call } = useTools();
    const url = await httpServer('text/event-stream', 'data: {"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}\n\n', true);
    expect(await call(remote(url), 'work', {})).toMatchObject({ kind: 'parse', message: expect.stringContaining('NaN') });
  });
});
