import type { LookupDocument } from '../../core/lookups/lookup.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import type { BuildContext } from '../../core/node.ts';
import type { DayLimit } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import type { LookupBatch } from '../lookup/lookup.ts';
import type { Payload } from '../lookup/server-requests.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { Question, QuestionTemplate } from './question.ts';

/** A server that answers geocodes. */
export interface Provider {
  readonly source: SourceName;
  /** Origin of the built-in server. */
  readonly server: string;
  /** True if the built-in server is run by volunteers for everybody: its rules hold, whatever a flow says. */
  readonly isPublic: boolean;
  /** The requests that the public server takes from one machine in a day; undefined for any other server. */
  readonly perDay?: DayLimit;
  /** Options that this provider does not have. */
  readonly lacks: readonly (keyof GeocodeOptions)[];
  /** Default of calls in flight; undefined for the default of all nodes. */
  readonly concurrency?: number;
  /** Default timeout of one request, in ms. */
  readonly timeoutMs: number;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Compiles the path and query of a request. Rendering throws a Failure for a question that the server would refuse. */
  paths(options: GeocodeOptions, context: BuildContext): (question: Question, fields: Fields) => string;
  /** The answer document. Throws a Failure for an answer of another shape. */
  document(body: Value, question: Question): LookupDocument;
  /** The countries that it knows, and their name in messages; undefined if it knows all countries. */
  readonly countries?: { readonly codes: readonly string[]; readonly name: string };
  /** Compiles requests for many records; undefined if it answers only one record at a time. */
  batch?(options: GeocodeOptions, questionOf: QuestionTemplate['render'], context: BuildContext): ProviderBatch;
}

/** Requests for many records. */
export interface ProviderBatch extends Omit<LookupBatch, 'request'> {
  /** The request for some records, by their numbers in it. */
  payload(records: ReadonlyMap<number, Fields>): Payload;
}
