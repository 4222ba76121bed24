import type { Coordinates } from './coordinates.ts';

/** Tags that a point has to have; `*` stands for any value. */
export type Tags = Readonly<Record<string, string>>;

/** A point of interest. */
export interface FoundPoint extends Coordinates {
  /** Such as `node/1`; null for a point without an id. */
  readonly id: string | null;
  readonly tags: Readonly<Record<string, string>>;
}

/** The area around a point; `radius` in metres. */
export interface Around {
  readonly near: Coordinates;
  readonly radius: number;
}

/** A box of degrees: south, west, north, east. West may be greater than east, across the date line. */
export interface Box {
  readonly bbox: readonly number[];
}

/** A question for the points of a file. */
export interface PointsQuery {
  readonly file: string;
  readonly where: Around | Box;
  /** The tags of each category; empty for any category. */
  readonly categories: readonly Tags[];
  /** The tags of a chain; undefined for any chain. */
  readonly chain?: Tags | undefined;
}

const wikidataId = /^Q[1-9]\d*$/i;

/** True for the id of a chain. Any other text is a name. */
export function isChainId(text: string): boolean {
  return wikidataId.test(text);
}

/** The least score of a chain that a name stands for. */
export const minChainScore = 0.85;

/** The tags of the points of a chain. `id`: null for a chain without an entry in Wikidata. */
export function chainTags(id: string | null, name: string): Tags {
  return id === null ? { brand: name } : { 'brand:wikidata': id };
}

/** True if a point has all of these tags. */
export function hasTags(tags: FoundPoint['tags'], wanted: Tags): boolean {
  return Object.entries(wanted).every(([key, value]) => (value === '*' ? tags[key] !== undefined : tags[key] === value));
}
