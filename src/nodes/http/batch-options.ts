import * as z from 'zod';
import { byteSize, exactNumber } from '../../core/options/amounts.ts';
import { path } from '../../core/options/expressions.ts';
import { fieldName } from '../../core/options/names.ts';
import { dictionary } from '../../core/value/dictionary.ts';

const template = z.union([z.string(), z.number(), exactNumber, z.boolean(), z.null()], {
  error: 'expected text with {{field}}, or a value',
});

/** The options of `batch`. */
export const batchOptions = z.strictObject({
  size: z.int().min(1).max(10_000).default(100).describe('maximum number of records in one request'),
  max_bytes: byteSize.optional().describe('maximum size of the body; a batch that would be larger has fewer records (default: no limit)'),
  items: z
    .union([z.string(), dictionary(z.string(), template)], { error: 'expected text with {{field}}, or a mapping of such strings' })
    .describe('what each record adds to the list {{items}} in the body'),
  match: z
    .strictObject({
      field: fieldName.describe('the field of the record with the value to match'),
      path: path.describe('the path of the same value in the elements of the answer, such as results[].id'),
    })
    .optional()
    .describe('find the answer of each record by a value, compared as text (default: by position)'),
  missing: z
    .enum(['error', 'keep'])
    .default('error')
    .describe('if the answer has nothing for a record: error fails it, keep leaves its fields empty'),
});

/** The checked options of `batch`. */
export type BatchOptions = z.output<typeof batchOptions>;
