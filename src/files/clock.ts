import { longestTimerMs } from '../core/duration.ts';
import type { Clock } from '../core/ports.ts';
import { createYieldIfLong, inTurns } from './turns.ts';

/** Creates a clock that uses the time and timers of this machine. */
export function createClock(): Clock {
  return { now: () => performance.now(), wallNow: () => Date.now(), sleepUntil, nextTurn, yieldIfLong: createYieldIfLong() };
}

/** Wakes callers a few at a time, because thousands of sleeps may end at the same time. */
const wakeInTurn = inTurns();

/**
 * Resolves at the time `untilMs` of the monotonic clock, or when the signal is aborted. A timer in Node.js may fire up to 1 ms early.
 * Another timer is then set for the remaining time.
 */
function sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const sleepers = signal && sleepersOf(signal);
    let timer: NodeJS.Timeout | undefined;
    const wake = () => {
      clearTimeout(timer);
      sleepers?.delete(wake);
      resolve();
    };
    const sleep = () => {
      const leftMs = untilMs - performance.now();
      if (leftMs > 0) timer = setTimeout(sleep, Math.min(longestTimerMs, Math.ceil(leftMs)));
      else if (timer) wakeInTurn(wake);
      else wake();
    };
    sleepers?.add(wake);
    sleep();
  });
}

const allSleepers = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Returns the set of functions that are called when a signal is aborted. Each function ends one sleep. A single listener calls them all,
 * because removing one of thousands of listeners would be slow.
 */
export function sleepersOf(signal: AbortSignal): Set<() => void> {
  const existing = allSleepers.get(signal);
  if (existing) return existing;
  const sleepers = new Set<() => void>();
  allSleepers.set(signal, sleepers);
  signal.addEventListener('abort', () => {
    for (const wake of sleepers) wake();
  });
  return sleepers;
}

/** Waits for two turns of the event loop. Only then has undici (the HTTP client) written a request to an idle connection. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}
