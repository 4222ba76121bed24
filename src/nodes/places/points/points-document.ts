import type { Coordinates } from '../../../core/lookups/coordinates.ts';
import { metresBetween } from '../../../core/lookups/distance.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { type FoundPoint, hasTags, type Tags } from '../../../core/lookups/points.ts';
import { sources } from '../../../core/lookups/sources.ts';
import type { JsonObject } from '../../../core/value/value.ts';
import type { WhereTemplate } from './where-option.ts';

/** A category that was asked for. */
export interface AskedCategory {
  readonly id: string;
  readonly tags: Tags;
}

/** The facts about a question that its document needs. */
export interface AskedPoints {
  /** The point from which distances count; undefined for an area. */
  readonly near: Coordinates | undefined;
  readonly categories: readonly AskedCategory[];
  readonly limit: number;
}

/** The parts of a question that all records share. */
export interface QuestionParts {
  readonly where: WhereTemplate;
  /** A Wikidata id, or a name. */
  readonly chain: string | undefined;
  readonly categories: readonly AskedCategory[];
  readonly limit: number;
}

/** The answer document: with `near` the nearest points first, else by id. */
export function pointsDocument(found: readonly FoundPoint[], { near, categories, limit }: AskedPoints): LookupDocument {
  const points = near ? byDistance(found, near) : [...found].sort(byId).map((point) => ({ point, metres: null }));
  const shown = points.slice(0, limit);
  return {
    match: shown.length > 0,
    count: shown.length,
    truncated: points.length > limit,
    points: shown.map(({ point, metres }) => pointJson(point, metres, categories)),
    attribution: sources.openstreetmap.text,
  };
}

/** The document of an unknown chain: no server was asked. */
export const unknownChain: LookupDocument = {
  match: false,
  count: null,
  truncated: false,
  points: [],
  attribution: sources.openstreetmap.text,
};

interface Placed {
  readonly point: FoundPoint;
  /** Null in an area. */
  readonly metres: number | null;
}

function byDistance(found: readonly FoundPoint[], near: Coordinates): Placed[] {
  return found
    .map((point) => ({ point, exact: metresBetween(near, point) }))
    .sort((one, other) => one.exact - other.exact)
    .map(({ point, exact }) => ({ point, metres: Math.round(exact) }));
}

const kinds = ['node', 'way', 'relation'];

/** Nodes, ways, relations, each by number. */
function byId({ id: one }: FoundPoint, { id: other }: FoundPoint): number {
  const [[kind = '', number], [otherKind = '', otherNumber]] = [one, other].map((id) => (id ?? '').split('/')) as [string[], string[]];
  return kinds.indexOf(kind) - kinds.indexOf(otherKind) || Number(number) - Number(otherNumber);
}

/** Keys of OpenStreetMap whose tag says what a point is, the most telling first. */
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
