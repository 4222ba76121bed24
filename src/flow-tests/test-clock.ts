import type { Clock } from '../core/ports.ts';
import { sleepersOf } from '../files/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/**
 * Makes a clock that never really waits. When nothing else can run, it jumps to the time at which the earliest sleep ends. `wallStartMs` is
 * the start time in ms since 1970; by default the start of 2026 in UTC.
 */
export function createTestClock(wallStartMs = Date.UTC(2026, 0, 1)): Clock {
  const sleep = new JumpingTime();
  return {
    now: () => sleep.nowMs,
    wallNow: () => wallStartMs + sleep.nowMs,
    sleepUntil: (untilMs, signal) => (signal?.aborted ? Promise.resolve() : sleep.until(untilMs, signal)),
    nextTurn: manyMicrotasks,
    yieldIfLong: () => undefined,
  };
}

/** Lets 100 microtasks pass, so that everything that can run has run. */
async function manyMicrotasks(): Promise<void> {
  for (let hop = 0; hop < 100; hop++) await undefined;
}

/** The time of a test's clock. It stands still, except that it jumps to the end of the next sleep. */
class JumpingTime {
  nowMs = 0;
  readonly #sleepers = new Set<Sleeper>();
  #isJumping = false;

  until(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const others = signal && sleepersOf(signal);
      const wake = () => {
        this.#sleepers.delete(sleeper);
        others?.delete(wake);
        resolve();
      };
      const sleeper: Sleeper = { untilMs, wake };
      this.#sleepers.add(sleeper);
      others?.add(wake);
      this.#jumpSoon();
    });
  }

  #jumpSoon(): void {
    if (this.#isJumping || this.#sleepers.size === 0) return;
    this.#isJumping = true;
    setImmediate(() => this.#jump());
  }

  #jump(): void {
    this.#isJumping = false;
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (!first || sleeper.untilMs < first.untilMs) first = sleeper;
    if (!first) return;
    this.nowMs = Math.max(this.nowMs, first.untilMs);
    first.wake();
    this.#jumpSoon();
  }
}
