import * as z from 'zod';
import { duration } from './amounts.ts';

/** A status, a class of statuses, or a kind of failure that is retried. */
export const retryOn = z.union([z.int().min(100).max(599), z.enum(['1xx', '2xx', '3xx', '4xx', '5xx', 'timeout', 'network'])], {
  error: 'expected a status such as 429, a class such as 5xx, timeout or network',
});

const backoff = z.strictObject({
  initial: duration.prefault('1s').describe('the first delay'),
  factor: z.number().min(1).default(2).describe('each delay is this much longer than the one before'),
  max: duration.optional().describe('the longest delay; default 60s, or initial where that is longer'),
  jitter: z.boolean().default(false).describe('a random delay between half of it and all of it'),
});

const defaultMaxDelayMs = 60_000;

/** The failures that are retried by default. */
export const defaultRetryOn: readonly z.output<typeof retryOn>[] = [429, '5xx', 'timeout', 'network'];

/** The default of `retry`. */
export const defaultRetry = { max: 3, on: [...defaultRetryOn], backoff: '1s', max_wait: '5m' };

/** The retries of a call. */
export const retry = z.strictObject({
  max: z.int().min(0).max(100).default(3).describe('retries after the first attempt'),
  on: z
    .array(retryOn)
    .default([...defaultRetryOn])
    .describe('what is retried'),
  backoff: z
    .union([duration, backoff], { error: 'expected a duration such as 1s, or { initial: 1s, factor: 2, max: 60s, jitter: true }' })
    .transform((written) => {
      const { initial, factor, jitter, max } = typeof written === 'number' ? { initial: written, factor: 2, jitter: false } : written;
      return { initial, factor, jitter, max: max ?? Math.max(defaultMaxDelayMs, initial) };
    })
    .prefault('1s')
    .describe('the first delay, doubled each time, or {initial, factor, max, jitter}'),
  max_wait: duration.prefault('5m').describe('a wait longer than this fails the record at once'),
});
