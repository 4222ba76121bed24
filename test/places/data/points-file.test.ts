import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pointsOfFile } from '../../../src/places/data/points-data.ts';

async function fileWith(name: string, content: string | Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-points-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

const feature = (id: string | undefined, lon: number, lat: number, more: object = {}) => ({
  type: 'Feature',
  ...(id && { id }),
  geometry: { type: 'Point', coordinates: [lon, lat] },
  properties: { amenity: 'cafe', ...more },
});
const ring = [
  [13.406, 52.52],
  [13.408, 52.52],
  [13.408, 52.522],
  [13.406, 52.52],
];
const shape = (id: string, type: string, coordinates: unknown) => ({
  ...feature(id, 0, 0, { name: type }),
  geometry: { type, coordinates },
});
const features = [
  feature('n1', 13.405, 52.52, { name: 'Eins', '@timestamp': 'x', seats: 12 }),
  shape('a20', 'MultiPolygon', [[ring]]),
  shape('w10', 'LineString', ring),
  shape('a21', 'MultiPolygon', [[ring]]),
  feature(undefined, 13.4051, 52.5201),
  { ...feature('n2', 13.4, 52.5), properties: {} },
  { ...feature('n3', 13.4, 52.5), geometry: null },
];
const lines = `${features.map((one) => JSON.stringify(one)).join('\n')}\n`;
const overpass = {
  version: 0.6,
  elements: [
    { type: 'node', id: 1, lat: 52.52, lon: 13.405, tags: { amenity: 'cafe' } },
    { type: 'way', id: 10, center: { lat: 52.521, lon: 13.407 }, tags: { amenity: 'cafe' } },
    { type: 'relation', id: 10, bounds: { minlat: 52.52, minlon: 13.406, maxlat: 52.522, maxlon: 13.408 }, tags: { amenity: 'cafe' } },
    { type: 'node', id: 7, lat: 52.52, lon: 13.405 },
  ],
};

const everywhere = { bbox: [-90, -180, 90, 180] };
const cafes = [{ amenity: 'cafe' }];

describe('the points in a file', () => {
  test.each<[string, string, string | Buffer]>([
    ['newline-delimited GeoJSON', 'a.geojsonseq', lines],
    ['GeoJSON with record separators', 'a.geojsonseq', lines.replaceAll(/^/gm, '\u001e')],
    ['GeoJSON with Windows line endings', 'a.geojsonl', lines.replaceAll('\n', '\r\n')],
    ['gzipped', 'a.geojsonseq.gz', gzipSync(lines)],
    ['a GeoJSON collection', 'a.geojson', JSON.stringify({ type: 'FeatureCollection', features }, undefined, 2)],
    ['a GeoJSON collection on one line', 'a.geojson', JSON.stringify({ type: 'FeatureCollection', features })],
  ])('are read if the file is %s', async (_, name, content) => {
    const points = (await pointsOfFile(await fileWith(name, content))).find(everywhere, cafes);
    const found = points.map(({ id, lat, lon }) => [id, lat.toFixed(4), lon.toFixed(4)]).sort();
    expect(found).toEqual(
      [
        [null, '52.5201', '13.4051'],
        ['node/1', '52.5200', '13.4050'],
        ['relation/10', '52.5210', '13.4070'],
        ['way/10', '52.5210', '13.4070'],
      ].sort(),
    );
    expect(points.find(({ id }) => id === 'way/10')?.tags.name).toBe('MultiPolygon');
    expect(points.find(({ id }) => id === 'node/1')?.tags).toEqual({ amenity: 'cafe', name: 'Eins', seats: '12' });
  });

  test('are read if the file is an Overpass response', async () => {
    const points = (await pointsOfFile(await fileWith('o.json', JSON.stringify(overpass)))).find(everywhere, cafes);
    expect(points.map(({ id, lat }) => [id, lat.toFixed(3)])).toEqual([
      ['node/1', '52.520'],
      ['way/10', '52.521'],
      ['relation/10', '52.521'],
    ]);
  });

  test('are found within a radius, across the date line and at a pole', async () => {
    const places = [feature('n1', 179.999, 0), feature('n2', -179.999, 0), feature('n3', 100, 89.9999), feature('n4', -80, 89.9999)];
    const file = await pointsOfFile(await fileWith('a.geojson', JSON.stringify({ features: places })));
    const ids = (lat: number, lon: number, radius: number) =>
      file
        .find({ near: { lat, lon }, radius }, cafes)
        .map(({ id }) => id)
        .sort();
    expect(ids(0, 180, 200)).toEqual(['node/1', 'node/2']);
    expect(ids(0, -180, 200)).toEqual(['node/1', 'node/2']);
    expect(ids(0, 179.999, 200)).toEqual(['node/1']);
    expect(ids(90, 0, 100)).toEqual(['node/3', 'node/4']);
    expect(file.find({ bbox: [-1, 179, 1, -179] }, cafes)).toHaveLength(2);
    expect(file.find(everywhere, [{ amenity: 'pub' }])).toEqual([]);
  });

  test('are read once more if the file has changed', async () => {
    const path = await fileWith('a.geojson', JSON.stringify({ features }));
    expect(await pointsOfFile(path)).toBe(await pointsOfFile(path));
    await writeFile(path, JSON.stringify({ features: [] }));
    await utimes(path, 1, 1);
    expect((await pointsOfFile(path)).find(everywhere, cafes)).toEqual([]);
  });

  test.each<[string, string | Buffer, string]>([
    [
      'truncated in the middle of a feature',
      '{"features":[\n{"type":"Feature","properties":{"amen',
      ':2:38: expected a closing quote, found the end of the file',
    ],
    [
      'broken on its second line',
      `${JSON.stringify(features[0])}\n{"type":"Feature",,}\n`,
      ':2:19: expected a name in double quotes, found ","',
    ],
    ['without features', '{"a":1}', ': expected GeoJSON features or an answer of Overpass, found neither'],
    ['a different kind of JSON', '{"features":[{"type":"Other"}]}', ', feature 1: expected a GeoJSON feature or an element of Overpass'],
  ])('are refused, with their position, if the file is %s', async (_, content, message) => {
    const path = await fileWith('bad.geojson', content);
    await expect(pointsOfFile(path)).rejects.toMatchObject({ kind: 'input', message: expect.stringContaining(path + message) });
  });
});
