import * as z from 'zod';
import { path } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { dictionary } from '../core/value/dictionary.ts';

/** The paths into an answer, and the fields they become. */
export const map = z.union([z.array(path).min(1), dictionary(fieldName, path)], {
  error: 'expected a list of paths, or a mapping of field names to paths',
});

/** What becomes of a record for which an answer holds nothing. */
export const whenEmpty = z.enum(['keep', 'drop', 'error']).default('keep').describe('a record whose array to expand is empty or absent');
