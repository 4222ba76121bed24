import * as z from 'zod';
import { concurrency, credits, duration, rate, timeout } from '../core/options/amounts.ts';
import { path } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { defaultRetry, retry } from '../core/options/retry.ts';
import { dictionary } from '../core/value/dictionary.ts';

const expectedMember = 'expected a path, or { path: P, required: true } or { path: P, default: V }';

/**
 * A path in a map, and the consequences: if the path finds nothing, a default value or the failure of the record; and if the input has a
 * column of the field's name, a warning.
 */
const member = z
  .strictObject({
    path: path.describe('where the value is in the answer'),
    required: z.boolean().optional().describe('if true and nothing is found, the record fails'),
    default: z.unknown().optional().describe('the value if nothing is found'),
    replace: z.boolean().optional().describe('if true, the field may replace a column of the input; otherwise a warning says so'),
  })
  .refine(({ required, ...others }) => !required || others.default === undefined, {
    error: 'expected required or default: a path with a default always finds something',
    path: ['default'],
  });

/** The option `map`, which lists paths into a response, and the fields that they fill. */
const map = z.union([z.array(path).min(1), dictionary(fieldName, z.union([path, member], { error: expectedMember }))], {
  error: 'expected a list of paths, or a mapping of field names to paths',
});

/**
 * Descriptions of options whose defaults differ between nodes. If a default depends on other options, the description states the default in
 * parentheses.
 */
export const meanings = {
  timeout: 'maximum time for one attempt, until the whole answer has arrived',
  retry: 'when and how often a failed request is sent again',
  retryMax: 'maximum number of retries after the first attempt',
  concurrency: 'maximum number of requests in flight at once; auto adapts the number to the server',
  map: 'the fields that the answer adds to the record: a mapping of names to paths, or a list of paths',
  cache: 'cache answers on disk for this long, and reuse them for identical requests',
} as const;

/** The options of every node that sends requests. A node replaces an option that has a different default or meaning in that node. */
export const callOptions = {
  timeout: timeout.prefault('30s').describe(meanings.timeout),
  retry: retry.prefault(defaultRetry).describe(meanings.retry),
  rate: rate.optional().describe("maximum rate of requests, such as 10/s (default: the connection's, or no limit)"),
  concurrency: concurrency.optional().describe(`${meanings.concurrency} (default: the connection's, or 16)`),
  map: map.optional().describe(meanings.map),
  when_empty: z
    .enum(['keep', 'drop', 'error'])
    .default('keep')
    .describe('if map expands an array that is empty or missing: keep keeps the record, drop drops it, error fails it'),
  credits: credits.optional().describe("the credits that one request costs; 0 if it is free (default: the connection's, or 1)"),
};

/** The option `cache`, which sets the duration for which responses are cached. */
export const cacheOption = duration.optional().describe(`${meanings.cache} (default: no cache)`);
