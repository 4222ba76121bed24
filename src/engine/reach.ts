import type { Failure } from '../core/failure.ts';
import type { Stopping } from './stopping.ts';

/** Sees whether anybody out there answers at all. */
export interface Reach {
  /** Somebody has. */
  answered(): void;
  /** A call came to nothing, after all its tries. */
  failed(failure: Failure): void;
}

/** So many calls in a row from the very first on say that nobody will answer the next million either. */
const callsInVain = 10;

/** Ends a run in which nobody has ever answered, before it has turned every record into an error. */
export function createReach(stopping: Stopping): Reach {
  let hasAnswered = false;
  let inVain = 0;
  return {
    answered() {
      hasAnswered = true;
    },
    failed(failure) {
      if (failure.status !== undefined) hasAnswered = true;
      if (hasAnswered || (failure.kind !== 'network' && failure.kind !== 'timeout')) return;
      if (++inVain === callsInVain)
        stopping.request('unreachable', `none of the first ${callsInVain} calls was answered: ${failure.message}`);
    },
  };
}
