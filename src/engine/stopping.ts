import type { Ending } from '../core/event.ts';

/** How a run is brought to an early end. */
export interface Stopping {
  /** Why the run ends early; absent while it does not. */
  readonly ending: Ending | undefined;
  /** No record is begun any more; records that have sent something go on to their end. The first reason counts. */
  request(ending: Ending, reason: string): void;
  /** Nothing goes on any more. */
  abort(): void;
  /** Aborted by `abort`. */
  readonly signal: AbortSignal;
}

/** Makes what stops a run. `onRequest` is told once. */
export function createStopping(onRequest: (ending: Ending, reason: string) => void): Stopping {
  const controller = new AbortController();
  let requested: Ending | undefined;
  return {
    signal: controller.signal,
    get ending() {
      return requested;
    },
    request(ending, reason) {
      if (requested !== undefined) return;
      requested = ending;
      onRequest(ending, reason);
    },
    abort: () => controller.abort(),
  };
}
