import * as z from 'zod';

/** A whole number in a query. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);
