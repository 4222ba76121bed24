import type { Ending } from '../core/event.ts';

/** How a run is brought to an early end. */
export interface Stopping {
  /** Why the run ends early; absent while it does not. */
  readonly ending: Ending | undefined;
  /**
   * No record is begun any more; those that have sent something go on to their end, and all that were read before the record with the
   * number `before`: else a run that goes on might come to the same end again, and never further. The first reason counts, and the
   * least patience.
   */
  request(ending: Ending, reason: string, patienceMs?: number, before?: number): void;
  /** Whether a record for which nothing was sent may still go on. */
  isWanted(record: number): boolean;
  /** A call whose next try is further away than this is given up. Without limit unless the request said so. */
  readonly patienceMs: number;
  /** No action can be paid for any more: those that are paid for come to their end, and nothing else. */
  spend(): void;
  readonly isSpent: boolean;
  /** So many more, or less, wait before they ask for something that has to be paid for. */
  waits(change: 1 | -1): void;
  readonly areAnyWaiting: boolean;
  /** Nothing goes on any more. */
  abort(): void;
  /** Aborted when patience is limited: somebody waits for the end, or nobody will answer. */
  readonly hurry: AbortSignal;
  /** Aborted when nothing can be paid for any more, and by whatever aborts `hurry`. */
  readonly unpaid: AbortSignal;
  /** Aborted by `abort`. */
  readonly signal: AbortSignal;
}

/** Who is told of a stop. */
export interface StoppingTold {
  /** Once. */
  requested(ending: Ending, reason: string): void;
  /** Fewer records are wanted than before. */
  narrowed(): void;
  /** Once. */
  spent(): void;
}

/** Makes what stops a run. */
export function createStopping(told: StoppingTold): Stopping {
  const hurrying = new AbortController();
  const unpaid = new AbortController();
  const aborting = new AbortController();
  let requested: Ending | undefined;
  let patience = Number.POSITIVE_INFINITY;
  let isSpent = false;
  let waiting = 0;
  let wantedBefore = Number.POSITIVE_INFINITY;
  return {
    hurry: hurrying.signal,
    unpaid: unpaid.signal,
    signal: aborting.signal,
    get ending() {
      return requested;
    },
    get patienceMs() {
      return patience;
    },
    request(ending, reason, patienceMs = Number.POSITIVE_INFINITY, before = 0) {
      patience = Math.min(patience, patienceMs);
      wantedBefore = Math.min(wantedBefore, before);
      if (requested === undefined) {
        requested = ending;
        told.requested(ending, reason);
      }
      told.narrowed();
      if (Number.isFinite(patience)) hurry();
    },
    isWanted: (record) => record < wantedBefore,
    get isSpent() {
      return isSpent;
    },
    waits(change) {
      waiting += change;
    },
    get areAnyWaiting() {
      return waiting > 0;
    },
    spend() {
      if (isSpent) return;
      isSpent = true;
      told.spent();
      unpaid.abort();
    },
    abort() {
      hurry();
      aborting.abort();
    },
  };

  function hurry(): void {
    hurrying.abort();
    unpaid.abort();
  }
}
