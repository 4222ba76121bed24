import { describe, expect, test } from 'vitest';
import { MessageLines } from '../../src/mcp/local-transport.ts';

const message = (id: number | string) => ({ jsonrpc: '2.0', id, result: {} });
const line = (id: number | string) => `${JSON.stringify(message(id))}\n`;

/** Returns the messages that are read after each chunk. */
function read(...chunks: (string | Buffer)[]) {
  const lines = new MessageLines();
  return { messages: chunks.map((chunk) => lines.read(Buffer.from(chunk))), lines };
}

describe('the messages that a local MCP server writes', () => {
  test('are read once their line has ended', () => {
    expect(read(line(1)).messages).toEqual([[message(1)]]);
    expect(read(line(1).slice(0, 5), line(1).slice(5, -1), '\n').messages).toEqual([[], [], [message(1)]]);
  });

  test('are all read if one chunk contains several lines', () => {
    expect(read(line(1).slice(0, 5), `${line(1).slice(5)}${line(2)}${line(3).slice(0, 9)}`, line(3).slice(9)).messages).toEqual([
      [],
      [message(1), message(2)],
      [message(3)],
    ]);
  });

  test('can be split within a character', () => {
    const bytes = Buffer.from(line('ä'));
    const cut = bytes.indexOf('ä') + 1;
    expect(read(bytes.subarray(0, cut), bytes.subarray(cut)).messages).toEqual([[], [message('ä')]]);
  });

  test('can end with CR LF, and can have empty lines between them', () => {
    expect(read(`${line(1).trim()}\r\n\n \n${line(2)}`).messages).toEqual([[message(1), message(2)]]);
  });

  test.each(['Listening on port 3000', '{"half": ', '42', 'null', '{"id":9}'])('are read despite the invalid line %s', (junk) => {
    const { messages, lines } = read(line(1), `${junk}\n${line(2)}`);
    expect(messages.flat()).toEqual([message(1), junk, message(2)]);
    expect(lines.skipped).toBe(junk);
  });

  test('are refused after 10 million characters without a line break', () => {
    const half = 'x'.repeat(5_000_000);
    expect(read(half, half).lines.isTooLong).toBe(false);
    expect(read(half, half, 'x').lines.isTooLong).toBe(true);
    expect(read(half, `\n${half}`, 'x').lines.isTooLong).toBe(false);
  });
});
