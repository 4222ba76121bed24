import { allSteps, type Plan } from '../core/plan.ts';
import type { Ledger } from '../core/ports.ts';
import { createProgress, type Progress } from './call.ts';

/**
 * Sees to it that credits which run out bring records to their end: where a record needs several actions, no more are begun than
 * what is left may be enough for. Else all of it would go into first actions, and nothing be written.
 */
export interface Budget {
  /** Resolves when another record is worth beginning; `undefined` when it is now. */
  room(): Promise<void> | undefined;
  /** A record begins. */
  begin(): Share;
  /** No more records will begin: whoever waits for room need not wait any longer. */
  close(): void;
}

/** What one record takes. */
export interface Share {
  readonly progress: Progress;
  /** The record ends with it. */
  until(task: Promise<unknown>): void;
}

const noBudget: Budget = {
  room: () => undefined,
  begin: () => ({ progress: createProgress(), until: () => undefined }),
  close: () => undefined,
};

/** Makes the budget of a run. A record is taken to make one call for each node that calls, or to share one with those that fill its batch. */
export function createBudget(plan: Pick<Plan, 'steps'>, ledger: Ledger): Budget {
  const acting = allSteps(plan.steps).flatMap(({ id, node }) => (node.action ? [{ node: id, batchSize: node.action.batchSize ?? 1 }] : []));
  if (acting.length < 2) return noBudget;
  const once = callingOnce(plan);
  /** By node that calls once, how many records on their way have paid for that. */
  const paid = new Map<string, number>();
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
    begin() {
      running++;
      const begun = new Set<string>();
      const progress = {
        hasBegun: false,
        begin(node: string) {
          progress.hasBegun = true;
          if (!begun.has(node)) count(node, 1);
          begun.add(node);
        },
      };
      const end = () => {
        running--;
        for (const node of begun) count(node, -1);
        wake?.();
      };
      return { progress, until: (task) => void task.then(end, end) };
    },
    close() {
      isClosed = true;
      wake?.();
    },
  };

  function count(node: string, change: 1 | -1): void {
    if (once.has(node)) paid.set(node, (paid.get(node) ?? 0) + change);
  }

  /** How far those on their way are at the other nodes is not known: they count as if they had paid for nothing there. */
  function isEnoughFor(records: number): boolean {
    return ledger.affords(acting.map(({ node, batchSize }) => [node, Math.ceil((records - (paid.get(node) ?? 0)) / batchSize)]));
  }
}

/** The nodes that call once for each record, or for a batch of them. */
function callingOnce({ steps }: Pick<Plan, 'steps'>): Set<string> {
  const expanding = steps.findIndex(({ node: { action, inner } }) => action?.expands || inner?.expands);
  const passedOnce = steps.slice(0, expanding === -1 ? steps.length : expanding + 1);
  const once = passedOnce.filter(({ node: { action } }) => action?.mostCalls === 1 || action?.batchSize !== undefined);
  return new Set(once.map(({ id }) => id));
}
