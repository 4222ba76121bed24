import type { DayLimit } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import type { LookupOptions } from '../lookup/lookup.ts';
import type { Payload } from '../lookup/server-requests.ts';
import type { Around, Box, FoundPoint, Tags } from '../lookup.ts';
import type { SourceName } from '../sources.ts';

/** ISO 3166-1 alpha-2, ISO 3166-2, or an OpenStreetMap object such as `way/5`. */
export type Area = { readonly country: string } | { readonly region: string } | { readonly osm: string };

export type Where = Around | Box | Area;

export interface AskedCategory {
  /** An id such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Tags;
}

export interface PointsQuestion {
  readonly where: Where;
  /** A point must belong to one of these categories. The list is empty to search for any category. */
  readonly categories: readonly AskedCategory[];
  /** The tags of a retail chain; undefined to search without a chain. */
  readonly chain: Tags | undefined;
  /** Maximum number of points in the answer document. One more is requested from the server, which shows whether there are more. */
  readonly limit: number;
}

/** The points that were found for a query, in any order. */
export interface FoundPoints {
  readonly points: readonly FoundPoint[];
  /** True if points were cut off, and the nearest point might be one of them. */
  readonly mayLackNearest: boolean;
}

export interface PointsProvider {
  readonly source: SourceName;
  readonly server: string;
  /** The number of requests per day that the built-in server accepts from one machine; undefined if it is not a public server. */
  readonly perDay?: DayLimit;
  /** The retry rules for the public server. A flow cannot change them. */
  readonly publicRetry?: LookupOptions['retry'];
  /** Returns the request for a query. Throws a Failure (`request`) if the server would refuse the query. */
  request(question: PointsQuestion): Payload;
  /** Returns the error in a response with status 200; undefined if the response contains points, or says that there are none. */
  refusal(body: Value): { readonly message: string; readonly isTimeout?: boolean } | undefined;
  /** Returns the points in a response. `limit` is the maximum number of points in the query. */
  answer(body: Value, limit: number): FoundPoints;
}
