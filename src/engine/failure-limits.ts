import type { CodedMessage } from '../core/error-code.ts';
import type { Failure } from '../core/failure.ts';
import { formatCount } from '../core/text/number.ts';
import type { StopReason } from '../core/workers/closing.ts';
import type { RunPhase } from './phase.ts';

/** The limit of failed records: a count, or a share of the finished records. */
export type MaxErrors = { readonly count: number } | { readonly share: number };

/** The limit that a text such as `10` or `5%` gives; undefined for any other text. */
export function maxErrorsOf(text: string): MaxErrors | undefined {
  if (/^\d+$/.test(text)) return { count: Number(text) };
  const share = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  return share !== undefined && Number(share) <= 100 ? { share: Number(share) / 100 } : undefined;
}

/** A share counts only once this many records are finished: one failure among the first three says little. */
const minForShare = 100;

/** The reason to end the run; absent while the failures are within the limit. */
export function tooManyErrors(
  limit: MaxErrors | undefined,
  { finished, failed }: { readonly finished: number; readonly failed: number },
): CodedMessage | undefined {
  if (!limit) return undefined;
  if ('count' in limit) {
    const records = `${formatCount(limit.count)} record${limit.count === 1 ? ' has' : 's have'}`;
    return failed > limit.count ? maxReached(`more than ${records} failed`, String(limit.count)) : undefined;
  }
  if (finished < minForShare || failed <= finished * limit.share) return undefined;
  const percent = Number((limit.share * 100).toFixed(6));
  return maxReached(`more than ${percent} % of the records have failed`, `${percent}%`);
}

function maxReached(message: string, limit: string): CodedMessage {
  return { message, code: 'max-errors', details: { limit } };
}

/** Records that make a call, at least, before failures end the run. `failing` other records fail and `uncalled` other records succeed without a call. */
export function minCallsBefore(limit: MaxErrors | undefined, failing: number, uncalled: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  if ('count' in limit) return Math.max(0, limit.count + 1 - failing);
  const minFailures = Math.floor(minForShare * limit.share) + 1;
  return Math.max(0, minForShare - failing - uncalled, minFailures - failing);
}

/** Failed attempts per origin, without a single answer, after which the run gives up. */
const maxVainAttempts = 10;

/**
 * Ends a run in which no server has answered, before every record becomes an error. The limit grows with the number of origins:
 * if records name the origins, one origin says nothing about the next.
 */
export class UnreachableWatch {
  readonly #giveUp: (reason: StopReason) => void;
  readonly #origins = new Set<string>();
  #hasAnswer = false;
  #vainAttempts = 0;

  constructor(giveUp: (reason: StopReason) => void) {
    this.#giveUp = giveUp;
  }

  /** Notes that a server has answered, with any status. */
  answered(): void {
    this.#hasAnswer = true;
  }

  /** Notes a failed attempt. */
  failed({ kind, message, code, details }: Failure, origin: string): void {
    if (this.#hasAnswer || (kind !== 'network' && kind !== 'timeout')) return;
    this.#origins.add(origin);
    if (++this.#vainAttempts < maxVainAttempts * this.#origins.size) return;
    const reason = `none of the first ${this.#vainAttempts} attempts was answered: ${message}`;
    this.#giveUp({ ending: 'unreachable', message: reason, code, details, patienceMs: 0 });
  }
}

/** Number of first records that all have to fail in the same way for the run to end. */
const alikeRecords = 20;

/** Statuses that no record causes: the credential, the method or the content type is wrong. */
const hopelessStatuses = new Set([401, 403, 405, 415]);

/** Ends a run whose first records all failed at the same node in the same way, if the later records can only fail in the same way. */
export class SameFailureWatch {
  readonly #phase: RunPhase;
  #first: Failure | undefined;
  #failed = 0;
  #isDecided = false;

  constructor(phase: RunPhase) {
    this.#phase = phase;
  }

  /** Notes a finished record; without a failure, it succeeded. */
  finished(failure: Failure | undefined): void {
    if (this.#isDecided) return;
    this.#first ??= failure;
    const isAlike = failure && isHopeless(failure) && isSame(failure, this.#first);
    this.#isDecided = !isAlike || ++this.#failed === alikeRecords;
    if (!isAlike || !this.#isDecided) return;
    const { node, kind, status } = failure;
    const message = `the first ${alikeRecords} records all failed at ${node} with ${kind}${status === undefined ? '' : ` ${status}`}`;
    this.#phase.advance('finishing', { ending: 'same-failure', message });
  }
}

function isHopeless({ kind, status = 0 }: Failure): boolean {
  return kind === 'parse' || (kind === 'http' && hopelessStatuses.has(status));
}

function isSame(one: Failure, other: Failure | undefined): boolean {
  return one.node === other?.node && one.kind === other?.kind && one.status === other?.status;
}
