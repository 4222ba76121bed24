import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ToolsOverHttp } from '../../src/flow-tools/http-tools.ts';

/** Creates an endpoint without tools, whose clock a test sets. A request's header `owner` contains its owner. */
async function endpoint() {
  const clock = { ms: 0 };
  const toolbox = { list: async () => [], call: () => Promise.reject(new Error()), bug: () => undefined };
  const tools = new ToolsOverHttp({ toolbox, version: '1', now: () => clock.ms });
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    await tools.handle(request, response, text === '' ? undefined : JSON.parse(text), { owner: String(request.headers.owner) });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await tools.close();
    server.closeAllConnections();
    server.close();
  });
  const post = (method: string, params: object, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  return {
    clock,
    tools,
    async open(owner: string): Promise<string> {
      const answer = await post('initialize', client, { owner });
      await answer.text();
      return answer.headers.get('mcp-session-id') as string;
    },
    async status(owner: string, session: string): Promise<number> {
      const answer = await post('tools/list', {}, { owner, 'mcp-session-id': session });
      await answer.text();
      return answer.status;
    },
  };
}

test("a client's MCP session ends after an hour without a request", async () => {
  const { clock, open, status } = await endpoint();
  const [unused, used] = [await open('a'), await open('a')];
  clock.ms = 3_000_000;
  expect(await status('a', used)).toBe(200);
  clock.ms = 3_600_001;
  await open('b');
  expect([await status('a', unused), await status('a', used)]).toEqual([404, 200]);
});

test('an API key has at most 100 MCP sessions, and a new session ends the least recently used session', async () => {
  const { clock, tools, open, status } = await endpoint();
  const other = await open('b');
  const sessions: string[] = [];
  for (let count = 0; count < 100; count++) {
    clock.ms++;
    sessions.push(await open('a'));
  }
  expect(tools.sessions).toBe(101);
  clock.ms++;
  expect(await status('a', sessions[0] as string)).toBe(200);
  await open('a');
  expect(tools.sessions).toBe(101);
  expect([await status('a', sessions[0] as string), await status('a', sessions[1] as string), await status('b', other)]).toEqual([
    200, 404, 200,
  ]);
});

test('an MCP session can be used only with the API key that opened it', async () => {
  const { open, status } = await endpoint();
  expect(await status('b', await open('a'))).toBe(404);
});
