import { describe, expect, test } from 'vitest';
import { ElementScanner } from '../../../src/records/json/json-record.ts';

/** Scans the text in chunks of `chunkSize` bytes. Returns the text up to the end of its first object. */
function scan(text: string, chunkSize: number): string | undefined {
  const scanner = new ElementScanner();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkSize) {
    const chunk = bytes.subarray(at, at + chunkSize);
    const end = scanner.end(chunk, 0);
    if (end !== undefined) return bytes.toString('utf8', 0, at + end);
  }
  return undefined;
}

describe('the scanner for elements of a JSON array', () => {
  test.each([
    ['{}', '{}'],
    ['{"a":[{},[1]]},{"b":1}', '{"a":[{},[1]]}'],
    ['{"}":"]\\"}"} ', '{"}":"]\\"}"}'],
    ['{"a":"\\\\"}]', '{"a":"\\\\"}'],
    ['{"é":"漢"},', '{"é":"漢"}'],
  ])('finds the end of the first object in %j', (text, element) => {
    for (const chunkSize of [1, 2, 3, 100]) expect(scan(text, chunkSize)).toBe(element);
  });

  test.each([
    ['a wrong bracket', '{"a":[1},{}', '{"a":[1}'],
    ['a line break in a string', '{"a":"x\ny"}', '{"a":"x\n'],
  ])('stops right after %s', (_name, text, element) => {
    for (const chunkSize of [1, 2, 3, 100]) expect(scan(text, chunkSize)).toBe(element);
  });

  test('finds no end before the object is complete', () => {
    for (const chunkSize of [1, 100]) expect(scan('{"a":{"b":"}"}', chunkSize)).toBeUndefined();
  });
});
