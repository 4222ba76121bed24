import type { Clock } from '../core/ports.ts';
import { sleepersOf } from '../files/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Never really waits: when nothing else can run, jumps to the end of the earliest sleep. `wallStartMs` is in ms since 1970. */
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

/** Stands still, except that it jumps to the end of the next sleep. */
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
