import { mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildData } from '../.config/build-data.mjs';
import { dataFolder } from './helpers/data-folder.ts';

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-data-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.br')).sort();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'base64')])));
}

test('the build of the embedded data produces the same bytes each time, and none if the sources have not changed', async () => {
  const folder = await emptyFolder();
  await buildData(folder);
  expect(await contentOf(folder)).toEqual(await contentOf(dataFolder));
  const file = join(folder, 'chains.br');
  await utimes(file, 1, 1);
  await buildData(folder);
  expect((await stat(file)).mtimeMs).toBe(1000);
});

test('the embedded data is at most 8 MB', async () => {
  const sizes = Object.values(await contentOf(dataFolder)).map((content) => (content.length * 3) / 4);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8e6);
});
