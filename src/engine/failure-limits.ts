import type { Event, FailureReport } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import { formatCount } from '../core/text/number.ts';
import type { StopReason } from './phase.ts';

/** A share is checked only once this many records are finished, because one failure among three records says little. */
const minForShare = 100;

export type FailureLimit = Pick<RunOptions, 'maxErrors'>;

/** Undefined while the run may continue. */
export function tooManyErrors(
  { maxErrors: limit }: FailureLimit,
  { finished, failed }: { readonly finished: number; readonly failed: number },
): StopReason | undefined {
  if (!limit) return undefined;
  if ('count' in limit) {
    const records = `${formatCount(limit.count)} record${limit.count === 1 ? ' has' : 's have'}`;
    return failed > limit.count ? maxReached(`more than ${records} failed`, String(limit.count)) : undefined;
  }
  if (finished < minForShare || failed <= finished * limit.share) return undefined;
  const percent = Number((limit.share * 100).toFixed(6));
  return maxReached(`more than ${percent} % of the records have failed`, `${percent}%`);
}

function maxReached(message: string, limit: string): StopReason {
  return { ending: 'max-errors', message, code: 'option-reached', details: { option: 'maxErrors', value: limit } };
}

/** Returns the fewest calling records before failures end the run. `failing` others fail, `uncalled` others succeed without a call. */
export function minCallsBefore({ maxErrors: limit }: FailureLimit, failing: number, uncalled: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  if ('count' in limit) return Math.max(0, limit.count + 1 - failing);
  const minFailures = Math.floor(minForShare * limit.share) + 1;
  return Math.max(0, minForShare - failing - uncalled, minFailures - failing);
}

/** `failure` is the last of the failures that are the reason. */
type EndBecauseOf = (reason: StopReason, failure: Failure) => void;

/** The run gives up if this many attempts per origin fail before any server has responded. */
const maxVainAttempts = 10;

/** Otherwise, every record would be written as an error. The limit grows with the number of origins, as URLs can come from records. */
export class UnreachableWatch {
  readonly #giveUp: EndBecauseOf;
  readonly #origins = new Set<string>();
  #hasAnswer = false;
  #hasGivenUp = false;
  #vainAttempts = 0;

  /** `giveUp` is called at most once. */
  constructor(giveUp: EndBecauseOf) {
    this.#giveUp = giveUp;
  }

  /** Notes that a server has responded, no matter with which status. */
  answered(): void {
    this.#hasAnswer = true;
  }

  failed(failure: Failure, origin: string): void {
    if (this.#hasAnswer || this.#hasGivenUp || !isVain(failure)) return;
    this.#origins.add(origin);
    if (++this.#vainAttempts >= maxVainAttempts * this.#origins.size) this.endRun(failure);
  }

  /** Ends the run, because all attempts so far have failed. The reason contains the message of this failure. */
  endRun(failure: Failure): void {
    if (this.#hasGivenUp) return;
    this.#hasGivenUp = true;
    const { message, code, details } = failure;
    const reason = `none of the first ${this.#vainAttempts} attempts was answered: ${message}`;
    this.#giveUp({ ending: 'unreachable', message: reason, code, details, patienceMs: 0 }, failure);
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
const hopelessStatuses = new Set([401, 403, 405, 407, 415]);

/** Ends a run whose first records all failed at the same node in the same way, if the later records will probably fail, too. */
export class SameFailureWatch {
  readonly #end: EndBecauseOf;
  #first: Failure | undefined;
  #failed = 0;
  #isDecided = false;

  constructor(end: EndBecauseOf) {
    this.#end = end;
  }

  /** True once the watch needs no more records: one was different, or enough have failed in the same way. */
  get isDecided(): boolean {
    return this.#isDecided;
  }

  finished(failure: Failure | undefined): void {
    if (this.#isDecided) return;
    this.#first ??= failure;
    const isAlike = failure && isHopeless(failure) && isSame(failure, this.#first);
    this.#isDecided = !isAlike || ++this.#failed === alikeRecords;
    if (!isAlike || !this.#isDecided) return;
    const { node, kind, status } = failure;
    const message = `the first ${alikeRecords} records all failed at ${node} with ${kind}${status === undefined ? '' : ` ${status}`}`;
    this.#end({ ending: 'same-failure', message }, failure);
  }
}

function isHopeless({ kind, status = 0, waitsTooLong, code, retryable }: Failure): boolean {
  // Most token servers refuse a client with 400 (RFC 6749, 5.2).
  const isNoToken = code === 'no-access-token' && !retryable;
  return waitsTooLong || kind === 'parse' || (kind === 'http' && (isNoToken || hopelessStatuses.has(status)));
}

function isSame(one: Failure, other: Failure | undefined): boolean {
  return one.node === other?.node && one.kind === other?.kind && one.status === other?.status;
}

/**
 * Ends a run if one step of a `first` node can only fail. Its failures do not fail the records, so that the next step, which might cost
 * more, would be asked for all of them.
 */
export class StepWatch {
  readonly unreachable: UnreachableWatch;
  readonly #sameFailure: SameFailureWatch;
  hasEnded = false;

  constructor(id: string, end: (reason: StopReason) => void) {
    const endRun: EndBecauseOf = (reason, { node = id, kind, status }) => {
      this.hasEnded = true;
      end({ ...reason, step: { node, class: kind, status } });
    };
    this.unreachable = new UnreachableWatch(endRun);
    this.#sameFailure = new SameFailureWatch(endRun);
  }

  /** Counts a record for which the step was asked. `failure` is undefined if the step succeeded. */
  finished(failure: Failure | undefined): void {
    this.#sameFailure.finished(failure);
  }

  /** True for a failure that the step will have for other records, too. */
  isLasting(failure: Failure): boolean {
    return isHopeless(failure) || isVain(failure);
  }
}
