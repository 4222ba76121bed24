import { compilePath, type Path } from '../core/answer/path.ts';
import type { Call, RetryPolicy } from '../core/call.ts';
import type { HttpConnection } from '../core/connection.ts';
import type { BuildContext } from '../core/node.ts';
import { maxCredits } from '../core/options/amounts.ts';
import { textOf, type Value } from '../core/value/value.ts';
import type { HttpOptions } from './http/http-options.ts';

/** Calls in flight at once where nobody says otherwise. */
const defaultConcurrency = 16;

/**
 * The rate and concurrency of a node: the command line's, else its own, else its connection's. A connection's concurrency is
 * shared by all its nodes, whatever number the command line puts in its place.
 */
export function limitsOf(
  options: Pick<HttpOptions, 'concurrency' | 'rate'>,
  connection: Pick<HttpConnection, 'name' | 'concurrency' | 'intervalMs'> | undefined | null,
  { id, overrides }: Pick<BuildContext, 'id' | 'overrides'>,
): Pick<Call<unknown>, 'limit' | 'intervalMs'> {
  const isShared = options.concurrency === undefined && connection?.concurrency !== undefined;
  return {
    limit: {
      key: isShared ? `connection ${connection.name}` : `node ${id}`,
      max: overrides.concurrency ?? options.concurrency ?? connection?.concurrency ?? defaultConcurrency,
    },
    intervalMs: overrides.intervalMs ?? options.rate ?? connection?.intervalMs,
  };
}

/** When a call is tried again, as its node says. */
export function policyOf({ max, backoff, max_wait }: Pick<HttpOptions['retry'], 'max' | 'backoff' | 'max_wait'>): RetryPolicy {
  const { initial, factor, max: maxDelayMs, jitter } = backoff;
  return { max, firstDelayMs: initial, factor, maxDelayMs, jitter, maxWaitMs: max_wait };
}

/** Compiles where an answer says what it cost. Throws an Error that says what is wrong. */
export function costPath(text: string | undefined): Path | undefined {
  if (text === undefined) return undefined;
  const path = compilePath(text);
  if (path.legs.length > 1) throw new Error(`expected a path to one number, found "${text}", which leads to several`);
  return path;
}

/** What an answer says that it cost; absent when that is no number from 0 on. */
export function costIn(found: Value | undefined): number | undefined {
  const text = textOf(found ?? '').trim();
  const cost = text === '' ? Number.NaN : Number(text);
  return cost >= 0 && cost <= maxCredits ? cost : undefined;
}

/** Whether a status is among those, or in one of their classes. */
export function matches(wanted: readonly (number | string)[], status: number): boolean {
  return wanted.includes(status) || wanted.includes(`${Math.floor(status / 100)}xx`);
}
