// Borders of countries, from country-coder, and counties of the USA, from us-atlas.
import { borders } from '@rapideditor/country-coder';
import { feature as geometryOf } from 'topojson-client';
import { pack, pushSigned } from './binary.mjs';

/** Units of a degree: 11 m. */
const scale = 10_000;

/** Makes `borders` and `counties`: see src/io/lookups/geography/areas.ts. */
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

/** The country's code as GeoNames has it, for a part of one that of the whole; null for a land that no country's code names. */
function codeOf({ iso1A2, isoStatus, groups = [] }) {
  if (iso1A2 && isoStatus !== 'excRes') return iso1A2;
  // The smallest group is first. EU and UN are no countries.
  return groups.find((group) => /^(?!EU|UN)[A-Z]{2}$/.test(group)) ?? null;
}

/** Each ring as its number of points, then the steps from one to the next. */
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

/** Without the last point, which is the first. */
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
