import type { RetryPolicy } from '../core/call.ts';
import type { Failure } from '../core/failure.ts';

/** Ms to wait before the next try: what the other side asked for, else the policy's step after so many tries. */
export function waitBeforeRetry(policy: RetryPolicy, attempts: number, failure: Failure, random: () => number): number {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  const step = Math.min(policy.maxDelayMs, policy.firstDelayMs * policy.factor ** (attempts - 1));
  return policy.jitter ? step / 2 + (step / 2) * random() : step;
}
