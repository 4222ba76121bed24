import * as z from 'zod';
import { answerCondition, path } from '../../core/options/expressions.ts';

const max = z.int().min(1).max(1_000_000).default(100).describe('maximum number of pages; if a record has more, it fails');
const nextPath = path.describe(
  "next_url, cursor: the path of the next page's URL or cursor in the answer, or in the last item with from: last_item",
);
const param = z
  .string()
  .min(1, 'expected the name of a query parameter')
  .describe(
    'cursor, page, offset: the query parameter to set; with in: body, a path in the body such as variables.after (default: page or offset)',
  );
const items = path.describe(
  'the path of the list on a page, or $body if the page is the list; an empty list is the last page; required for page and offset',
);
const until = answerCondition(['status', 'headers', 'body', 'record'])
  .optional()
  .describe('a condition on status, headers, body and record, such as body.has_more == false: if it is true, the page is the last one');
const wholeNumber = z.int().min(0).max(1_000_000_000);
const common = { max, until };
const linked = { ...common, items: items.optional() };

const kind = <Name extends string>(name: Name) => z.literal(name).describe('how an answer leads to the next page');

/** The options of `paginate`. */
export const paginateOptions = z.discriminatedUnion('type', [
  z.strictObject({ type: kind('next_url'), path: nextPath, ...linked }),
  z.strictObject({
    type: kind('cursor'),
    path: nextPath,
    param,
    from: z
      .enum(['answer', 'last_item'])
      .default('answer')
      .describe('cursor: where path begins, at the answer or at the last item of its list'),
    in: z.enum(['query', 'body']).default('query').describe('cursor: where param is set, in the query or in the JSON body'),
    ...linked,
  }),
  z.strictObject({
    type: kind('page'),
    param: param.default('page'),
    start: wholeNumber.default(1).describe('page: the number of the first page'),
    items,
    ...common,
  }),
  z.strictObject({
    type: kind('offset'),
    param: param.default('offset'),
    size: z.int().min(1).max(1_000_000).describe('offset: the number of items on a full page'),
    items,
    ...common,
  }),
  z.strictObject({ type: kind('link_header'), ...linked }),
]);

/** The checked options of `paginate`. */
export type PaginateOptions = z.output<typeof paginateOptions>;
