import { allSteps, type Plan } from '../core/plan.ts';
import type { Ledger } from '../core/ports.ts';

/**
 * Sees to it that credits which run out bring records to their end: where a record needs several actions, no more are begun than
 * what is left may be enough for. Else all of it would go into first actions, and nothing be written.
 */
export interface Budget {
  /** Resolves when another record is worth beginning; `undefined` when it is now. */
  room(): Promise<void> | undefined;
  /** A record begins. */
  begin(task: Promise<unknown>): void;
  /** No more records will begin: whoever waits for room need not wait any longer. */
  close(): void;
}

const noBudget: Budget = { room: () => undefined, begin: () => undefined, close: () => undefined };

/** Makes the budget of a run. A record is taken to make one call for each node that calls, or to share one with those that fill its batch. */
export function createBudget(plan: Pick<Plan, 'steps'>, ledger: Ledger): Budget {
  const acting = allSteps(plan.steps).flatMap(({ id, node }) => (node.action ? [{ node: id, batchSize: node.action.batchSize ?? 1 }] : []));
  if (acting.length < 2) return noBudget;
  let running = 0;
  let isClosed = false;
  let wake: (() => void) | undefined;
  return {
    room() {
      if (isClosed || running === 0 || isEnoughFor(running + 1)) return undefined;
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
    begin(task) {
      running++;
      void task.then(ended, ended);
    },
    close() {
      isClosed = true;
      wake?.();
    },
  };

  function ended(): void {
    running--;
    wake?.();
  }

  /** How far those on their way are is not known: they count as if they had paid for nothing yet. */
  function isEnoughFor(records: number): boolean {
    return ledger.affords(acting.map(({ node, batchSize }) => [node, Math.ceil(records / batchSize)]));
  }
}
