import { excerpt } from '../../core/answer/response.ts';
import { isObject, type JsonObject, jsonOf, textOf, type Value } from '../../core/value/value.ts';
import { isCoordinates } from '../coordinates.ts';
import type { FoundPoint } from '../lookup.ts';

/** A point (a place with coordinates and OpenStreetMap tags) from a point file. */
export interface FilePoint extends FoundPoint {
  /** True if the point comes from an area. It replaces a point from a line of the same OpenStreetMap object. */
  readonly isArea: boolean;
}

/** Reads a GeoJSON feature (RFC 7946) or an Overpass element. Undefined without tags or coordinates. Throws an Error for other values. */
export function filePoint(value: Value): FilePoint | undefined {
  if (isObject(value)) {
    if (value.type === 'Feature') return pointOfFeature(value);
    if (['node', 'way', 'relation'].includes(String(value.type))) return pointOfElement(value);
  }
  throw new Error('expected a GeoJSON feature or an element of Overpass');
}

function pointOfFeature({ id, geometry, properties }: JsonObject): FilePoint | undefined {
  if (!isObject(properties)) return undefined;
  const { tags } = properties;
  const written = textOf(id ?? properties['@id'] ?? properties.id ?? '');
  return placed({ id: objectId(written), isArea: /^a\d/.test(written) }, isObject(tags) ? tags : properties, geometry);
}

function pointOfElement({ type, id, lat, lon, center, bounds, geometry, tags }: JsonObject): FilePoint | undefined {
  if (!isObject(tags)) return undefined;
  const known = { id: `${textOf(type as Value)}/${textOf(id as Value)}`, isArea: false };
  const { lat: y = null, lon: x = null } = isObject(center) ? center : ({ lat, lon } as JsonObject);
  return placed(known, tags, { coordinates: y === null ? cornersOf(bounds, geometry) : [x, y] });
}

function cornersOf(bounds: Value | undefined, geometry: Value | undefined): Value {
  const box = bounds as JsonObject | undefined;
  if (box) return [[box.minlon, box.minlat] as Value, [box.maxlon, box.maxlat] as Value];
  const nodes = Array.isArray(geometry) ? geometry.filter(isObject) : [];
  return nodes.map(({ lon, lat }) => [lon, lat] as Value);
}

function placed(known: Pick<FilePoint, 'id' | 'isArea'>, named: JsonObject, geometry: Value | undefined): FilePoint | undefined {
  const tags = Object.entries(named).flatMap(([key, value]) =>
    key.startsWith('@') || value === null || typeof value === 'object' ? [] : [[key, textOf(value)]],
  );
  const box = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };
  if (tags.length === 0) return undefined;
  widen(geometry, box);
  if (box.west > box.east) return undefined;
  const middle = { lat: rounded((box.south + box.north) / 2), lon: rounded((box.west + box.east) / 2) };
  if (!isCoordinates(middle)) throw noPosition([middle.lon, middle.lat]);
  return { ...known, ...middle, tags: Object.fromEntries(tags) };
}

/** Rounds to 7 decimals (about 1 cm), the precision of OpenStreetMap, which removes earlier rounding errors. */
function rounded(degrees: number): number {
  return Number(degrees.toFixed(7));
}

function noPosition(found: Value): Error {
  const limits = 'a longitude from -180 to 180 and a latitude from -90 to 90';
  return new Error(`expected ${limits}, found ${excerpt(jsonOf(found), 60)}\ncoordinates are decimal degrees, WGS 84 (EPSG:4326)`);
}

/** Extends a box to contain a geometry or a nested array of positions. Throws an Error if a position contains anything but numbers. */
function widen(part: Value | undefined, box: Record<'west' | 'south' | 'east' | 'north', number>): void {
  if (Array.isArray(part)) {
    const [lon, lat] = part;
    if (typeof lon !== 'number' || typeof lat !== 'number') {
      if (part.some((inner) => inner === null || typeof inner !== 'object')) throw noPosition(part);
      for (const inner of part) widen(inner, box);
      return;
    }
    box.west = Math.min(box.west, lon);
    box.east = Math.max(box.east, lon);
    box.south = Math.min(box.south, lat);
    box.north = Math.max(box.north, lat);
  } else if (part !== undefined && isObject(part)) {
    widen(part.coordinates, box);
    widen(part.geometries, box);
  }
}

const letters: Readonly<Record<string, string>> = { n: 'node', w: 'way', r: 'relation' };

/** With `osmium export --add-unique-id=type_id`, an area has twice the number of its way (`a20`: way 10), or of its relation plus one. */
function objectId(text: string): string | null {
  const [, letter = '', number = ''] = /^([nwra])(\d+)$/.exec(text) ?? [];
  if (letter === 'a') return `${Number(number) % 2 === 0 ? 'way' : 'relation'}/${Math.floor(Number(number) / 2)}`;
  if (letter !== '') return `${letters[letter]}/${number}`;
  return /^(?:node|way|relation)\/\d+$/.test(text) ? text : null;
}
