import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askingFlow } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/**
 * Connects the SDK's own client to `automate mcp flows` in a separate process. `mode`: "legacy" begins with initialize, "auto" uses the
 * newest revision.
 */
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

test('automate mcp says on stderr why a flow is no longer offered as a tool', async () => {
  const place = await workplace();
  await mkdir(place.path('flows'));
  await place.write('flows/ask.yaml', askingFlow('http://127.0.0.1:1'));
  const { child, finished } = place.start(['mcp', 'flows'], { keepStdin: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said).toContain('1 flow of flows as MCP tools');
  await place.write('flows/ask.yaml', 'nodes: 7');
  await expect.poll(() => said).toMatch(/not valid: \S*ask\.yaml:1:8: expected a list of nodes/);
  child.stdin?.end();
  expect((await finished).code).toBe(0);
});

describe.each(['legacy', 'auto'] as const)('the SDK\'s MCP client over stdio in the mode "%s"', (mode) => {
  test('can list the flows and call a flow, and is notified when the folder changes', async () => {
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

test.each(['SIGINT', 'SIGTERM'] as const)('the MCP server aborts its requests and exits with 0 when it receives %s', async (signal) => {
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
  await expect.poll(() => seen).toHaveLength(1);
  child.kill(signal);
  expect((await finished).code).toBe(0);
});
