import type { Ending } from '../core/event.ts';

/** How a run is brought to an early end. */
export interface Stopping {
  /** Why the run ends early; absent while it does not. */
  readonly ending: Ending | undefined;
  /** No record is begun any more; those that have sent something go on to their end. The first reason counts. */
  request(ending: Ending, reason: string, patienceMs?: number): void;
  /** A call whose next try is further away than this is given up. Without limit unless the request said so. */
  readonly patienceMs: number;
  /** Nothing goes on any more. */
  abort(): void;
  /** Aborted when patience is limited: somebody waits for the end, or nobody will answer. */
  readonly hurry: AbortSignal;
  /** Aborted by `abort`. */
  readonly signal: AbortSignal;
}

/** Makes what stops a run. `onRequest` is told once. */
export function createStopping(onRequest: (ending: Ending, reason: string) => void): Stopping {
  const hurrying = new AbortController();
  const aborting = new AbortController();
  let requested: Ending | undefined;
  let patience = Number.POSITIVE_INFINITY;
  return {
    hurry: hurrying.signal,
    signal: aborting.signal,
    get ending() {
      return requested;
    },
    get patienceMs() {
      return patience;
    },
    request(ending, reason, patienceMs = Number.POSITIVE_INFINITY) {
      if (requested !== undefined) return;
      requested = ending;
      patience = patienceMs;
      onRequest(ending, reason);
      if (Number.isFinite(patience)) hurrying.abort();
    },
    abort() {
      hurrying.abort();
      aborting.abort();
    },
  };
}
