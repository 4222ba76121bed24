import * as z from 'zod';
import { duration } from '../../core/options/amounts.ts';
import { credentialName, fieldName } from '../../core/options/names.ts';
import { describedAs, dictionary } from '../../core/value/dictionary.ts';
import { meanings } from '../../nodes/call-options.ts';
import { lookupOptions } from '../lookup/lookup-options.ts';

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

/** The options of a census node. */
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

/** The checked options of a census node. */
export type CensusOptions = z.output<typeof censusOptions>;
