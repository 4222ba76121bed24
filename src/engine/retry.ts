import type { RetryPolicy } from '../core/call.ts';
import { durationText } from '../core/duration.ts';
import type { Failure } from '../core/failure.ts';

/** Ms until the next attempt: the server's wait, else the policy's delay after `attempts` attempts. */
export function waitBeforeRetry(policy: RetryPolicy, attempts: number, failure: Failure, random: () => number): number {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  const delay = Math.min(policy.maxDelayMs, policy.firstDelayMs * policy.factor ** (attempts - 1));
  return policy.jitter ? delay / 2 + (delay / 2) * random() : delay;
}

/** The failure of the call if there is no next attempt; absent if there is one after `waitMs`. */
export function finalFailure(policy: RetryPolicy, failure: Failure, waitMs: number): Failure | undefined {
  if (!failure.retryable || failure.attempts > policy.max) return failure;
  if (waitMs <= policy.maxWaitMs) return undefined;
  // An earlier attempt would only be refused again.
  const wait = failure.retryAfterMs === undefined ? 'the next attempt would wait' : 'it asks to wait';
  const limit = `longer than retry.max_wait of ${durationText(policy.maxWaitMs)}`;
  return failure.withMessage(`${failure.message} (${wait} ${durationText(waitMs)}, ${limit})`);
}
