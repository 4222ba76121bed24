import type { Clock } from '../../src/core/ports.ts';
import { sleepersOf } from '../../src/io/clock/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Makes a clock that never really waits: once nothing else can run, it jumps to the earliest end of a sleep. */
export function createFakeClock(wallStartMs = Date.UTC(2030, 0, 1)): Clock {
  const sleepers = new Set<Sleeper>();
  let nowMs = 0;
  let isWaking = false;
  return { now: () => nowMs, wallNow: () => wallStartMs + nowMs, sleepUntil, nextTurn, yieldIfLong: () => undefined };

  function sleepUntil(untilMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = { untilMs, wake };
      sleepers.add(sleeper);
      const others = signal && sleepersOf(signal);
      others?.add(wake);
      wakeSoon();

      function wake(): void {
        sleepers.delete(sleeper);
        others?.delete(wake);
        resolve();
      }
    });
  }

  /** Enough microtasks for everything that can run to run. */
  async function nextTurn(): Promise<void> {
    for (let hop = 0; hop < 100; hop++) await undefined;
  }

  function wakeSoon(): void {
    if (isWaking || sleepers.size === 0) return;
    isWaking = true;
    setImmediate(wakeFirst);
  }

  function wakeFirst(): void {
    isWaking = false;
    let first: Sleeper | undefined;
    for (const sleeper of sleepers) if (!first || sleeper.untilMs < first.untilMs) first = sleeper;
    if (!first) return;
    nowMs = Math.max(nowMs, first.untilMs);
    first.wake();
    wakeSoon();
  }
}
