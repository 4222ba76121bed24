import type { Clock } from '../../core/ports.ts';

/** Callers that continue in one turn of the event loop. */
const perTurn = 8;

/**
 * Creates a queue whose callers continue in their order, a few per turn of the event loop, so that the requests of the first are
 * sent before the last continue. Measured: 4 % of the throughput at 20 ms latency and 64 in flight, nothing without latency.
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

/** Maximum duration of a turn, so that signals and answers need not wait for computations. */
const maxTurnMs = 10;

/** Yields to the event loop once a turn has lasted 10 ms. All callers that yield in one turn resume together in the next. */
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
