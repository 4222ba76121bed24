import type { BuildContext } from '../../core/node.ts';
import type { DayLimit } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import type { LookupBatch } from '../lookup/lookup.ts';
import type { Payload } from '../lookup/server-requests.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { Question, QuestionTemplate } from './question.ts';

/** A server that finds places. */
export interface Provider {
  readonly source: SourceName;
  /** The origin of the built-in server. */
  readonly server: string;
  /** True if volunteers run the built-in server for everybody. A flow cannot override the rules of such a server. */
  readonly isPublic: boolean;
  /** The number of requests per day that the public server accepts from one machine; undefined for any other server. */
  readonly perDay?: DayLimit;
  /** The options that this provider does not support. */
  readonly lacks: readonly (keyof GeocodeOptions)[];
  /** Default maximum number of calls in flight; undefined for the default of all nodes. */
  readonly concurrency?: number;
  /** Default timeout of one request in ms. */
  readonly timeoutMs: number;
  /** The headers that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns a function that renders the path and query of a request. It throws a Failure if the server would refuse the query. */
  paths(options: GeocodeOptions, context: BuildContext): (question: Question, fields: Fields) => string;
  /** Returns the answer document. Throws a Failure if the response has an unexpected form. */
  document(body: Value, question: Question): LookupDocument;
  /** The countries that the provider covers, with a name for messages; undefined if it covers all countries. */
  readonly countries?: { readonly codes: readonly string[]; readonly name: string };
  /** Compiles requests for many records. It is undefined if the provider needs a separate request for each record. */
  batch?(options: GeocodeOptions, questionOf: QuestionTemplate['render'], context: BuildContext): ProviderBatch;
}

/** The rules for looking up many records with one request. */
export interface ProviderBatch extends Omit<LookupBatch, 'request'> {
  /** Returns the request for some records, which are keyed by their number in the request. */
  payload(records: ReadonlyMap<number, Fields>): Payload;
}
