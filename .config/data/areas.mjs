// Borders of countries, from country-coder, and counties of the USA, from us-atlas.
import { borders } from '@rapideditor/country-coder';
import { feature as geometryOf } from 'topojson-client';
import { pack, pushSigned } from './binary.mjs';

/** Number of units in a degree. One unit is about 11 m. */
const scale = 10_000;

/** Builds the files `borders` and `counties`. Their format is described in src/places/data/geography/areas.ts. */
export function make(readJson) {
  const topology = readJson('us-atlas/counties-10m.json');
  const counties = geometryOf(topology, topology.objects.counties).features;
  return {
    borders: packed(
      borders.features.filter(({ geometry }) => geometry).map(({ geometry, properties }) => ({ geometry, area: codeOf(properties) })),
    ),
    counties: packed(counties.map(({ geometry, id, properties: { name } }) => ({ geometry, area: [id, name] }))),
  };
}

/**
 * Returns the country code that GeoNames uses. A part of a country gets the code of the country; a territory that belongs to no
 * country gets null.
 */
function codeOf({ iso1A2, isoStatus, groups = [] }) {
  if (iso1A2 && isoStatus !== 'excRes') return iso1A2;
  // The smallest group comes first. EU and UN are not countries.
  return groups.find((group) => /^(?!EU|UN)[A-Z]{2}$/.test(group)) ?? null;
}

/** Packs each ring as its number of points, followed by the steps from one point to the next. */
function packed(areas) {
  const sorted = areas.sort((a, b) => (String(a.area) < String(b.area) ? -1 : 1));
  const owners = [];
  const lengths = [];
  const steps = [];
  for (const [index, { geometry }] of sorted.entries()) {
    for (const ring of geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat()) {
      owners.push(index);
      lengths.push(ring.length - 1);
      pushRing(steps, ring);
    }
  }
  return pack({ owners, lengths, steps: Buffer.from(steps) }, { areas: sorted.map(({ area }) => area), scale });
}

/** Adds the steps of a ring. Leaves out the last point, because it repeats the first. */
function pushRing(steps, ring) {
  const before = [0, 0];
  for (const point of ring.slice(0, -1)) {
    for (const axis of [0, 1]) {
      const value = Math.round(point[axis] * scale);
      pushSigned(steps, value - before[axis]);
      before[axis] = value;
    }
  }
}
