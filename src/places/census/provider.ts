import * as z from 'zod';
import type { Auth } from '../../core/auth/auth.ts';
import type { BuildContext } from '../../core/node.ts';
import { duration } from '../../core/options/amounts.ts';
import { credentialName, fieldName } from '../../core/options/names.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';
import { describedAs, dictionary } from '../../core/value/dictionary.ts';
import { type JsonObject, membersOf, type ValuePath } from '../../core/value/value.ts';
import { meanings } from '../../nodes/call-policy.ts';
import { type LookupServer, lookupOptions } from '../lookup/lookup.ts';
import type { LookupDocument } from '../lookup.ts';
import { refusedValue, unexpectedText } from '../refused-value.ts';
import { type SourceName, sources } from '../sources.ts';

export interface CensusQuestions {
  readonly count: number;
  /** Empty if there is nothing to look up. Throws a Failure if the record has no valid query. */
  paths(fields: Fields): readonly string[];
  /** The responses are in the order of the paths. Throws a Failure if a response has an unexpected form. */
  readonly document: LookupServer['document'];
  noMatch(fields: Fields): string;
}

export interface CensusProvider {
  readonly source: SourceName;
  readonly server: string;
  readonly lacks: readonly (keyof CensusOptions)[];
  /** Undefined if no key is required. `credential` is a default name, and `hint` says where to obtain the key. */
  readonly key?: { readonly credential: string; readonly hint: string; auth(credential: string): Auth };
  questions(options: CensusOptions, context: BuildContext): CensusQuestions | undefined;
  /** Throws a Failure or LimitReached if the response cannot be used for any record. */
  check(response: HttpResponse, options: CensusOptions): void;
}

interface Figures {
  readonly name: string | null;
  readonly geoid?: string;
  readonly level?: string;
  readonly year: number | null;
  readonly values: JsonObject;
}

/** Returns the answer document. If `match` is false, the figures contain only what the query states, such as the code. */
export function censusDocument(match: boolean, { name, geoid, level, year, values }: Figures, source: SourceName): LookupDocument {
  return { match, name, geoid: geoid ?? null, level: level ?? null, year, values, attribution: sources[source].text };
}

export const yearForm: TextForm = { pattern: /^(?:19|20)\d\d$/, expected: 'a year such as 2024' };

export interface CensusVariable {
  readonly field: string;
  readonly code: string;
}

export function variablesTemplate(
  { variables }: CensusOptions,
  form: TextForm,
  context: BuildContext,
): (fields: Fields) => readonly CensusVariable[] {
  const templates = membersOf(variables).map(([field, text]) => {
    const code = checkedText(text, form, ['variables', field], context);
    return (fields: Fields) => ({ field, code: code(fields) });
  });
  return (fields) => templates.map((render) => render(fields));
}

const code = z.union([z.string(), z.number()], { error: 'expected text with {{field}}' }).transform(String);

/** Maximum number of census variables in one request. The server accepts 50, and the name of the geographic unit counts as one. */
const maxVariables = 49;

const written = dictionary(fieldName, z.string({ error: 'expected the code of a variable, such as B19013_001E' }).min(1));

const variables = describedAs(
  written
    .superRefine((chosen, { addIssue }) => {
      const found = Object.keys(chosen).length;
      if (found >= 1 && found <= maxVariables) return;
      addIssue({ code: 'custom', message: `expected 1 to ${maxVariables} variables, found ${found}` });
    })
    .describe('the fields to add, each with the code of a variable, such as { median_income: B19013_001E }; 1 to 49'),
  written,
);

export const censusOptions = z.strictObject({
  provider: z
    .enum(['us-acs5', 'world-bank'])
    .default('us-acs5')
    .describe('the source of the figures: us-acs5 is the American Community Survey over 5 years, world-bank has figures for countries'),
  year: z
    .union([z.int(), z.string()], { error: 'expected a year such as 2024' })
    .transform(String)
    .optional()
    .describe(
      'us-acs5: the last year of the survey, which is required; world-bank: the year of the figures (default: the newest, with world-bank)',
    ),
  geoid: code
    .optional()
    .describe(
      'us-acs5: a FIPS code of 2 digits for a state, 5 for a county, 11 for a tract, 12 for a block group, or 15 for a block, which counts as its block group',
    ),
  zcta: code
    .optional()
    .describe('us-acs5, instead of geoid: a ZIP code, which stands for its tabulation area; only the first five digits of a ZIP+4 count'),
  country: z.string().optional().describe('world-bank: the country, by code or name, such as DE or Germany'),
  variables,
  credential: credentialName.optional().describe('us-acs5: the name of the credential that holds the API key (default: census-api-key)'),
  ...lookupOptions,
  cache: duration.prefault('30d').describe(meanings.cache),
});

export type CensusOptions = z.output<typeof censusOptions>;

interface TextForm {
  readonly pattern: RegExp;
  /** A description that follows the word `expected` in messages, for example `a year such as 2024`. */
  readonly expected: string;
}

/** Text without references is checked immediately, and a mistake is a problem of the flow. Otherwise, the record fails. */
export function checkedText(
  text: string,
  { pattern, expected }: TextForm,
  at: ValuePath,
  context: BuildContext,
): (fields: Fields) => string {
  if (referencedFields(text).length === 0 && !pattern.test(text.trim())) context.problem(at, unexpectedText(expected, text));
  const render = textTemplate(text);
  return (fields) => {
    const written = render(fields).trim();
    if (!pattern.test(written)) throw refusedValue(unexpectedText(expected, written));
    return written;
  };
}
