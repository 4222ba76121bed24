import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOverpass } from '../../examples/servers/overpass.mjs';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

/**
 * A city of 5,000 points whose nearest points are computed by brute force. The node must return the same nearest point, or no point. As in
 * OpenStreetMap, the ids do not depend on the location.
 */

const size = 5000;
const middle = { lat: 52.52, lon: 13.405 };

/** Returns pseudorandom numbers from 0 to 1, which are the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = randomNumbers(7);
/** Returns a coordinate in the city, whose points are denser in the middle, as in real cities. */
const degreeNear = (degree: number, spread: number) => degree + (random() + random() + random() - 1.5) * spread;
const place = () => ({ lat: degreeNear(middle.lat, 0.1), lon: degreeNear(middle.lon, 0.16) });

const kinds = [
  ['node', 0.7],
  ['way', 0.95],
  ['relation', 1],
] as const;
const tagged = [{ amenity: 'cafe' }, { amenity: 'pharmacy' }, { shop: 'supermarket' }] as const;

const points = Array.from({ length: size }, (_, index) => {
  const draw = random();
  const [type] = kinds.find(([, below]) => draw < below) ?? kinds[2];
  return { type, id: index + 1, ...place(), tags: { ...tagged[index % 3], name: `Place ${index + 1}` } as Record<string, string> };
});
const elements = kinds.flatMap(([kind]) =>
  points.flatMap(({ type, id, lat, lon, tags }) => {
    if (type !== kind) return [];
    return [type === 'node' ? { type, id, lat, lon, tags } : { type, id, center: { lat, lon }, tags }];
  }),
);
const records = Array.from({ length: 100 }, place);

/** Returns the distance between two points in metres, from the angle between their directions at the earth's centre. */
function metres(from: { lat: number; lon: number }, to: { lat: number; lon: number }): number {
  const direction = ({ lat, lon }: typeof from) => {
    const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
    return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)] as const;
  };
  const [a, b] = [direction(from), direction(to)];
  return 2 * 6_371_008.8 * Math.asin(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 2);
}

/** All cafes near each record, ordered by distance. */
const cafes = records.map((record) =>
  points
    .filter(({ tags }) => tags.amenity === 'cafe')
    .map((point) => ({ id: `${point.type}/${point.id}`, metres: metres(record, point) }))
    .sort((one, other) => one.metres - other.metres),
);
const cafesWithin = (radius: number) => cafes.map((sorted) => sorted.filter((cafe) => cafe.metres <= radius));

const flow = (radius: number, limit: number, more: string) => `connections: { own: { type: http, base_url: "http://127.0.0.1:9000" } }
nodes:
  - { type: places, lookup: points, category: amenity/cafe, limit: ${limit}, near: { lat: "{{lat}}", lon: "{{lon}}", radius: ${radius}m }, ${more} }`;
const http = ({ method, path, body }: SentRequest) => answerOverpass({ method, path, body }, elements);

/** Compares the nearest points that a flow returns with the correct ones. */
async function judge(radius: number, limit: number, more: string) {
  const { rows, failures } = await runFlow(flow(radius, limit, more), records, { http });
  expect(failures).toEqual([]);
  const counts = { right: 0, empty: 0, wrong: 0 };
  const around = cafesWithin(radius);
  for (const [index, sorted] of around.entries()) {
    const [row, nearest] = [rows[index] ?? {}, sorted[0]];
    expect(row.points_count).toBe(Math.min(limit, sorted.length));
    if (row.nearest_id === null) counts.empty++;
    else if (nearest && row.nearest_id === nearest.id && row.nearest_distance_m === Math.round(nearest.metres)) counts.right++;
    else counts.wrong++;
  }
  const found = around.filter(({ length }) => length > 0).length;
  const foundWhole = around.filter(({ length }) => length > 0 && length <= limit).length;
  return { ...counts, found, foundWhole };
}

const radii = [200, 500, 2000, 10_000];
const limits = [1, 10, 100];
const cases = radii.flatMap((radius) => limits.map((limit) => [radius, limit] as const));

describe("the nearest of a city's 5,000 points", () => {
  let folder = '';
  let file = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'automate-city-'));
    file = join(folder, 'city.geojsonseq');
    const letters = { node: 'n', way: 'w', relation: 'a' };
    const lines = points.map(({ type, id, lat, lon, tags }) =>
      JSON.stringify({
        type: 'Feature',
        id: `${letters[type]}${type === 'relation' ? 2 * id + 1 : id}`,
        geometry: { type: 'Point', coordinates: [lon, lat] },
        properties: tags,
      }),
    );
    await writeFile(file, `${lines.join('\n')}\n`);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each(cases)('is correct within %d m with the limit %d if the points come from a file', async (radius, limit) => {
    const { right, empty, wrong, found } = await judge(radius, limit, `source: file, file: ${JSON.stringify(file)}`);
    expect({ right, empty, wrong }).toEqual({ right: found, empty: records.length - found, wrong: 0 });
  });

  test.each(cases)('is correct or empty within %d m with the limit %d if a server sends the points', async (radius, limit) => {
    const { right, empty, wrong, foundWhole } = await judge(radius, limit, 'connection: own');
    expect({ right, empty, wrong }).toEqual({ right: foundWhole, empty: records.length - foundWhole, wrong: 0 });
  });

  test('is found for over 95% of the records if the limit suits the radius', async () => {
    const { right, found } = await judge(500, 100, 'connection: own');
    expect(found).toBeGreaterThan(80);
    expect(right / found).toBeGreaterThan(0.95);
  });
});
