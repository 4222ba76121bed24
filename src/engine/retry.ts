import { hasStatus, type RetryPolicy } from '../core/call.ts';
import { durationText } from '../core/duration.ts';
import type { Failure } from '../core/failure.ts';

/** The server's wait in ms, or else the policy's delay after `attempts` attempts. */
export function waitBeforeRetry(policy: RetryPolicy, attempts: number, failure: Failure, random: () => number): number {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  const delay = Math.min(policy.maxDelayMs, policy.firstDelayMs * policy.factor ** (attempts - 1));
  return policy.jitter ? delay / 2 + (delay / 2) * random() : delay;
}

/**
 * The only place that decides whether a call is tried again, after `attempts` that count. Undefined if the next attempt follows after
 * `waitMs`.
 */
export function finalFailure(
  policy: RetryPolicy,
  failure: Failure,
  { attempts, waitMs }: { readonly attempts: number; readonly waitMs: number },
): Failure | undefined {
  failure.waitsTooLong = failure.retryAfterMs !== undefined && waitMs > policy.maxWaitMs;
  if (!failure.retryable || !isListed(policy.on, failure) || attempts > policy.max) return failure;
  if (waitMs <= policy.maxWaitMs) return undefined;
  // The wait is longer than allowed. A shorter wait would not help, because the server would refuse the next attempt, too.
  const wait = failure.retryAfterMs === undefined ? 'the next attempt would wait' : 'it asks to wait';
  const limit = `longer than retry.max_wait of ${durationText(policy.maxWaitMs)}`;
  return failure.withMessage(`${failure.message} (${wait} ${durationText(waitMs)}, ${limit})`);
}

/** Failures because of the content of an answer (`answer`, `parse`) are in no list: what found them decided, such as `retry_when`. */
function isListed(on: RetryPolicy['on'], { kind, status }: Failure): boolean {
  if (kind === 'http') return hasStatus(on, status ?? 0);
  return kind === 'answer' || kind === 'parse' || on.includes(kind);
}
