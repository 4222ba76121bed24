/** A query for a retail chain. */
export interface ChainQuery {
  /** The chain's name as people write it. */
  readonly name: string;
  /** The country whose chains are preferred, as an ISO 3166-1 alpha-2 code in upper case; undefined for no preference. */
  readonly country?: string | undefined;
  /** The tag of the preferred category, such as `amenity/fast_food`; undefined for no preference. */
  readonly category?: string | undefined;
  /** Minimum score of a match, from 0.5 to 1. */
  readonly minScore: number;
}
