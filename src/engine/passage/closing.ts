import type { CodedMessage } from '../../core/error-code.ts';
import type { Ending } from '../../core/event.ts';

/**
 * The phases through which a run ends. A run never returns to an earlier phase.
 *
 * | phase | may continue |
 * |---|---|
 * | open | everything |
 * | finishing | records for which a request was sent, and records before `StopReason.before` |
 * | unpaid | calls for which a credit is reserved, because no credits are left |
 * | stopped | nothing |
 */
export type Phase = 'open' | 'finishing' | 'unpaid' | 'stopped';

/** The reason why a run ends early. */
export interface StopReason extends CodedMessage {
  readonly ending: Ending;
  /** The longest wait in ms, such as a wait before a retry, that a run still accepts while it ends; undefined for no maximum. */
  readonly patienceMs?: number;
  /**
   * Records with a lower number still begin; undefined if no more records begin. Without such a number, a resumed run could end at the same
   * record every time and make no progress.
   */
  readonly before?: number;
}

/** The phase that a run enters when it ends, and the reason. */
export interface Closing {
  readonly phase: Phase;
  /** The reason why the run ends early; undefined if an error ends it. */
  readonly reason: StopReason | undefined;
}
