import type { Clock, ReservedStarts } from '../../core/ports.ts';

/** Starts are reserved at most this long ahead, so that the calls of another process come between. */
const aheadMs = 500;

/** One gate of several processes. */
interface SharedGate {
  /** The lowest rate that a process has asked for. */
  intervalMs: number;
  /** The earliest start that is not reserved. */
  nextMs: number;
  pausedUntilMs: number;
}

/** The starts at the gates that several processes share: each is reserved once, one interval after the one before. */
export class SharedStarts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #gates = new Map<string, SharedGate>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Reserves up to `count` starts at a gate. */
  reserve(name: string, interval: number, count: number): ReservedStarts {
    const gate = this.#gateOf(name);
    gate.intervalMs = Math.max(gate.intervalMs, interval);
    const { intervalMs } = gate;
    const now = this.#clock.now();
    const firstMs = Math.max(now, gate.nextMs, gate.pausedUntilMs);
    if (firstMs - now > aheadMs) return { count: 0, inMs: firstMs - now - aheadMs, intervalMs };
    gate.nextMs = firstMs + count * intervalMs;
    return { count, inMs: firstMs - now, intervalMs };
  }

  /** Reserves no start at a gate for `waitMs`. */
  pause(name: string, waitMs: number): void {
    const gate = this.#gateOf(name);
    gate.pausedUntilMs = Math.max(gate.pausedUntilMs, this.#clock.now() + waitMs);
  }

  #gateOf(name: string): SharedGate {
    const found = this.#gates.get(name);
    if (found) return found;
    const gate = { intervalMs: 0, nextMs: 0, pausedUntilMs: 0 };
    this.#gates.set(name, gate);
    return gate;
  }
}
