import type { Failure } from '../core/failure.ts';
import type { RunPhase } from './phase.ts';

/** The limit of failed records: a count, or a share of the finished records. */
export type MaxErrors = { readonly count: number } | { readonly share: number };

/** A share counts only once this many records are finished: one failure among the first three says little. */
const minForShare = 100;

/** The reason to end the run; absent while the failures are within the limit. */
export function tooManyErrors(
  limit: MaxErrors | undefined,
  { finished, failed }: { readonly finished: number; readonly failed: number },
): string | undefined {
  if (!limit) return undefined;
  if ('count' in limit) {
    const records = `${limit.count.toLocaleString('en-US')} record${limit.count === 1 ? ' has' : 's have'}`;
    return failed > limit.count ? `more than ${records} failed (--max-errors ${limit.count})` : undefined;
  }
  if (finished < minForShare || failed <= finished * limit.share) return undefined;
  const percent = Number((limit.share * 100).toFixed(6));
  return `more than ${percent} % of the records have failed (--max-errors ${percent}%)`;
}

/** Records that make a call, at least, before failures end the run. `failing` others fail and `uncalled` others succeed without one. */
export function minCallsBefore(limit: MaxErrors | undefined, failing: number, uncalled: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  if ('count' in limit) return Math.max(0, limit.count + 1 - failing);
  const minFailures = Math.floor(minForShare * limit.share) + 1;
  return Math.max(0, minForShare - failing - uncalled, minFailures - failing);
}

/** Failed calls per origin, without a single answer, after which the run gives up. */
const maxVainCalls = 10;

/**
 * Ends a run in which no server has answered, before every record becomes an error. The limit grows with the number of origins:
 * if records name them, one says nothing about the next.
 */
export class UnreachableWatch {
  readonly #phase: RunPhase;
  readonly #origins = new Set<string>();
  #hasAnswer = false;
  #vainCalls = 0;

  constructor(phase: RunPhase) {
    this.#phase = phase;
  }

  /** Notes an answer, whatever it says. */
  answered(): void {
    this.#hasAnswer = true;
  }

  /** Notes a call that failed after all its attempts. */
  failed({ kind, message }: Failure, origin: string): void {
    if (this.#hasAnswer || (kind !== 'network' && kind !== 'timeout')) return;
    this.#origins.add(origin);
    if (++this.#vainCalls < maxVainCalls * this.#origins.size) return;
    const reason = `none of the first ${this.#vainCalls} calls was answered: ${message}`;
    this.#phase.advance('finishing', { ending: 'unreachable', message: reason, patienceMs: 0 });
  }
}
