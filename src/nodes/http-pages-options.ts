import * as z from 'zod';
import { path } from '../core/options.ts';

const max = z.int().min(1).max(1_000_000).default(100).describe('pages; a record that would need more fails');
const param = z.string().min(1, 'expected the name of a query parameter');
const items = path.describe('the array on a page: an empty one is the last');
const wholeNumber = z.int().min(0).max(1_000_000_000);

/** What a user may write under `paginate`. */
export const paginateOptions = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('next_url'), path: path.describe('where an answer has the URL of the next page'), max }),
  z.strictObject({
    type: z.literal('cursor'),
    path: path.describe('where an answer has the cursor of the next page'),
    param: param.describe('the query parameter that takes the cursor'),
    max,
  }),
  z.strictObject({
    type: z.literal('page'),
    param: param.default('page').describe('the query parameter that takes the number of the page'),
    start: wholeNumber.default(1).describe('the number of the first page'),
    items,
    max,
  }),
  z.strictObject({
    type: z.literal('offset'),
    param: param.default('offset').describe('the query parameter that takes how many to leave out'),
    size: z.int().min(1).max(1_000_000).describe('how many there are on a page'),
    items,
    max,
  }),
  z.strictObject({ type: z.literal('link_header'), max }),
]);

/** A `paginate` as it was checked. */
export type PaginateOptions = z.output<typeof paginateOptions>;
