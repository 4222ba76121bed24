import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExactLines } from '../../../src/io/tool-server/exact-lines.ts';

/** Everything that comes out once the stream has ended. */
async function through(chunks: readonly (string | Buffer)[]): Promise<string> {
  const lines = new ExactLines();
  for (const chunk of chunks) lines.write(chunk);
  lines.end();
  let text = '';
  for await (const chunk of lines) text += chunk;
  return text;
}

describe('lines', () => {
  test.each([
    [
      'a number that a double would change becomes a text',
      '{"a":[12345678901234567890,0.12345678901234567]}',
      '{"a":["12345678901234567890","0.12345678901234567"]}',
    ],
    ['another notation of a number stays a number', '{"a":1.50,"b":1e3,"c":-0}', '{"a":1.5,"b":1000,"c":0}'],
    ['a text that looks like a number stays as it is', '{"a":"12345678901234567890"}', '{"a":"12345678901234567890"}'],
    ['a line that is no JSON stays as it is', 'nonsense', 'nonsense'],
  ])('%s', async (_, line, expected) => {
    expect(await through([`${line}\n`])).toBe(`${expected}\n`);
  });

  test('are put together from chunks, also within a character, and the last one needs no line break', async () => {
    const bytes = Buffer.from('{"a":"é"}\r\n{"b":1}');
    expect(await through([...bytes].map((byte) => Buffer.from([byte])))).toBe('{"a":"é"}\n{"b":1}\n');
  });
});

describe('the end', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function ending(...messages: object[]) {
    const lines = new ExactLines();
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

  test('waits for the answers to all requests that were not cancelled', async () => {
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
