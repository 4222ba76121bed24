import { describe, expect, test } from 'vitest';
import { OutputTail } from '../../src/files/process-group.ts';

function linesOf(...chunks: (string | Buffer)[]): string {
  const tail = new OutputTail();
  for (const chunk of chunks) tail.add(Buffer.from(chunk));
  return tail.lines();
}

describe("the last lines of a program's output", () => {
  test('are at most five', () => {
    expect(linesOf('1\n2\n3\n', '4\n5\n', '6')).toBe('2\n3\n4\n5\n6');
  });

  test('exclude the lines of a stack trace', () => {
    expect(linesOf('Error: no database\n    at connect (db.js:1:1)\n    at main (db.js:9:1)\n')).toBe('Error: no database');
  });

  test('exclude a line whose beginning is missing, in one chunk or in several', () => {
    const key = `the key ${'x'.repeat(2000)}`;
    expect(linesOf(`${key}\ncannot start\n`)).toBe('cannot start');
    expect(linesOf(key, 'secret\ncannot start\n')).toBe('cannot start');
    expect(linesOf(key, 'secret')).toBe('');
  });

  test('can arrive in chunks that split a character', () => {
    const bytes = Buffer.from('Zoë');
    expect(linesOf(bytes.subarray(0, 3), bytes.subarray(3))).toBe('Zoë');
  });
});
