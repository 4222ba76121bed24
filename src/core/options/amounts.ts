import * as z from 'zod';
import { durationMs, longestTimerMs, rateIntervalMs } from '../duration.ts';
import { byteCount } from '../text/byte-size.ts';
import { describedAs } from '../value/dictionary.ts';
import { ExactNumber } from '../value/value.ts';

/** A variable in an option that is no text otherwise. It has its value before the option is read. */
const variable = z.string().regex(/\{\{vars\.\w+\}\}/);

const expectedDuration = 'expected a duration such as 250ms, 1s, 5m, 24h, 7d, or an integer of ms';

/** A number with more digits than a double keeps. */
export const exactNumber = describedAs(z.instanceof(ExactNumber), z.number());

/** A number of ms, written as a duration. */
export const duration = describedAs(
  z.union([z.string(), z.number()], { error: expectedDuration }).transform((written, context) => {
    const ms = durationMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${expectedDuration}, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(0)]),
);

/** A duration above 0, and no longer than a timer can wait. */
export const timeout = timerDuration('timeout', [variable]);

/** The time between two calls. */
export const interval = timerDuration('wait');

function timerDuration(subject: string, more: readonly z.ZodType[] = []) {
  return describedAs(
    duration.pipe(z.number().refine((ms) => ms > 0 && ms <= longestTimerMs, { error: `expected a ${subject} from 1ms to 24d` })),
    z.union([z.string().regex(/^(?=.*[1-9])(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(1).max(longestTimerMs), ...more]),
  );
}

const expectedRate = 'expected a rate such as 10/s, 600/min, 5000/h';

/** The ms between two calls, written as a rate. */
export const rate = describedAs(
  z.string({ error: expectedRate }).transform((written, context) => {
    const ms = rateIntervalMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${expectedRate}, found "${written}"`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*\/\s*(s|sec|m|min|h|d)$/), variable]),
);

/** Maximum of calls in flight that a run finds by itself. */
export const mostAuto = 256;

const fixedConcurrency = z.int().min(1).max(10_000);

/** Maximum number of calls in flight. `auto`: the run finds it. */
export const concurrency = describedAs(
  z.union([fixedConcurrency, z.literal('auto')], { error: 'expected a whole number from 1 to 10000, or auto' }),
  z.union([fixedConcurrency, z.literal('auto'), variable]),
);

/** A number of calls in flight, as it is read. */
export type Concurrency = z.output<typeof concurrency>;

/** Maximum cost of one action. A higher cost in an answer is an error of the server. */
export const maxCredits = 1_000_000;

/** The cost of one action. */
export const credits = z.number().min(0).max(maxCredits);

/** A count of bytes: an integer, or `10MB`. */
export const byteSize = describedAs(
  z.union([z.number(), z.string()], { error: 'expected a size such as 10MB' }).transform((written, context) => {
    const bytes = byteCount(String(written));
    if (bytes !== undefined) return bytes;
    context.addIssue(`expected a size such as 10MB, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*([kKmMgG]?[bB])?$/), z.int().min(1)]),
);
