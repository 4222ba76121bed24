import type { JsonObject } from '../value/value.ts';
import type { CategoryQuery } from './category.ts';
import type { ChainQuery, NamedChain } from './chain.ts';
import type { AddressQuery, PointQuery } from './geocode.ts';
import type { PointsQuery } from './points.ts';

/** The lookups that data on this machine answer, each with its question. */
export interface LookupQueries {
  readonly chain: ChainQuery;
  readonly category: CategoryQuery;
  readonly address: AddressQuery;
  readonly point: PointQuery;
  readonly points: PointsQuery;
}

/** A question to one of the lookups. */
type Asked<Name extends keyof LookupQueries> = {
  readonly kind: 'lookup';
  readonly lookup: Name;
  readonly query: LookupQueries[Name];
  /** Undefined if it names no chain. */
  readonly chain?: NamedChain<LookupRequest>;
};

/** A request that data on this machine answer: no server, no gate, no retry. */
export type LookupRequest = { readonly [Name in keyof LookupQueries]: Asked<Name> }[keyof LookupQueries];

/** The answer document of a lookup, as `map` reads it. */
export type LookupDocument = JsonObject & {
  /** True if something was found. */
  readonly match: boolean;
  /** True if something else fits as well. Undefined for a lookup whose answers are never ambiguous. */
  readonly ambiguous?: boolean;
  /** The reasons to look at the answer; null or undefined if there are none. */
  readonly doubt?: string | null;
};

/** The answer of data on this machine. */
export interface LookupAnswer {
  readonly kind: 'lookup';
  readonly body: LookupDocument;
}

/** Answers lookups from embedded data and local files. */
export interface Lookups {
  /** Answers at once, but for the first lookup of each kind, which loads its data. Throws an AutomateError if the data cannot be read. */
  find(request: LookupRequest): LookupAnswer | Promise<LookupAnswer>;
}
