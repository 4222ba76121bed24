import { setMaxListeners } from 'node:events';
import type { Clock } from '../core/ports.ts';

/** The longest that setTimeout can wait. */
const longestTimerMs = 2 ** 31 - 1;

/** Makes the clock of this machine. */
export function createClock(): Clock {
  return { now: () => performance.now(), wallNow: () => Date.now(), sleepUntil, nextTurn };
}

/** A timer of Node may fire up to a millisecond early: what is not reached yet is slept again. */
function sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const sleep = () => {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return end();
      timer = setTimeout(sleep, Math.min(longestTimerMs, Math.ceil(leftMs)));
      return undefined;
    };
    if (signal) {
      // Every record that waits listens to the same signal.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', end);
    }
    return sleep();
  });
}

/** The client writes to a connection that was idle a turn after it was asked to, so it takes two. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}
