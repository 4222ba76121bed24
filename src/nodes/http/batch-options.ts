import * as z from 'zod';
import { byteSize, exactNumber } from '../../core/options/amounts.ts';
import { path } from '../../core/options/expressions.ts';
import { fieldName } from '../../core/options/names.ts';
import { dictionary } from '../../core/value/dictionary.ts';

const template = z.union([z.string(), z.number(), exactNumber, z.boolean(), z.null()], {
  error: 'expected a text with {{field}}, or a value',
});

/** The options under `batch`. */
export const batchOptions = z.strictObject({
  size: z.int().min(1).max(10_000).default(100).describe('maximum number of records in one request'),
  max_bytes: byteSize.optional().describe('maximum size of the body'),
  items: z
    .union([z.string(), dictionary(z.string(), template)], { error: 'expected a text with {{field}}, or a mapping of such texts' })
    .describe('the element that each record adds to the list {{items}} in the body'),
  match: z
    .strictObject({
      field: fieldName.describe('the field of a record'),
      path: path.describe('the same value in the answer, such as results[].id'),
    })
    .optional()
    .describe('joins records with elements of the answer by a value, compared as text; without it, by position'),
  missing: z.enum(['error', 'keep']).default('error').describe('a record that the answer lacks fails, or goes on with empty fields'),
});

/** A checked `batch`. */
export type BatchOptions = z.output<typeof batchOptions>;
