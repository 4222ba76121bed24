import type { JsonObject } from '../core/value/value.ts';
import type { CategoryQuery } from './category.ts';
import type { ChainQuery } from './chain.ts';
import type { AddressQuery, PointQuery } from './geocode.ts';
import type { PointsQuery } from './points.ts';

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
  /** True if the lookup found something. */
  readonly match: boolean;
  /** True if another answer fits the query just as well; undefined for a lookup whose answers are never ambiguous. */
  readonly ambiguous?: boolean;
  /** The reasons to check the answer; null or undefined if there are none. */
  readonly doubt?: string | null;
};
