import * as z from 'zod';
import { answerCondition, path } from '../../core/options/expressions.ts';

const max = z.int().min(1).max(1_000_000).default(100).describe('pages; a record that would need more fails');
const nextPath = path.describe(
  "next_url, cursor: where an answer has the next page's URL, or its cursor; in the last item with from: last_item",
);
const param = z
  .string()
  .min(1, 'expected the name of a query parameter')
  .describe(
    'cursor, page, offset: the query parameter that takes it (default: page, offset); with in: body a path such as variables.after',
  );
const items = path.describe(
  'path of the list on a page, $body if the answer is the list: an empty list ends the paging; page and offset need it',
);
const until = answerCondition(['status', 'headers', 'body', 'record'])
  .optional()
  .describe('a CEL condition over status, headers, body, record: when it is true, the page is the last, as in body.has_more == false');
const wholeNumber = z.int().min(0).max(1_000_000_000);
const common = { max, until };
const linked = { ...common, items: items.optional() };

/** The options under `paginate`. */
export const paginateOptions = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('next_url'), path: nextPath, ...linked }),
  z.strictObject({
    type: z.literal('cursor'),
    path: nextPath,
    param,
    from: z
      .enum(['answer', 'last_item'])
      .default('answer')
      .describe('cursor: path leads into the answer, or into the last item of its list'),
    in: z.enum(['query', 'body']).default('query').describe('cursor: param is in the query, or in the JSON body'),
    ...linked,
  }),
  z.strictObject({
    type: z.literal('page'),
    param: param.default('page'),
    start: wholeNumber.default(1).describe('page: the number of the first page'),
    items,
    ...common,
  }),
  z.strictObject({
    type: z.literal('offset'),
    param: param.default('offset'),
    size: z.int().min(1).max(1_000_000).describe('offset: number of items on a full page'),
    items,
    ...common,
  }),
  z.strictObject({ type: z.literal('link_header'), ...linked }),
]);

/** A checked `paginate`. */
export type PaginateOptions = z.output<typeof paginateOptions>;
