import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** The SDK's own client over `automate mcp flows` in a process of its own. `mode`: legacy begins with initialize, auto speaks the newest revision. */
async function connected(place: Workplace, mode: 'legacy' | 'auto') {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, listChanged: { tools: { onChanged: () => changed() } } },
  );
  let changed = () => {};
  const listChanged = new Promise<void>((resolve) => {
    changed = resolve;
  });
  const env = { AUTOMATE_HOME: place.path('.automate'), NODE_DISABLE_COMPILE_CACHE: '1' };
  const transport = new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp', place.path('flows')], env, stderr: 'ignore' });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, listChanged };
}

test('stderr says why a flow is no tool any more', async () => {
  const place = await workplace();
  await mkdir(place.path('flows'));
  await place.write('flows/ask.yaml', askingFlow('http://127.0.0.1:1'));
  const { child, finished } = place.start(['mcp', 'flows'], { keepStdin: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said, { timeout: 10_000 }).toContain('1 flow of flows as MCP tools');
  await place.write('flows/ask.yaml', 'nodes: 7');
  await expect.poll(() => said, { timeout: 10_000 }).toMatch(/not valid: \S*ask\.yaml:1:8: expected a list of nodes/);
  child.stdin?.end();
  expect((await finished).code).toBe(0);
});

describe.each(['legacy', 'auto'] as const)('the client of the SDK over stdio, %s', (mode) => {
  test('lists the flows, calls one, and is told when the folder changes', async () => {
    const { origin } = await httpServer(({ path }, response) => json(response, { name: `n${path}` }));
    const place = await workplace();
    await mkdir(place.path('flows'));
    await place.write('flows/ask.yaml', askingFlow(origin));
    const { client, listChanged } = await connected(place, mode);
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toEqual(['ask']);
    expect(await client.callTool({ name: 'ask', arguments: { id: 17 } })).toMatchObject({
      structuredContent: { rows: [{ id: 17, name: 'n/17' }] },
    });
    await place.write('flows/two.yaml', askingFlow(origin));
    await listChanged;
    expect(await names()).toEqual(['ask', 'two']);
    await rm(place.path('flows'), { recursive: true });
    expect(await names()).toEqual([]);
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the server and the requests of its calls; its exit code is 0', async (signal) => {
  const seen: string[] = [];
  const { origin } = await httpServer(({ path }) => {
    seen.push(path);
    return new Promise(() => {});
  });
  const place = await workplace();
  await mkdir(place.path('flows'));
  await place.write('flows/ask.yaml', askingFlow(origin));
  const { child, finished } = place.start(['mcp', 'flows'], { keepStdin: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  for (const message of [
    { id: 1, method: 'initialize', params },
    { id: 2, method: 'tools/call', params: { name: 'ask', arguments: { id: 1 } } },
  ])
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  await expect.poll(() => seen, { timeout: 10_000 }).toHaveLength(1);
  child.kill(signal);
  expect((await finished).code).toBe(0);
});
