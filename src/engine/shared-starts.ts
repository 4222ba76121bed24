import type { Clock, ReservedStarts } from '../core/ports.ts';

/** A call's start is reserved at most this many ms ahead, so that other processes can also start calls in the meantime. */
const aheadMs = 500;

interface SharedGate {
  /** For each process that has a rate, the time in ms between two starts. */
  readonly rates: Map<object, number>;
  /** Earliest start that is not yet reserved. It becomes earlier if a lower rate has ended since the last reservation. */
  nextMs: number;
  /** The interval in ms that was kept free after the last reserved start. */
  lastIntervalMs: number;
  pausedUntilMs: number;
}

/** Several processes share gates. Each start is one interval after the previous one, and is reserved for only one process. */
export class SharedStarts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #gates = new Map<string, SharedGate>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Reserves up to `wanted` starts at a gate for one process. The lowest rate of all processes applies. */
  reserve(name: string, process: object, interval: number, wanted: number): ReservedStarts {
    const gate = this.#gateOf(name);
    gate.rates.set(process, interval);
    const intervalMs = Math.max(...gate.rates.values());
    const now = this.#clock.now();
    const firstMs = Math.max(now, gate.nextMs - Math.max(0, gate.lastIntervalMs - intervalMs), gate.pausedUntilMs);
    if (firstMs - now > aheadMs) return { count: 0, inMs: firstMs - now - aheadMs, intervalMs };
    const count = Math.min(wanted, Math.max(1, Math.floor(aheadMs / intervalMs)));
    gate.nextMs = firstMs + count * intervalMs;
    gate.lastIntervalMs = intervalMs;
    return { count, inMs: firstMs - now, intervalMs };
  }

  /** Without a gate, ends the process's rates at all gates. */
  release(process: object, name?: string): void {
    if (name !== undefined) this.#gates.get(name)?.rates.delete(process);
    else for (const { rates } of this.#gates.values()) rates.delete(process);
  }

  /** No starts are reserved for `waitMs`. */
  pause(name: string, waitMs: number): void {
    const gate = this.#gateOf(name);
    gate.pausedUntilMs = Math.max(gate.pausedUntilMs, this.#clock.now() + waitMs);
  }

  #gateOf(name: string): SharedGate {
    const found = this.#gates.get(name);
    if (found) return found;
    const gate = { rates: new Map<object, number>(), nextMs: 0, lastIntervalMs: 0, pausedUntilMs: 0 };
    this.#gates.set(name, gate);
    return gate;
  }
}
