import type { LookedUp } from '../../core/event.ts';
import type { LookupDocument, LookupRequest } from '../../core/lookups/lookup.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import type { CredentialNeed, FieldUse } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';

/**
 * A lookup: a node that finds something out about each record, as an answer document that `map` reads. `lookupNode` makes a node
 * of it. The lookup says what is asked and what its documents mean; `answerer` gives the documents.
 */
export interface Lookup {
  /** Its name in summaries. */
  readonly label: string;
  /** The sources of its answers. */
  readonly sources: readonly SourceName[];
  /** The map of a node without one: fields to paths into the answer document. */
  readonly defaultMap: Readonly<Record<string, string>>;
  readonly reads: readonly FieldUse[];
  /** Facts about the node for `validate`. */
  readonly notes?: readonly string[];
  readonly answerer: LocalData | LookupServer;
  /** The question, for messages. */
  question(document: LookupDocument, record: Fields): string;
  /** The message for a record for which nothing was found. */
  noMatch(document: LookupDocument, record: Fields): string;
  /** The fields of a match that have no value; undefined if every match has values for all fields. */
  lacking?(document: LookupDocument): readonly string[];
  /** The country of a record that cannot be read and is ignored; undefined if there is none. */
  readonly unknownCountry?: ((record: Fields) => string | undefined) | undefined;
  /** The facts about a document that was cut off; undefined if it is whole. */
  cutOff?(document: LookupDocument): Pick<LookedUp, 'cutOffAt' | 'hidesNearest'> | undefined;
  /** The document for a record that names an unknown chain. Nothing is asked then. Undefined if its requests name no chain. */
  readonly unknownChain?: LookupDocument;
}

/** Data on this machine that answer a lookup: embedded, or in a file. */
export interface LocalData {
  /** The file that holds the data; undefined for embedded data. */
  readonly file?: string;
  /** The request for a record; undefined if there is nothing to look up. Throws a Failure. */
  request(fields: Fields): LookupRequest | undefined;
  /** The answer document for what was found; undefined if it is the answer document already. */
  document?(found: LookupDocument, request: LookupRequest): LookupDocument;
}

/** A server that answers a lookup. */
export interface LookupServer {
  /** Its name if it is a public server, whose limits hold for everybody; undefined for any other. */
  readonly publicServer?: string | undefined;
  /** Maximum age of a cached answer; undefined if no answer is cached. */
  readonly maxAgeMs: number | undefined;
  readonly credentials: readonly CredentialNeed[];
  /** The number of requests for one record. */
  readonly calls: number;
  /** The requests for a record; empty if there is nothing to look up. Throws a Failure. */
  requests(fields: Fields): readonly HttpRequest[];
  /** Refuses a response that answers no record. Throws a Failure, or LimitReached if no other response would be better. */
  check(response: HttpResponse): void;
  /** The answer document from the responses to the record's requests, in their order. `test-request` has only the first response. Throws a Failure. */
  document(responses: readonly HttpResponse[], record: Fields): LookupDocument;
  /** The way to ask for many records at once; undefined if each record has requests of its own. */
  readonly batch?: LookupBatch | undefined;
}

/** A server's way to answer for many records with one request. */
export interface LookupBatch {
  /** Maximum of records in one request. */
  readonly size: number;
  /** Only records with the same key share a request; undefined if all records can share one. */
  keyOf?(fields: Fields): string;
  /** The request for some records, by their numbers in it. */
  request(records: ReadonlyMap<number, Fields>): HttpRequest;
  /** The documents in an answer, by the numbers of their records. Throws a Failure, which is retried if it is retryable. */
  documents(response: HttpResponse): ReadonlyMap<number, LookupDocument>;
}
