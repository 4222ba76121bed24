import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { earthRadius } from '../../../src/places/coordinates.ts';
import { readAs } from '../../../src/places/data/data.ts';
import { Nearest } from '../../../src/places/data/geography/nearest.ts';
import { Columns, type PlacesMeta, PlaceTable } from '../../../src/places/data/geography/places.ts';
import { dataFolder } from '../../helpers/data-folder.ts';

const places = await readAs(dataFolder, 'places', (bytes) => new PlaceTable(new Columns<PlacesMeta>(bytes)));

const radians = Math.PI / 180;

function distanceTo(place: number, lat: number, lon: number): number {
  const north = Math.sin(((places.lat(place) - lat) * radians) / 2) ** 2;
  const east = Math.sin(((places.lon(place) - lon) * radians) / 2) ** 2;
  const square = north + Math.cos(lat * radians) * Math.cos(places.lat(place) * radians) * east;
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(square)));
}

const degrees = (limit: number) => fc.double({ min: -limit, max: limit, noNaN: true });

// Half of the points are at the equator, the poles, the prime meridian or the date line.
const lats = fc.oneof(degrees(90), fc.constantFrom(90, -90, 89.9, -89.9, 0));
const lons = fc.oneof(degrees(180), fc.constantFrom(180, -180, 179.99, -179.99, 0));

describe('the nearest place to a point', () => {
  const nearest = new Nearest(places);

  test('is the same as in a search through all places', () => {
    fc.assert(
      fc.property(lats, lons, (lat, lon) => {
        let least = Infinity;
        for (let place = 0; place < places.count; place++) least = Math.min(least, distanceTo(place, lat, lon));
        expect(nearest.find(lat, lon, 2.1e7)?.distance).toBeCloseTo(least, 0);
      }),
      { numRuns: 40 },
    );
  });

  test('is within the maximum distance, and is accepted by the filter', () => {
    const found = nearest.find(52.5, 13.4, 1e6, (place) => places.region(place).country.code === 'FR');
    expect(places.region(found?.place as number).country.code).toBe('FR');
    expect(nearest.find(52.5, 13.4, 1e5, (place) => places.region(place).country.code === 'FR')).toBeUndefined();
    expect(nearest.find(0, -150, 847_000)).toBeUndefined();
    expect(nearest.find(0, -150, 849_000)).toBeDefined();
  });
});
