import type { Ending } from '../core/event.ts';

/** How a run is brought to an early end. */
export interface Stopping {
  /** Why the run ends early; absent while it does not. */
  readonly ending: Ending | undefined;
  /** No record is begun any more; those that have sent something go on to their end. The first reason counts, and the least patience. */
  request(ending: Ending, reason: string, patienceMs?: number): void;
  /** A call whose next try is further away than this is given up. Without limit unless the request said so. */
  readonly patienceMs: number;
  /** No action can be paid for any more: those that are paid for come to their end, and nothing else. */
  spend(): void;
  readonly isSpent: boolean;
  /** Nothing goes on any more. */
  abort(): void;
  /** Aborted when patience is limited: somebody waits for the end, or nobody will answer. */
  readonly hurry: AbortSignal;
  /** Aborted when nothing can be paid for any more, and by whatever aborts `hurry`. */
  readonly unpaid: AbortSignal;
  /** Aborted by `abort`. */
  readonly signal: AbortSignal;
}

/** Makes what stops a run. `onRequest` and `onSpent` are told once. */
export function createStopping(onRequest: (ending: Ending, reason: string) => void, onSpent = () => {}): Stopping {
  const hurrying = new AbortController();
  const unpaid = new AbortController();
  const aborting = new AbortController();
  let requested: Ending | undefined;
  let patience = Number.POSITIVE_INFINITY;
  let isSpent = false;
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
    request(ending, reason, patienceMs = Number.POSITIVE_INFINITY) {
      patience = Math.min(patience, patienceMs);
      if (requested === undefined) {
        requested = ending;
        onRequest(ending, reason);
      }
      if (Number.isFinite(patience)) hurry();
    },
    get isSpent() {
      return isSpent;
    },
    spend() {
      if (isSpent) return;
      isSpent = true;
      onSpent();
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
