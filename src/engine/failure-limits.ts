import type { CodedMessage } from '../core/error-code.ts';
import type { Event, FailureReport } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import type { MaxErrors } from '../core/run-options.ts';
import { formatCount } from '../core/text/number.ts';
import type { StopReason } from './phase.ts';

/** A share is checked only once this many records are finished, because one failure among three records says little. */
const minForShare = 100;

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
  return { message, code: 'option-reached', details: { option: 'maxErrors', value: limit } };
}

/** Returns the fewest calling records before failures end the run. `failing` others fail, `uncalled` others succeed without a call. */
export function minCallsBefore(limit: MaxErrors | undefined, failing: number, uncalled: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  if ('count' in limit) return Math.max(0, limit.count + 1 - failing);
  const minFailures = Math.floor(minForShare * limit.share) + 1;
  return Math.max(0, minForShare - failing - uncalled, minFailures - failing);
}

/** The run gives up if this many attempts per origin fail before any server has responded. */
const maxVainAttempts = 10;

/** Otherwise, every record would be written as an error. The limit grows with the number of origins, as URLs can come from records. */
export class UnreachableWatch {
  readonly #giveUp: (reason: StopReason) => void;
  readonly #origins = new Set<string>();
  #hasAnswer = false;
  #hasGivenUp = false;
  #vainAttempts = 0;

  /** `giveUp` is called at most once. */
  constructor(giveUp: (reason: StopReason) => void) {
    this.#giveUp = giveUp;
  }

  /** Notes that a server has responded, no matter with which status. */
  answered(): void {
    this.#hasAnswer = true;
  }

  /** Ends the run if too many attempts have failed. */
  failed(failure: Failure, origin: string): void {
    if (this.#hasAnswer || this.#hasGivenUp || !isVain(failure)) return;
    this.#origins.add(origin);
    if (++this.#vainAttempts >= maxVainAttempts * this.#origins.size) this.endRun(failure);
  }

  /** Ends the run, because all attempts so far have failed. The reason contains the message of this failure. */
  endRun({ message, code, details }: Failure): void {
    if (this.#hasGivenUp) return;
    this.#hasGivenUp = true;
    const reason = `none of the first ${this.#vainAttempts} attempts was answered: ${message}`;
    this.#giveUp({ ending: 'unreachable', message: reason, code, details, patienceMs: 0 });
  }
}

/** Maximum number of origins whose answers are noted, because URLs can come from the records. */
const maxOrigins = 1000;

/**
 * Reports attempts at origins that have not answered so far. Such attempts do not end a run if the records continue after them
 * (`on_error: keep`), so the end of the run has to say that a server was never reached.
 */
export class AnswerWatch {
  readonly #report: (event: Event) => void;
  readonly #answered = new Set<string>();

  constructor(report: (event: Event) => void) {
    this.#report = report;
  }

  /** Notes that an origin has responded, no matter with which status. */
  answered(origin: string): void {
    if (this.hasAnswered(origin)) return;
    this.#answered.add(origin);
    this.#report({ type: 'origin-answered', origin });
  }

  failed(failure: FailureReport, record: number, origin: string): void {
    if (!this.hasAnswered(origin)) this.#report({ type: 'origin-unanswered', record, origin, ...failure });
  }

  /** True if an origin has responded, or if too many have, so that it is not known. */
  hasAnswered(origin: string): boolean {
    return this.#answered.has(origin) || this.#answered.size >= maxOrigins;
  }
}

/** True if a failure means that no server has responded. */
export function isVain({ kind, status }: Failure): boolean {
  return status === undefined && (kind === 'network' || kind === 'timeout');
}

/** If this many records at the beginning of a run fail in the same way, the run ends. */
const alikeRecords = 20;

/** Statuses that will be the same for every record, because the credential, the method or the content type is wrong. */
const hopelessStatuses = new Set([401, 403, 405, 415]);

/** Ends a run whose first records all failed at the same node in the same way, if the later records will probably fail, too. */
export class SameFailureWatch {
  readonly #end: (reason: StopReason) => void;
  #first: Failure | undefined;
  #failed = 0;
  #isDecided = false;

  constructor(end: (reason: StopReason) => void) {
    this.#end = end;
  }

  /** True once the watch needs no more records: one was different, or enough have failed in the same way. */
  get isDecided(): boolean {
    return this.#isDecided;
  }

  /** Counts a finished record. `failure` is undefined if the record succeeded. */
  finished(failure: Failure | undefined): void {
    if (this.#isDecided) return;
    this.#first ??= failure;
    const isAlike = failure && isHopeless(failure) && isSame(failure, this.#first);
    this.#isDecided = !isAlike || ++this.#failed === alikeRecords;
    if (!isAlike || !this.#isDecided) return;
    const { node, kind, status } = failure;
    const message = `the first ${alikeRecords} records all failed at ${node} with ${kind}${status === undefined ? '' : ` ${status}`}`;
    this.#end({ ending: 'same-failure', message });
  }
}

function isHopeless({ kind, status = 0 }: Failure): boolean {
  return kind === 'parse' || (kind === 'http' && hopelessStatuses.has(status));
}

function isSame(one: Failure, other: Failure | undefined): boolean {
  return one.node === other?.node && one.kind === other?.kind && one.status === other?.status;
}
