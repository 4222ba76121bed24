import * as z from 'zod';
import { path } from '../../core/options/expressions.ts';

const max = z.int().min(1).max(1_000_000).default(100).describe('pages; a record that would need more fails');
const nextPath = path.describe("next_url, cursor: where an answer has the next page's URL, or its cursor");
const param = z
  .string()
  .min(1, 'expected the name of a query parameter')
  .describe('cursor, page, offset: the query parameter that takes it (default: page, offset)');
const items = path.describe('page, offset: path of the list on a page; an empty list ends the paging');
const wholeNumber = z.int().min(0).max(1_000_000_000);

/** The options under `paginate`. */
export const paginateOptions = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('next_url'), path: nextPath, max }),
  z.strictObject({
    type: z.literal('cursor'),
    path: nextPath,
    param,
    max,
  }),
  z.strictObject({
    type: z.literal('page'),
    param: param.default('page'),
    start: wholeNumber.default(1).describe('page: the number of the first page'),
    items,
    max,
  }),
  z.strictObject({
    type: z.literal('offset'),
    param: param.default('offset'),
    size: z.int().min(1).max(1_000_000).describe('offset: number of items on a full page'),
    items,
    max,
  }),
  z.strictObject({ type: z.literal('link_header'), max }),
]);

/** A checked `paginate`. */
export type PaginateOptions = z.output<typeof paginateOptions>;
