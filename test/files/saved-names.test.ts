import { expect, test } from 'vitest';
import { type SavedName, SavedNames } from '../../src/files/saved-names.ts';

test('a saved file counts with its size, and a file of an earlier part of the run only with its growth', async () => {
  const taken: number[] = [];
  const added: SavedName[] = [];
  const space = { take: async (bytes: number) => void taken.push(bytes), free: () => {} };
  const log = { earlier: added, add: async (name: SavedName) => void added.push(name) };
  await new SavedNames(log, space).note('/files/a.pdf', '1', 100);
  const resumed = new SavedNames(log, space);
  await resumed.note('/files/a.pdf', '1', 130);
  await resumed.note('/files/b.pdf', '1', 7);
  expect(taken).toEqual([100, 30, 7]);
});
