import { expect, test } from 'vitest';
import { parkedLines } from '../../../src/output/journal/parked-records.ts';

test.each([0, 1])('the text of a record in the journal is split only between characters (letters before the emoji: %i)', async (others) => {
  const text = 'x'.repeat(others) + '😀'.repeat(1_200_000);
  const record = {
    rows: 1,
    async *texts() {
      yield text;
    },
  };
  const pieces: string[] = [];
  for await (const line of parkedLines(new Map([[7, record]]))) if ('text' in line) pieces.push(line.text[2]);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  expect(pieces.join('') === text).toBe(true);
});
