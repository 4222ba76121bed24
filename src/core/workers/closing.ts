import type { CodedMessage } from '../error-code.ts';
import type { Ending } from '../event.ts';

/**
 * The phases of a run that closes. It only advances.
 *
 * | | may continue |
 * |---|---|
 * | open | everything |
 * | finishing | records for which something was sent, and records before `StopReason.before` |
 * | unpaid | calls that hold their credit: there are no credits left |
 * | stopped | nothing |
 */
export type Phase = 'open' | 'finishing' | 'unpaid' | 'stopped';

/** The reason for an early end. */
export interface StopReason extends CodedMessage {
  readonly ending: Ending;
  /** Longest wait that is still waited out; absent for any. */
  readonly patienceMs?: number;
  /**
   * Records before this number are still begun; absent if no record is. Without them, a resumed run could end at the same record again
   * and never get further.
   */
  readonly before?: number;
}

/** A phase that a run reaches, and why. */
export interface Closing {
  readonly phase: Phase;
  /** Undefined for an error that ends the run. */
  readonly reason: StopReason | undefined;
}
