import type { Auth } from '../../core/auth/auth.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { membersOf } from '../../core/value/dictionary.ts';
import type { JsonObject } from '../../core/value/value.ts';
import { checkedText, type TextForm } from '../../nodes/checked-text.ts';
import type { LookupServer } from '../lookup/lookup.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';
import type { CensusOptions } from './census-options.ts';

/** The compiled queries of a node, for one provider of figures. */
export interface CensusQuestions {
  /** Number of requests for one record. */
  readonly count: number;
  /**
   * Returns the paths of the requests for a record; empty if there is nothing to look up. Throws a Failure if the record has no valid
   * query.
   */
  paths(fields: Fields): readonly string[];
  /**
   * Returns the answer document for the responses, which are in the order of the paths. Throws a Failure if a response has an unexpected
   * form.
   */
  readonly document: LookupServer['document'];
  /** Returns the message for a record for which nothing was found. */
  noMatch(fields: Fields): string;
}

/** A server that provides figures. */
export interface CensusProvider {
  readonly source: SourceName;
  /** The origin of the server. */
  readonly server: string;
  /** The options that this provider does not support. */
  readonly lacks: readonly (keyof CensusOptions)[];
  /**
   * The key that the provider requires; undefined if it requires none. It consists of the default name of the credential, a hint where to
   * obtain the key, and the way in which it signs requests.
   */
  readonly key?: { readonly credential: string; readonly hint: string; auth(credential: string): Auth };
  /** Compiles the queries of a node; undefined if a problem was reported. */
  questions(options: CensusOptions, context: BuildContext): CensusQuestions | undefined;
  /** Throws a Failure or LimitReached if the response cannot be used for any record. */
  check(response: HttpResponse, options: CensusOptions): void;
}

/** The figures in a response. */
export interface Figures {
  readonly name: string | null;
  readonly geoid?: string;
  readonly level?: string;
  readonly year: number | null;
  readonly values: JsonObject;
}

/** Returns the answer document. If `match` is false, the figures contain only what the query states, such as the code. */
export function censusDocument(match: boolean, { name, geoid, level, year, values }: Figures, attribution: string): LookupDocument {
  return { match, name, geoid: geoid ?? null, level: level ?? null, year, values, attribution };
}

/** The form that the text of a year must have. */
export const yearForm: TextForm = { pattern: /^(?:19|20)\d\d$/, expected: 'a year such as 2024' };

/** A field of the answer document, and the code of the census variable whose figure the field contains. */
export interface Variable {
  readonly field: string;
  readonly code: string;
}

/** Compiles the option `variables`, which lists the figures to look up. */
export function variablesTemplate(
  { variables }: CensusOptions,
  form: TextForm,
  context: BuildContext,
): (fields: Fields) => readonly Variable[] {
  const templates = membersOf(variables).map(([field, text]) => {
    const code = checkedText(text, form, ['variables', field], context);
    return (fields: Fields) => ({ field, code: code(fields) });
  });
  return (fields) => templates.map((render) => render(fields));
}
