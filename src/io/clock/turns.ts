import type { Clock } from '../../core/ports.ts';

/** So many go on in one turn of the event loop. */
const atOnce = 8;

/** Makes a queue: of those put into it a few go on in the next turn of the event loop, in their order, the others in the turns behind it. */
export function inTurns(): (goOn: () => void) => void {
  const waiting: (() => void)[] = [];
  const goOnNow = () => {
    for (const goOn of waiting.slice(0, atOnce)) goOn();
    waiting.splice(0, atOnce);
    if (waiting.length > 0) setImmediate(goOnNow);
  };
  return (goOn) => {
    waiting.push(goOn);
    if (waiting.length === 1) setImmediate(goOnNow);
  };
}

/** So long may work that waits for nothing outside hold up what does. */
const longestTurnMs = 10;

/** Makes what ends a turn of the event loop that lasts too long. All that yield in it go on together in the next: what they share is still at hand. */
export function createYielding(): Clock['yieldTurn'] {
  const waiting: (() => void)[] = [];
  let endMs: number | undefined;
  return () => {
    if (endMs === undefined) begin();
    else if (performance.now() >= endMs) return new Promise((resolve) => waiting.push(resolve));
    return undefined;
  };

  function begin(): void {
    setImmediate(end);
    endMs = performance.now() + longestTurnMs;
  }

  function end(): void {
    endMs = undefined;
    if (waiting.length === 0) return;
    begin();
    for (const goOn of waiting.splice(0)) goOn();
  }
}
