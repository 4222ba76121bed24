import type { Coordinates } from './coordinates.ts';

/** The tags (properties in OpenStreetMap) that a point must have. `*` stands for any value. */
export type Tags = Readonly<Record<string, string>>;

/** A point of interest that was found, such as a shop. */
export interface FoundPoint extends Coordinates {
  /** An id such as `node/1`; null if the point has none. */
  readonly id: string | null;
  readonly tags: Readonly<Record<string, string>>;
}

/** The area around a point. `radius` is in metres. */
export interface Around {
  readonly near: Coordinates;
  readonly radius: number;
}

/** A bounding box in degrees, in the order south, west, north, east. West is greater than east if the box crosses the date line. */
export interface Box {
  readonly bbox: readonly number[];
}

/** A query for points of interest (such as shops) in a file. */
export interface PointsQuery {
  readonly file: string;
  readonly where: Around | Box;
  /**
   * The tags of each category to search for. A point matches if it has all tags of at least one category. An empty list matches every
   * point.
   */
  readonly categories: readonly Tags[];
  /** The tags of the retail chain to search for; undefined to match points of any chain. */
  readonly chain?: Tags | undefined;
}

const wikidataId = /^Q[1-9]\d*$/i;

/** True for the id of a retail chain. Any other text is a chain's name. */
export function isChainId(text: string): boolean {
  return wikidataId.test(text);
}

/** Minimum score at which the name of a retail chain is accepted. */
export const minChainScore = 0.85;

/** Returns the tags that the points of a retail chain have. `id` is null for a chain without an entry in Wikidata. */
export function chainTags(id: string | null, name: string): Tags {
  return id === null ? { brand: name } : { 'brand:wikidata': id };
}

/** True if a point has all of these tags. */
export function hasTags(tags: FoundPoint['tags'], wanted: Tags): boolean {
  return Object.entries(wanted).every(([key, value]) => (value === '*' ? tags[key] !== undefined : tags[key] === value));
}
