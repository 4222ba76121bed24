import * as z from 'zod';
import { duration } from '../../core/options/amounts.ts';
import { credentialName, fieldName } from '../../core/options/names.ts';
import { describedAs, dictionary } from '../../core/value/dictionary.ts';
import { lookupOptions } from '../lookup/lookup-options.ts';

const code = z.union([z.string(), z.number()], { error: 'expected a text with {{field}}' }).transform(String);

/** Maximum of variables in one request: the server takes 50, and the name of the unit counts as a variable. */
const maxVariables = 49;

const written = dictionary(fieldName, z.string({ error: 'expected the code of a variable, such as B19013_001E' }).min(1));

const variables = describedAs(
  written
    .superRefine((chosen, { addIssue }) => {
      const found = Object.keys(chosen).length;
      if (found >= 1 && found <= maxVariables) return;
      addIssue({ code: 'custom', message: `expected 1 to ${maxVariables} variables, found ${found}` });
    })
    .describe('fields to codes of variables, such as { median_income: B19013_001E }; 1 to 49'),
  written,
);

/** The options of a census node. */
export const censusOptions = z.strictObject({
  provider: z
    .enum(['us-acs5', 'world-bank'])
    .default('us-acs5')
    .describe('who answers. us-acs5: the American Community Survey, 5 years; world-bank: figures of countries'),
  year: z
    .union([z.int(), z.string()], { error: 'expected a year such as 2024' })
    .transform(String)
    .optional()
    .describe('us-acs5: the last year of the survey, required; world-bank: default the newest value'),
  geoid: code
    .optional()
    .describe('us-acs5: FIPS code of 2 (state), 5 (county), 11 (tract) or 12 digits (block group); of a block (15) its block group'),
  zcta: code.optional().describe('us-acs5, instead of geoid: ZIP code (tabulation area); of a ZIP+4 its first five digits'),
  country: z.string().optional().describe('world-bank: a country by its code or name, such as DE or Germany'),
  variables,
  credential: credentialName.optional().describe('us-acs5: the key; default census-api-key'),
  ...lookupOptions,
  cache: duration.prefault('30d').describe('how long an answer is cached on disk for identical requests'),
});

/** The checked options of a census node. */
export type CensusOptions = z.output<typeof censusOptions>;
