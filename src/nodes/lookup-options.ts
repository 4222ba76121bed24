import * as z from 'zod';
import { concurrency, credits, duration, rate, timeout } from '../core/options/amounts.ts';
import { name } from '../core/options/names.ts';
import { defaultRetry, retry } from '../core/options/retry.ts';
import { map, whenEmpty } from './call-policy.ts';

/** The options that all nodes with lookups have. A node can replace those whose defaults differ. */
export const lookupOptions = {
  connection: name.optional().describe('your own server instead of the built-in one: base_url, auth, headers, rate and concurrency'),
  timeout: timeout.prefault('30s').describe('one limit for the whole request'),
  retry: retry.prefault(defaultRetry).describe('when and how often a request is sent again'),
  rate: rate.optional().describe('maximum rate of requests, such as 10/s'),
  concurrency: concurrency.optional().describe('requests in flight at once; 16 unless the connection says otherwise'),
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
