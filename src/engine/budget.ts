import type { Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
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

const until = () => undefined;

const noBudget: Budget = {
  room: () => undefined,
  begin: () => ({ progress: createProgress(), until }),
  close: () => undefined,
};

/** What records need of a node that calls. */
interface Need {
  readonly node: string;
  /** How many records are taken to share a call. */
  readonly fill: number;
  /** How many calls there were, and how many shares in them. */
  made: number;
  shares: number;
  /** How many calls a record is taken to make, or to have a share in. */
  calls: number;
  /** The most that a record has made. */
  seen: number;
  /** How many those on their way have paid for. */
  paid: number;
}

/**
 * Makes the budget of a run. Until a record has come through a node, each is taken to need all the pages and passes that the flow
 * allows there, and from then on as many calls as the record that has made the most. Batches are taken to be full until one was sent.
 */
export function createBudget({ steps }: Pick<Plan, 'steps'>, ledger: Ledger): Budget {
  if (callOnce(steps)) return noBudget;
  const needs = needsOf(steps);
  const needOf = new Map(needs.map((need) => [need.node, need]));
  let running = 0;
  let isClosed = false;
  let wake: (() => void) | undefined;
  return {
    room() {
      if (hasRoom()) return undefined;
      return new Promise((resolve) => {
        wake = () => {
          wake = undefined;
          resolve();
        };
      });
    },
    begin() {
      running++;
      const made = new Map<Need, number>();
      const progress = {
        hasBegun: false,
        begin(node: string, isShare = false) {
          progress.hasBegun = true;
          const need = needOf.get(node) as Need;
          need.shares++;
          if (!isShare) need.made++;
          const calls = (made.get(need) ?? 0) + 1;
          made.set(need, calls);
          need.paid++;
          need.seen = Math.max(need.seen, calls);
          need.calls = Math.max(need.calls, calls);
          if (wake && hasRoom()) wake();
        },
      };
      const end = () => {
        running--;
        for (const [need, calls] of made) need.paid -= calls;
        wake?.();
      };
      const succeed = () => {
        // That one record passes a node by is a hint, not more.
        for (const need of needs) need.calls = Math.max(1, need.seen, made.has(need) ? 0 : Math.ceil(need.calls / 2));
        end();
      };
      return { progress, until: (task) => void task.then(succeed, end) };
    },
    close() {
      isClosed = true;
      wake?.();
    },
  };

  /** Once nothing is left, the next record ends the run: those on their way may wait for long before they ask for more. */
  function hasRoom(): boolean {
    return isClosed || running === 0 || isEnoughFor(running + 1) || ledger.usedUp() !== undefined;
  }

  function isEnoughFor(records: number): boolean {
    return ledger.affords(needs.map((need) => [need.node, Math.ceil((records * need.calls - need.paid) / fillOf(need))]));
  }
}

/** Whether a record makes one call at most, or shares one: then what is held for a call is all that it needs. */
function callOnce(steps: readonly Step[]): boolean {
  const calling = steps.filter(({ node: { action, inner } }) => action || inner);
  return calling.every(({ node: { action } }) => action?.maxCalls === 1 || action?.batchSize !== undefined) && calling.length < 2;
}

/** Batches are as full as they have been. */
function fillOf({ fill, made, shares }: Need): number {
  return made === 0 ? fill : shares / made;
}

/** So many calls are taken to be needed behind a node where one record becomes any number: as many as pages and passes are allowed by default. */
const usualRows = 100;

/** `passes`: how often a record comes to the steps at most. How often it may wait and ask again is no measure. */
function needsOf(steps: readonly Step[], passes = 1): Need[] {
  let rows = 1;
  return steps.flatMap(({ id, node: { action, inner } }) => {
    const times = Math.max(passes, rows);
    if (action?.expands || inner?.expands) rows = usualRows;
    if (inner) return needsOf(inner.steps, inner.waits ? times : times * inner.maxPasses);
    if (!action) return [];
    const { batchSize, maxCalls, entryOf } = action;
    const calls = batchSize === undefined ? times * maxCalls : times;
    // Where not all can share a call, it may be that none can.
    return [{ node: id, fill: entryOf ? 1 : (batchSize ?? 1), made: 0, shares: 0, calls, seen: 0, paid: 0 }];
  });
}
