import type { Around, Box, FoundPoint, Tags } from '../../../core/lookups/points.ts';
import type { SourceName } from '../../../core/lookups/sources.ts';
import type { DayLimit } from '../../../core/ports.ts';
import type { Value } from '../../../core/value/value.ts';
import type { LookupOptions } from '../../lookup/lookup-options.ts';
import type { Payload } from '../../lookup/server-requests.ts';

/** An area by its code: a country (ISO 3166-1 alpha-2), a region (ISO 3166-2), or an object of OpenStreetMap such as `way/5`. */
export type Area = { readonly country: string } | { readonly region: string } | { readonly osm: string };

/** The place where points are looked for. */
export type Where = Around | Box | Area;

/** A category that a flow names. */
export interface AskedCategory {
  /** Such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Tags;
}

/** A question for points of interest. */
export interface PointsQuestion {
  readonly where: Where;
  /** The categories of which a point needs one; empty for any category. */
  readonly categories: readonly AskedCategory[];
  /** The tags of a chain; undefined for any chain. */
  readonly chain: Tags | undefined;
  /** Maximum of points in the answer document. A server is asked for one more, which shows that there are more. */
  readonly limit: number;
}

/** The points that answer a question, in any order. */
export interface FoundPoints {
  readonly points: readonly FoundPoint[];
  /** True if points were left out, and the nearest point may be one of them. */
  readonly mayLackNearest: boolean;
}

/** A server that finds points of interest. */
export interface PointsProvider {
  readonly source: SourceName;
  /** Origin of the built-in server. */
  readonly server: string;
  /** The requests that the built-in server takes from one machine in a day, if it is a public server; undefined for any other server. */
  readonly perDay?: DayLimit;
  /** The retries of the public server, whatever a flow says. */
  readonly publicRetry?: LookupOptions['retry'];
  /** The request for a question. Throws a Failure (`request`) for a question that the server would refuse. */
  request(question: PointsQuestion): Payload;
  /** The error in an answer that came with status 200; undefined if the answer has points, or says that there are none. */
  refusal(body: Value): { readonly message: string; readonly isTimeout?: boolean } | undefined;
  /** The points of an answer. `limit`: of the question. */
  answer(body: Value, limit: number): FoundPoints;
}
