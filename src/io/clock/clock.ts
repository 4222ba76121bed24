import { longestTimerMs } from '../../core/duration.ts';
import type { Clock } from '../../core/ports.ts';
import { createYieldIfLong, inTurns } from './turns.ts';

/** Creates the clock of this machine. */
export function createClock(): Clock {
  return { now: () => performance.now(), wallNow: () => Date.now(), sleepUntil, nextTurn, yieldIfLong: createYieldIfLong() };
}

/** Thousands of sleeps may end at once. */
const wakeInTurn = inTurns();

/** Sleeps again after an early timer: timers of Node.js may fire up to a millisecond early. */
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

/** The functions that a signal calls to wake its sleepers. They share one listener: removing one of thousands takes a search through all. */
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

/** Takes two turns: undici writes to a connection that was idle one turn after it was asked to. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}
