import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExactLines } from '../../src/flow-tools/stdio-tools.ts';

/** Returns everything that comes out until the stream ends. */
async function through(chunks: readonly (string | Buffer)[], said: string[] = []): Promise<string> {
  const lines = new ExactLines((text) => void said.push(text));
  for (const chunk of chunks) lines.write(chunk);
  lines.end();
  let text = '';
  for await (const chunk of lines) text += chunk;
  return text;
}

describe('the messages on the stdin of the MCP server', () => {
  test.each([
    [
      'can contain a number that a double cannot represent, which becomes a string',
      '{"a":[12345678901234567890,0.12345678901234567]}',
      '{"a":["12345678901234567890","0.12345678901234567"]}',
    ],
    ['can contain an unusually written number, which remains a number', '{"a":1.50,"b":1e3,"c":-0}', '{"a":1.5,"b":1000,"c":0}'],
    [
      'can contain a string that looks like a number, which remains a string',
      '{"a":"12345678901234567890"}',
      '{"a":"12345678901234567890"}',
    ],
    ['can contain a line that is not JSON, which is left unchanged', 'nonsense', 'nonsense'],
  ])('%s', async (_, line, expected) => {
    expect(await through([`${line}\n`])).toBe(`${expected}\n`);
  });

  test('are put together from chunks, even if a character is split; the last line needs no line break', async () => {
    const bytes = Buffer.from('{"a":"é"}\r\n{"b":1}');
    expect(await through([...bytes].map((byte) => Buffer.from([byte])))).toBe('{"a":"é"}\n{"b":1}\n');
  });
});

describe('a line on stdin', () => {
  test('that is not a JSON-RPC 2.0 message is reported by its number, without its text', async () => {
    const said: string[] = [];
    const message = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    await through([`${message}\n\nsecret-4711\n[${message}]\n{"jsonrpc":"1.0"}\nnull\n${message}\n`], said);
    const ignored = (line: number) => `line ${line} of stdin is ignored: expected a message of JSON-RPC 2.0, on one line`;
    expect(said).toEqual([3, 4, 5, 6].map(ignored));
  });

  test('that is too long ends the stream with an error', async () => {
    const chunk = 'x'.repeat(1_000_000);
    await expect(through(Array.from({ length: 9 }, () => chunk))).rejects.toMatchObject({
      kind: 'input',
      message: 'the client sent a message of more than 8 MB',
    });
  });
});
describe('the MCP server, after stdin ends,', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function ending(...messages: object[]) {
    const lines = new ExactLines(() => undefined);
    let hasEnded = false;
    lines.resume().on('end', () => {
      hasEnded = true;
    });
    for (const message of messages) lines.write(`${JSON.stringify(message)}\n`);
    lines.end();
    return {
      lines,
      async hasEnded() {
        await vi.advanceTimersByTimeAsync(0);
        return hasEnded;
      },
    };
  }

  test('waits for the responses to all requests that were not cancelled', async () => {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'b' } };
    const { lines, hasEnded } = ending({ id: 1, method: 'a' }, { id: 'b', method: 'a' }, cancelled, { method: 'note' });
    expect(await hasEnded()).toBe(false);
    lines.answered(1);
    expect(await hasEnded()).toBe(true);
  });

  test('waits at most 10 s', async () => {
    const { hasEnded } = ending({ id: 1, method: 'a' });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await hasEnded()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await hasEnded()).toBe(true);
  });
});
