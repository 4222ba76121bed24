import * as z from 'zod';
import { duration } from './amounts.ts';

/** A failure that can be retried: a status, a class of statuses such as `5xx`, or a kind of failure. */
export const retryOn = z.union([z.int().min(100).max(599), z.enum(['1xx', '2xx', '3xx', '4xx', '5xx', 'timeout', 'network'])], {
  error: 'expected a status such as 429, a class such as 5xx, timeout or network',
});

const backoff = z.strictObject({
  initial: duration.prefault('1s').describe('the wait before the first retry'),
  factor: z.number().min(1).default(2).describe('each wait is this many times as long as the one before'),
  max: duration.optional().describe('the longest wait (default: 60s, or initial if that is longer)'),
  jitter: z
    .boolean()
    .default(false)
    .describe('wait for a random time between half the wait and the full wait, so that many clients do not retry at once'),
});

const defaultMaxDelayMs = 60_000;

export const defaultRetryOn: readonly z.output<typeof retryOn>[] = [429, '5xx', 'timeout', 'network'];

export const defaultRetry = { max: 3, on: [...defaultRetryOn], backoff: '1s', max_wait: '5m' };

export const retry = z.strictObject({
  max: z.int().min(0).max(100).default(3).describe('maximum number of retries after the first attempt'),
  on: z
    .array(retryOn)
    .default([...defaultRetryOn])
    .describe('the failures that are retried: statuses, classes such as 5xx, timeout and network'),
  backoff: z
    .union([duration, backoff], { error: 'expected a duration such as 1s, or { initial: 1s, factor: 2, max: 60s, jitter: true }' })
    .transform((written) => {
      const { initial, factor, jitter, max } = typeof written === 'number' ? { initial: written, factor: 2, jitter: false } : written;
      return { initial, factor, jitter, max: max ?? Math.max(defaultMaxDelayMs, initial) };
    })
    .prefault('1s')
    .describe('the wait before the first retry, which doubles each time; or a mapping with initial, factor, max and jitter'),
  max_wait: duration.prefault('5m').describe('the longest wait for a retry; if the server asks for a longer one, the record fails at once'),
});
