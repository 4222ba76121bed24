import { expect, test } from 'vitest';
import { Unfinished } from '../../src/core/failure.ts';
import type { Item } from '../../src/core/item.ts';
import { createWindow } from '../../src/engine/window.ts';

const item = { number: 1, fields: new Map() } as unknown as Item;

test.each([
  ['while the run goes on, it is a bug, and the run is not complete', false],
  ['while the run ends, the rest is for a later run', true],
])('a record that is left unfinished: %s', async (_, isStopping) => {
  let isBroken = false;
  const broken = () => {
    isBroken = true;
  };
  const window = createWindow({ size: 10, unordered: false, done: () => undefined, broken, isStopping: () => isStopping });
  window.begin(item, Promise.reject(new Unfinished()));
  const ended = await window.ended().catch((error: unknown) => error);
  expect(isBroken).toBe(!isStopping);
  if (isStopping) expect(ended).toBeUndefined();
  else expect(ended).toMatchObject({ message: expect.stringContaining('left unfinished') });
});
