import * as z from 'zod';
import { durationMs, longestTimerMs, rateIntervalMs } from '../duration.ts';
import { byteCount } from '../text/number.ts';
import { describedAs } from '../value/dictionary.ts';
import { ExactNumber } from '../value/value.ts';

/** A reference such as `{{vars.name}}` in an option that is not a string. It is replaced before the option is parsed. */
const variable = z
  .string()
  .regex(/\{\{vars\.\w+\}\}/)
  .meta({ title: 'variable' });

const expectedDuration = 'expected a duration such as 250ms, 1s, 5m, 24h, 7d, or an integer of ms';

/** A number with more digits than a double can represent. */
export const exactNumber = describedAs(z.instanceof(ExactNumber), z.number());

/** A duration such as `5s`, which is parsed into ms. */
export const duration = describedAs(
  z.union([z.string(), z.number()], { error: expectedDuration }).transform((written, context) => {
    const ms = durationMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${expectedDuration}, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(0)]).meta({ title: 'duration' }),
);

/** A duration that is greater than 0 and not longer than the maximum delay of a timer. */
export const timeout = timerDuration('timeout', [variable]);

export const interval = timerDuration('wait');

function timerDuration(subject: string, more: readonly z.ZodType[] = []) {
  return describedAs(
    duration.pipe(z.number().refine((ms) => ms > 0 && ms <= longestTimerMs, { error: `expected a ${subject} from 1ms to 24d` })),
    z
      .union([z.string().regex(/^(?=.*[1-9])(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(1).max(longestTimerMs), ...more])
      .meta({ title: 'duration' }),
  );
}

const expectedRate = 'expected a rate such as 10/s, 600/min, 5000/h';

/** A rate such as `10/s`, which is parsed into the ms between two calls. */
export const rate = describedAs(
  z.string({ error: expectedRate }).transform((written, context) => {
    const ms = rateIntervalMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${expectedRate}, found "${written}"`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*\/\s*(s|sec|m|min|h|d)$/), variable]).meta({ title: 'rate' }),
);

/** Maximum number of calls in flight that a run may choose by itself with `concurrency: auto`. */
export const mostAuto = 256;

const fixedConcurrency = z.int().min(1).max(10_000);

/** Maximum number of calls in flight. With `auto`, the run adapts the number to the server. */
export const concurrency = describedAs(
  z.union([fixedConcurrency, z.literal('auto')], { error: 'expected a whole number from 1 to 10000, or auto' }),
  z.union([fixedConcurrency, z.literal('auto'), variable]),
);

export type Concurrency = z.output<typeof concurrency>;

/** A response that states a higher cost counts as a server error. */
export const maxCredits = 1_000_000;

export const credits = z.number().min(0).max(maxCredits);

/** A number of bytes, which is an integer or a size such as `10MB`. */
export const byteSize = describedAs(
  z.union([z.number(), z.string()], { error: 'expected a size such as 10MB' }).transform((written, context) => {
    const bytes = byteCount(String(written));
    if (bytes !== undefined) return bytes;
    context.addIssue(`expected a size such as 10MB, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*([kKmMgG]?[bB])?$/), z.int().min(1)]).meta({ title: 'size' }),
);

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

/** A number is meant as the number of retries. */
function retryProblem(written: unknown): string {
  const max =
    typeof written === 'number' && Number.isInteger(written) && written >= 0
      ? written
      : /^(?:none|off|no|false)$/i.test(String(written))
        ? 0
        : 3;
  return `expected a mapping such as retry: { max: ${max} }`;
}

const retryOptions = {
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
};

export function retryWith<More extends z.ZodRawShape>(more: More) {
  return z.strictObject(
    { ...retryOptions, ...more },
    { error: ({ code, input }) => (code === 'invalid_type' ? retryProblem(input) : undefined) },
  );
}

export const retry = retryWith({});
