import type { Tags } from './points.ts';

/** A question for a chain. */
export interface ChainQuery {
  /** A name as people write it. */
  readonly name: string;
  /** ISO 3166-1 alpha-2, upper case; undefined for no preference. */
  readonly country?: string | undefined;
  /** Tag of the category to prefer, such as `amenity/fast_food`; undefined for no preference. */
  readonly category?: string | undefined;
  /** Least score of a match, 0.5 to 1. */
  readonly minScore: number;
}

/** A chain that a request names. It is looked up first: if no chain has that name, there is nothing to ask. */
export interface NamedChain<Request> {
  readonly query: ChainQuery;
  /** The request for the chain with these tags. */
  request(tags: Tags): Request;
}
