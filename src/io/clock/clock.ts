import { longestTimerMs } from '../../core/duration.ts';
import type { Clock } from '../../core/ports.ts';
import { createYielding, inTurns } from './turns.ts';

/** Makes the clock of this machine. */
export function createClock(): Clock {
  return { now: () => performance.now(), wallNow: () => Date.now(), sleepUntil, nextTurn, yieldTurn: createYielding() };
}

/** Thousands may be due at once: what the first of them send goes out before the last are woken. */
const goOnInTurn = inTurns();

/** A timer of Node may fire up to a millisecond early: what is not reached yet is slept again. */
function sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const others = signal && sleepersOf(signal);
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(timer);
      others?.delete(end);
      resolve();
    };
    const sleep = () => {
      const leftMs = untilMs - performance.now();
      if (leftMs > 0) timer = setTimeout(sleep, Math.min(longestTimerMs, Math.ceil(leftMs)));
      else if (timer) goOnInTurn(end);
      else end();
    };
    others?.add(end);
    sleep();
  });
}

/** By signal, how to end the sleep of each that it wakes. */
const sleepers = new WeakMap<AbortSignal, Set<() => void>>();

/** Whoever is to be woken by a signal. One listener for all: with each one's own, every sleep would look through those of all the others. */
export function sleepersOf(signal: AbortSignal): Set<() => void> {
  const known = sleepers.get(signal);
  if (known) return known;
  const ends = new Set<() => void>();
  sleepers.set(signal, ends);
  signal.addEventListener('abort', () => {
    for (const end of ends) end();
  });
  return ends;
}

/** The client writes to a connection that was idle a turn after it was asked to, so it takes two. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}
