import type { Failure } from '../core/failure.ts';
import type { Stopping } from './stopping.ts';

/** Sees whether anybody out there answers at all. */
export interface Reach {
  /** Somebody has, whatever the answer. */
  answered(): void;
  /** A call to that origin came to nothing, after all its tries. */
  failed(failure: Failure, origin: string): void;
}

/** So many calls from the very first on, to each origin there is, say that nobody will answer the next million either. */
const callsInVain = 10;

/** Ends a run in which nobody has ever answered, before it has turned every record into an error. Origins that records name tell nothing of the next one. */
export function createReach(stopping: Stopping): Reach {
  const origins = new Set<string>();
  let hasAnswered = false;
  let inVain = 0;
  return {
    answered() {
      hasAnswered = true;
    },
    failed({ kind, message }, origin) {
      if (hasAnswered || (kind !== 'network' && kind !== 'timeout')) return;
      origins.add(origin);
      if (++inVain >= callsInVain * origins.size) {
        stopping.request('unreachable', `none of the first ${inVain} calls was answered: ${message}`, 0);
      }
    },
  };
}
