import * as z from 'zod';
import { lookupOptions } from '../lookup-options.ts';

/** The options of a places node, for all its lookups. */
export const placesOptions = z.strictObject({
  lookup: z
    .enum(['chain', 'category'])
    .describe('chain: the chain that a name means; category: the category that words mean. Both are answered by embedded data'),
  name: z.string().optional().describe('chain: a name as people write it; {{field}} inserts a field'),
  country: z.string().optional().describe('chain: ISO 3166-1 alpha-2, such as DE; prefers chains that are there'),
  category: z.string().optional().describe('chain: the id of a category, or words for it; prefers chains of that kind'),
  words: z.string().optional().describe('category: words in any language, or the id of a category'),
  language: z.string().optional().describe('category: language of the words, tried first, and of the name in the answer, such as de'),
  min_score: z
    .number()
    .min(0.5, 'expected a score from 0.5 to 1')
    .max(1, 'expected a score from 0.5 to 1')
    .optional()
    .describe('below it there is no match; default 0.85 for chain, 0.7 for category'),
  ...lookupOptions,
});

/** The checked options of a places node. */
export type PlacesOptions = z.output<typeof placesOptions>;
