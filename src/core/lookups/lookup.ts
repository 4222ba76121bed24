import type { JsonObject } from '../value/value.ts';
import type { CategoryQuery } from './category.ts';
import type { ChainQuery, NamedChain } from './chain.ts';
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

/** A request for one kind of lookup. */
type Asked<Name extends keyof LookupQueries> = {
  readonly kind: 'lookup';
  readonly lookup: Name;
  readonly query: LookupQueries[Name];
  /** The retail chain that the query refers to by name; undefined if it refers to none. */
  readonly chain?: NamedChain<LookupRequest>;
};

/** A request that is answered from local data, without a server, rate limit or retries. */
export type LookupRequest = { readonly [Name in keyof LookupQueries]: Asked<Name> }[keyof LookupQueries];

/** The document that a lookup returns, and from which `map` reads fields. */
export type LookupDocument = JsonObject & {
  /** True if the lookup found something. */
  readonly match: boolean;
  /** True if another answer fits the query just as well; undefined for a lookup whose answers are never ambiguous. */
  readonly ambiguous?: boolean;
  /** The reasons to check the answer; null or undefined if there are none. */
  readonly doubt?: string | null;
};

/** An answer that comes from local data. */
export interface LookupAnswer {
  readonly kind: 'lookup';
  readonly body: LookupDocument;
}

/** Answers lookups from embedded data and local files. */
export interface Lookups {
  /**
   * Answers a lookup. It is synchronous, except for the first lookup of each kind, which loads the data. Throws an AutomateError if the
   * data cannot be read.
   */
  find(request: LookupRequest): LookupAnswer | Promise<LookupAnswer>;
}
