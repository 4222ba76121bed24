import type { JsonObject } from '../core/value/value.ts';
import type { Coordinates } from './coordinates.ts';

/** The lookups that can be answered from local data, with the type of query for each. */
export interface LookupQueries {
  readonly chain: ChainQuery;
  readonly category: CategoryQuery;
  readonly address: AddressQuery;
  readonly point: PointQuery;
  readonly points: PointsQuery;
}

/** The document that a lookup returns, and from which `map` reads fields. */
export type LookupDocument = JsonObject & {
  readonly match: boolean;
  /** True if another answer fits the query just as well; undefined for a lookup whose answers are never ambiguous. */
  readonly ambiguous?: boolean;
  /** The reasons to check the answer; null or undefined if there are none. */
  readonly doubt?: string | null;
};

export interface ChainQuery {
  readonly name: string;
  /** The country whose chains are preferred, as an ISO 3166-1 alpha-2 code in upper case; undefined for no preference. */
  readonly country?: string;
  /** The tag of the preferred category, such as `amenity/fast_food`; undefined for no preference. */
  readonly category?: string;
  readonly minScore: number;
}

/** The languages in which categories of places have names. @internal */
export const categoryLanguages: readonly string[] = 'ar ca cs da de el en es fi fr he hr hu it ja ko nl no pl pt ru sv tr uk vi zh'.split(
  ' ',
);

/** Returns a message if categories have no names in the language. Accepts a region, as in de-AT. */
export function noLanguage(text: string): string | undefined {
  if (categoryLanguages.includes(text.trim().toLowerCase().split(/[-_]/)[0] ?? '')) return undefined;
  return `expected a language such as de, found ${JSON.stringify(text)}\nthere are ${categoryLanguages.join(', ')}`;
}

/** A query for a category of places, such as "bakery". */
export interface CategoryQuery {
  readonly words: string;
  /** The language that is tried first for the words, and that is used for the name in the answer. It is undefined for English. */
  readonly language?: string;
  readonly minScore: number;
}

/** The category that words in a flow stand for. If they match no category: the reason, and the ids of possible categories. */
export type NamedCategory =
  | { readonly id: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly reason: 'unknown' | 'ambiguous'; readonly choices: readonly string[] };

export type CategoryNames = (words: string) => NamedCategory;

/** An undefined or empty part is unknown. */
export interface AddressParts {
  readonly street?: string;
  readonly city?: string;
  readonly state?: string;
  readonly postcode?: string;
  readonly country?: string;
}

export interface AddressQuery {
  readonly address: string | AddressParts;
  /** ISO 3166-1 alpha-2 in upper case. Other countries are ignored. Undefined to search the whole world. */
  readonly country?: readonly string[];
}

export function addressText(address: AddressQuery['address']): string {
  if (typeof address === 'string') return address;
  const { street, city, state, postcode, country } = address;
  return [street, city, state, postcode, country].filter(Boolean).join(', ');
}

export interface PointQuery {
  /** Latitude and longitude in decimal degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** Countries to search in, as ISO 3166-1 alpha-2 codes in upper case; undefined to search the whole world. */
  readonly country?: readonly string[];
  /** Maximum distance of the place from the point in metres. */
  readonly maxDistance: number;
}

/** The answer document if no place was found, without the attribution of data sources. */
export const noPlace = {
  ...{ match: false, lat: null, lon: null, level: null, name: null, street: null, housenumber: null, postcode: null, city: null },
  ...{ county: null, region: null, region_code: null, country: null, country_code: null, population: null, distance_m: null },
  ...{ score: null, ambiguous: false, doubt: null, matched: [], left_over: null, fips: null, candidates: [] },
};

/** `ignored` are parts that do not help to find the place, such as a P.O. box or an email address. */
export type UnderstoodPart = {
  readonly text: string;
  readonly as: 'place' | 'region' | 'county' | 'country' | 'postcode' | 'street' | 'ignored';
};

/** State, county, tract and block; null if the code is too short for the level. */
export function fipsWithin(code: string): JsonObject {
  const part = (digits: number) => (code.length >= digits ? code.slice(0, digits) : null);
  return { state: part(2), county: part(5), tract: part(11), block: part(15) };
}

export const maxCandidates = 5;

/** The tags (properties in OpenStreetMap) that a point must have. `*` stands for any value. */
export type Tags = Readonly<Record<string, string>>;

/** A point of interest that was found, such as a shop. */
export interface FoundPoint extends Coordinates {
  /** An id such as `node/1`; null if the point has none. */
  readonly id: string | null;
  readonly tags: Readonly<Record<string, string>>;
}

/** `radius` is in metres. */
export interface Around {
  readonly near: Coordinates;
  readonly radius: number;
}

/** A bounding box in degrees, in the order south, west, north, east. West is greater than east if the box crosses the date line. */
export interface Box {
  readonly bbox: readonly number[];
}

export interface PointsQuery {
  readonly file: string;
  readonly where: Around | Box;
  /** A point must have all tags of at least one category. An empty list matches every point. */
  readonly categories: readonly Tags[];
  readonly chain?: Tags;
}

const wikidataId = /^Q[1-9]\d*$/i;

/** Any other text is a chain's name. */
export function isChainId(text: string): boolean {
  return wikidataId.test(text);
}

/** The score from which on the name of a chain is accepted. */
export const minChainScore = 0.85;

/** `id` is null for a chain without an entry in Wikidata. */
export function chainTags(id: string | null, name: string): Tags {
  return id === null ? { brand: name } : { 'brand:wikidata': id };
}

export function hasTags(tags: FoundPoint['tags'], wanted: Tags): boolean {
  return Object.entries(wanted).every(([key, value]) => (value === '*' ? tags[key] !== undefined : tags[key] === value));
}

interface Doubts {
  readonly isAmbiguous: boolean;
  readonly isMisspelt?: boolean;
  /** The country in the query, if the chain does not exist there. */
  readonly missingIn?: string;
  readonly leftOver?: string | null;
  readonly isLow?: boolean;
}

/** Returns the reasons to check an answer, such as `ambiguous` or `left over: Lincs`, separated by semicolons; null if there are none. */
export function doubtText({ isAmbiguous, isMisspelt, missingIn, leftOver, isLow }: Doubts): string | null {
  const reasons = [
    isAmbiguous && 'ambiguous',
    isMisspelt && 'misspelt',
    missingIn !== undefined && `not in ${missingIn}`,
    leftOver && `left over: ${leftOver}`,
  ].filter(Boolean);
  // The other reasons themselves lower the score.
  return reasons.join('; ') || (isLow ? 'low score' : null);
}
