import type { JsonObject } from '../../core/value/value.ts';
import { type Coordinates, metresBetween } from '../coordinates.ts';
import { type FoundPoint, hasTags, type LookupDocument, type Tags } from '../lookup.ts';
import { sources } from '../sources.ts';
import type { Where } from './where-option.ts';

export interface AskedCategory {
  /** An id such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Tags;
}

/** In any order. */
export interface FoundPoints {
  readonly points: readonly FoundPoint[];
  /** True if points were cut off, and the nearest point might be one of them. */
  readonly mayLackNearest: boolean;
}

interface AskedPoints {
  readonly where: Where;
  readonly categories: readonly AskedCategory[];
  readonly limit: number;
}

/** Sorted by distance, or by id in an area. `nearest` is null if the nearest point might have been cut off. */
export function pointsDocument(found: FoundPoints, { where, categories, limit }: AskedPoints): LookupDocument {
  const near = 'near' in where ? where.near : undefined;
  const placed = near ? byDistance(found.points, near) : [...found.points].sort(byId).map((point) => ({ point, metres: null }));
  const points = placed.slice(0, limit).map(({ point, metres }) => pointJson(point, metres, categories));
  return {
    match: points.length > 0,
    count: points.length,
    truncated: placed.length > limit || found.mayLackNearest,
    nearest: (near && !found.mayLackNearest && points[0]) || null,
    points,
    attribution: sources.openstreetmap.text,
  };
}

/** The answer document if the query names an unknown retail chain, so that no request was sent. */
export const unknownChain: LookupDocument = {
  match: false,
  count: null,
  truncated: false,
  nearest: null,
  points: [],
  attribution: sources.openstreetmap.text,
};

function byDistance(found: readonly FoundPoint[], near: Coordinates) {
  return found
    .map((point) => ({ point, exact: metresBetween(near, point) }))
    .sort((one, other) => one.exact - other.exact)
    .map(({ point, exact }) => ({ point, metres: Math.round(exact) }));
}

const kinds = ['node', 'way', 'relation'];

/** Compares two points by id. Nodes come first, then ways, then relations, each sorted by number. */
function byId({ id: one }: FoundPoint, { id: other }: FoundPoint): number {
  const [[kind = '', number], [otherKind = '', otherNumber]] = [one, other].map((id) => (id ?? '').split('/')) as [string[], string[]];
  return kinds.indexOf(kind) - kinds.indexOf(otherKind) || Number(number) - Number(otherNumber);
}

/** Keys of OpenStreetMap tags that say what a point is, the most informative first. */
const mainKeys = 'amenity shop tourism leisure office craft healthcare club emergency railway aeroway historic sport man_made'.split(' ');

function pointJson({ id, lat, lon, tags }: FoundPoint, metres: number | null, categories: readonly AskedCategory[]): JsonObject {
  const tag = (...keys: string[]) => keys.map((key) => tags[key]).find((value) => value !== undefined) ?? null;
  return {
    id,
    name: tag('name'),
    lat,
    lon,
    distance_m: metres,
    category: categoryOf(tags, categories),
    chain_id: tag('brand:wikidata'),
    brand: tag('brand'),
    street: tag('addr:street'),
    housenumber: tag('addr:housenumber'),
    postcode: tag('addr:postcode'),
    city: tag('addr:city'),
    country: tag('addr:country'),
    phone: tag('phone', 'contact:phone'),
    website: tag('website', 'contact:website'),
    opening_hours: tag('opening_hours'),
    tags: { ...tags },
  };
}

function categoryOf(tags: FoundPoint['tags'], categories: readonly AskedCategory[]): string | null {
  const asked = categories.find((category) => hasTags(tags, category.tags));
  if (asked) return asked.id;
  const key = mainKeys.find((main) => tags[main] !== undefined);
  return key === undefined ? null : `${key}/${tags[key]}`;
}
