import * as z from 'zod';
import type { BuildContext } from '../../core/node.ts';
import { concurrency, credits, duration, rate, timeout } from '../../core/options/amounts.ts';
import { name } from '../../core/options/names.ts';
import { defaultRetry, retry } from '../../core/options/retry.ts';
import { map, whenEmpty } from '../call-policy.ts';

/** The options that all nodes with lookups have. A node can replace an option whose default differs. */
export const lookupOptions = {
  connection: name.optional().describe('your own server instead of the built-in one: base_url, auth, headers, rate and concurrency'),
  timeout: timeout.prefault('30s').describe('one limit for the whole request'),
  retry: retry.prefault(defaultRetry).describe('when and how often a request is sent again'),
  rate: rate.optional().describe('maximum rate of requests, such as 10/s'),
  concurrency: concurrency
    .optional()
    .describe('requests in flight at once; 16 unless the connection says otherwise; auto: the run finds the number'),
  cache: duration.optional().describe('how long an answer is cached on disk for identical requests'),
  map: map.optional().describe('the fields that the answer adds; without it, the default fields'),
  when_empty: whenEmpty,
  no_match: z
    .enum(['keep', 'reject'])
    .default('keep')
    .describe('a record for which nothing is found: keep leaves its fields empty, reject fails it'),
  credits: credits.optional().describe('what one action costs; 1 unless the connection says otherwise, 0 for nothing'),
};

const checked = z.object(lookupOptions);

/** The checked options of a node with lookups. */
export type LookupOptions = z.output<typeof checked>;

/** Refuses a connection, and warns of options without an effect, if data on this machine answer. `choice`: the option that says so. */
export function checkLocalOptions(options: LookupOptions, choice: string, { problem, warn }: BuildContext): void {
  const local = `${choice} is answered by data on this machine`;
  if (options.connection !== undefined) problem(['connection'], `${local}: no server is asked\nleave connection out`);
  for (const option of ['rate', 'concurrency', 'cache'] as const)
    if (options[option] !== undefined) warn([option], `${local}: ${option} has no effect`);
}
