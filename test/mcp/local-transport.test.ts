import { expect, onTestFinished, test } from 'vitest';
import { LocalTransport } from '../../src/mcp/local-transport.ts';

/** A server that responds to each request, and at the same time sends a response to the next request. */
const hasty = `
  process.stdin.on('data', (bytes) => {
    for (const line of String(bytes).trim().split('\\n')) {
      const { id } = JSON.parse(line);
      const answer = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result: { result } }) + '\\n';
      process.stdout.write(answer(id + 1, 'ahead') + answer(id, 'own') + answer(id, 'again'));
    }
  });`;

test("an MCP server's response that belongs to no request is dropped, even if it has the id of the next request", async () => {
  const transport = new LocalTransport({ command: [process.execPath, '-e', hasty], passEnv: [], credentials: {} }, {});
  onTestFinished(() => transport.close());
  const received: unknown[] = [];
  transport.onmessage = (message) => received.push('result' in message ? [message.id, message.result.result] : message);
  await transport.start();
  for (const id of [1, 2, 3]) {
    await transport.send({ jsonrpc: '2.0', id, method: 'tools/call' });
    await expect.poll(() => received.length).toBe(id);
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(received).toEqual([1, 2, 3].map((id) => [id, 'own']));
});
