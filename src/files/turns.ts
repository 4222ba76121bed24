import type { Clock } from '../core/ports.ts';

/** Number of callers that may continue in each turn of the event loop. */
const perTurn = 8;

/**
 * Creates a queue that lets its callers continue in order, a few in each turn of the event loop. The requests of the first callers are then
 * sent before the last callers continue. In a measurement with 64 requests in flight, throughput rose by 4 % at a latency of 20 ms, and did
 * not change without latency.
 */
export function inTurns(): (continueCaller: () => void) => void {
  const queue: (() => void)[] = [];
  const continueSome = () => {
    for (const continueCaller of queue.slice(0, perTurn)) continueCaller();
    queue.splice(0, perTurn);
    if (queue.length > 0) setImmediate(continueSome);
  };
  return (continueCaller) => {
    queue.push(continueCaller);
    if (queue.length === 1) setImmediate(continueSome);
  };
}

/** Maximum duration in ms of a turn of the event loop. Longer computations would delay signals and answers. */
const maxTurnMs = 10;

/**
 * Creates a function that yields to the event loop if the current turn has lasted 10 ms. All callers that yield in the same turn resume
 * together in the next.
 */
export function createYieldIfLong(): Clock['yieldIfLong'] {
  const callers: (() => void)[] = [];
  let endMs: number | undefined;
  return () => {
    if (endMs === undefined) startTurn();
    else if (performance.now() >= endMs) return new Promise((resolve) => callers.push(resolve));
    return undefined;
  };

  function startTurn(): void {
    setImmediate(endTurn);
    endMs = performance.now() + maxTurnMs;
  }

  function endTurn(): void {
    endMs = undefined;
    if (callers.length === 0) return;
    startTurn();
    for (const resume of callers.splice(0)) resume();
  }
}
