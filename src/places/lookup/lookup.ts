import * as z from 'zod';
import type { ResponseMode } from '../../core/answer/response.ts';
import type { LookedUp } from '../../core/event.ts';
import type { LookupRequest } from '../../core/lookup.ts';
import type { BuildContext, CredentialNeed, FieldUse } from '../../core/node.ts';
import { name } from '../../core/options/names.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { cacheOption, callOptions, meanings } from '../../nodes/call-policy.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';

/** Defines the query and the meaning of its documents. `answerer` provides the documents, which `map` reads. */
export interface Lookup {
  readonly label: string;
  readonly sources: readonly SourceName[];
  /** The map that is used if the node has none. It maps fields to paths into the answer document. */
  readonly defaultMap: Readonly<Record<string, string>>;
  readonly reads: readonly FieldUse[];
  /** Information about the node that `validate` prints. */
  readonly notes?: readonly string[];
  readonly answerer: LocalData | LookupServer;
  question(document: LookupDocument, record: Fields): string;
  noMatch(document: LookupDocument, record: Fields): string;
  /** Returns the names of the fields that are empty in a match; undefined if every match has values for all fields. */
  lacking?(document: LookupDocument): readonly string[];
  /** Returns the country of a record if it was ignored because it cannot be recognized; undefined otherwise. */
  readonly unknownCountry?: (record: Fields) => string | undefined;
  cutOff?(document: LookupDocument): Pick<LookedUp, 'cutOffAt' | 'hidesNearest'> | undefined;
  /** For a record with an unknown chain, for which no request is sent. Undefined if requests never refer to chains. */
  readonly unknownChain?: LookupDocument;
}

/** Local data that answers a lookup, either embedded or in a file. */
export interface LocalData {
  /** The path of the data file; undefined for embedded data. */
  readonly file?: string;
  /** Returns the request for a record; undefined if there is nothing to look up. Throws a Failure if the record has no valid query. */
  request(fields: Fields): LookupRequest | undefined;
  /** Converts a result to the answer document; undefined if results are answer documents already. */
  document?(found: LookupDocument, request: LookupRequest): LookupDocument;
}

export interface LookupServer {
  /** The name of the server if it is a public one, to which every user may send only few requests; undefined for any other server. */
  readonly publicServer?: string;
  readonly maxAgeMs: number | undefined;
  readonly credentials: readonly CredentialNeed[];
  readonly calls: number;
  /** Returns the requests for a record; empty if there is nothing to look up. Throws a Failure if the record has no valid query. */
  requests(fields: Fields): readonly HttpRequest[];
  /** Throws a Failure if the response cannot be used for any record, or LimitReached if every other request would get the same response. */
  check(response: HttpResponse): void;
  /** The responses are in the order of the requests; `test-request` provides only the first. Throws a Failure for an unexpected form. */
  document(responses: readonly HttpResponse[], record: Fields): LookupDocument;
  /** Undefined if each record has separate requests. */
  readonly batch?: LookupBatch;
}

/** The rules for looking up many records with one request. */
export interface LookupBatch {
  readonly size: number;
  /** Returns the key of a record. Only records with the same key share a request. It is undefined if all records can share one. */
  keyOf?(fields: Fields): string;
  readonly responseMode?: ResponseMode;
  request(records: ReadonlyMap<number, Fields>): HttpRequest;
  /** Keyed by the record's number. Throws a Failure for an unexpected form; if it is retryable, the request is retried. */
  documents(response: HttpResponse): ReadonlyMap<number, LookupDocument>;
}

/** The options of all nodes with lookups. A node can replace an option that has a different default in that node. */
export const lookupOptions = {
  connection: name.optional().describe('a connection to your own server, to use instead of the built-in one'),
  ...callOptions,
  map: callOptions.map.describe(`${meanings.map} (default: the default fields of the lookup)`),
  cache: cacheOption,
  no_match: z
    .enum(['keep', 'reject'])
    .default('keep')
    .describe('if nothing is found for a record: keep leaves its fields empty, reject fails it'),
};

const checked = z.object(lookupOptions);

export type LookupOptions = z.output<typeof checked>;

/** A connection is a problem; options without effect get a warning. `choice` is the option that selects the local data. */
export function checkLocalOptions(options: LookupOptions, choice: string, { problem, warn }: BuildContext): void {
  const local = `${choice} uses data on this machine`;
  if (options.connection !== undefined) problem(['connection'], `${local}, not a server\nleave connection out`);
  for (const option of ['rate', 'concurrency', 'cache'] as const)
    if (options[option] !== undefined) warn([option], `${local}: ${option} has no effect`);
}
