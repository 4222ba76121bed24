import type { Auth } from '../../core/auth/auth.ts';
import type { LookupDocument } from '../../core/lookups/lookup.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { membersOf } from '../../core/value/dictionary.ts';
import type { JsonObject } from '../../core/value/value.ts';
import { checkedText, type TextForm } from '../checked-text.ts';
import type { LookupServer } from '../lookup/lookup.ts';
import type { CensusOptions } from './census-options.ts';

/** The compiled questions of a node, for one provider. */
export interface CensusQuestions {
  /** The number of requests for one record. */
  readonly count: number;
  /** The paths of a record's requests; empty if there is nothing to look up. Throws a Failure. */
  paths(fields: Fields): readonly string[];
  /** The answer document from the responses, in the order of the paths. Throws a Failure. */
  readonly document: LookupServer['document'];
  /** The message for a record for which nothing was found. */
  noMatch(fields: Fields): string;
}

/** A server that answers questions for figures. */
export interface CensusProvider {
  readonly source: SourceName;
  /** Origin of its server. */
  readonly server: string;
  /** Options that this provider does not have. */
  readonly lacks: readonly (keyof CensusOptions)[];
  /** The key that it needs: the default name of the credential, where a key is issued, and how the key signs requests. Undefined if it needs no key. */
  readonly key?: { readonly credential: string; readonly hint: string; auth(credential: string): Auth };
  /** Compiles the questions of a node. Undefined if a problem was reported. */
  questions(options: CensusOptions, context: BuildContext): CensusQuestions | undefined;
  /** Refuses a response that answers no record. Throws a Failure or LimitReached. */
  check(response: HttpResponse, options: CensusOptions): void;
}

/** The figures of an answer. */
export interface Figures {
  readonly name: string | null;
  readonly geoid?: string;
  readonly level?: string;
  readonly year: number | null;
  readonly values: JsonObject;
}

/** The answer document. Without a match, `figures` has what is known nevertheless. */
export function censusDocument(match: boolean, { name, geoid, level, year, values }: Figures, attribution: string): LookupDocument {
  return { match, name, geoid: geoid ?? null, level: level ?? null, year, values, attribution };
}

/** The form of a year. */
export const yearForm: TextForm = { pattern: /^(?:19|20)\d\d$/, expected: 'a year such as 2024' };

/** A field of the answer, and the code of its variable. */
export interface Variable {
  readonly field: string;
  readonly code: string;
}

/** Compiles `variables`. */
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
