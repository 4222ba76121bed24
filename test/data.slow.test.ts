import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAs } from '../src/places/data/data.ts';
import { Areas, type AreasMeta } from '../src/places/data/geography/areas.ts';
import { Columns } from '../src/places/data/geography/places.ts';
import { dataFolder } from './helpers/data-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const builtFolder = join(root, 'src/places/data/built');

async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'base64')])));
}

/** Versions of Node compress the same bytes in different ways. */
async function unpackedContentOf(folder: string): Promise<Record<string, string>> {
  const content = Object.entries(await contentOf(folder));
  return Object.fromEntries(content.map(([name, base64]) => [name, gunzipSync(Buffer.from(base64, 'base64')).toString('base64')]));
}

test('the build copies the embedded data, which is at most 8 MB', async () => {
  const content = await contentOf(dataFolder);
  expect(content).toEqual(await contentOf(builtFolder));
  const sizes = Object.values(content).map((base64) => (base64.length * 3) / 4);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8e6);
});

const look = ['view', 'us-atlas@3.0.1', 'version', '--fetch-retries=0', '--fetch-timeout=20000'];
const hasRegistry = Boolean(process.env.CI) || spawnSync('npm', look).status === 0;

describe.skipIf(!hasRegistry)(`npm run data${hasRegistry ? '' : " (skipped: npm's registry cannot be reached)"}`, () => {
  /** A copy of the files that build the data, because the build replaces its result. */
  let copy: string;

  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), 'automate-data-'));
    const isSource = (path: string) => !/\/(?:node_modules|built)$/.test(path);
    for (const name of ['package.json', '.config/data', 'src/places'])
      await cp(join(root, name), join(copy, name), { recursive: true, filter: isSource });
    const { status, stderr } = spawnSync('npm', ['run', 'data'], { cwd: copy, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });

  afterAll(() => rm(copy, { recursive: true, force: true }));

  test('builds the same data as in the repository', async () => {
    const made = await unpackedContentOf(join(copy, 'src/places/data/built'));
    expect(made).toEqual(await unpackedContentOf(builtFolder));
  });

  test('builds borders in which each point has the same country as in country-coder', async () => {
    const library = join(copy, '.config/data/node_modules/@rapideditor/country-coder/dist/country-coder.mjs');
    const { iso1A2Code } = await import(library);
    const borders = await readAs(dataFolder, 'borders', (bytes) => new Areas(new Columns<AreasMeta<string | null>>(bytes)));
    const reserved: Readonly<Record<string, string>> = { AC: 'SH', TA: 'SH', IC: 'ES', EA: 'ES', CQ: 'GG', DG: 'IO', CP: 'FR', FX: 'FR' };
    const wrong: string[] = [];
    let known = 0;
    // A grid of points, none of which is exactly on a border.
    for (let lat = -89.4321; lat < 90; lat += 1.1) {
      for (let lon = -179.8765; lon < 180; lon += 1.3) {
        const code: string | null = iso1A2Code([lon, lat], { level: 'territory' });
        if (code === null) continue;
        known++;
        // A part of a country that has no code of its own counts as that country.
        const expected = reserved[code] ?? code;
        if (borders.at(lat, lon) !== expected) wrong.push(`${lat}, ${lon}: ${borders.at(lat, lon)}, not ${expected}`);
      }
    }
    expect(known).toBeGreaterThan(10_000);
    expect(wrong).toEqual([]);
  });
});
