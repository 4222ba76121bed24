import { durationText } from '../../core/duration.ts';
import type { Event } from '../../core/event.ts';

type GatePaused = Extract<Event, { readonly type: 'gate-paused' }>;

/** A pause is shown if at least this much of it is left. */
const minShownMs = 1000;

/** The pauses of one gate for one reason. */
export interface GatePauses {
  readonly gate: string;
  readonly reason: string;
  readonly times: number;
  /** The time for which it stood still. */
  readonly ms: number;
}

/** Maximum of gates that are counted by themselves: records may name the hosts. */
const maxGates = 20;

/** The pauses of one gate for one reason, and the end of the last one. */
interface GateCount {
  readonly gate: string;
  readonly reason: string;
  times: number;
  ms: number;
  untilMs: number;
}

/** The pauses of a run's gates, and the time for which at least one gate stood still. */
export class Pauses {
  readonly #now: () => number;
  readonly #reasons = new Set<string>();
  readonly #gates = new Map<string, GateCount>();
  #last: { readonly gate: string; readonly reason: string; readonly untilMs: number } = { gate: '', reason: '', untilMs: 0 };
  #totalMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  add({ gate, status, waitMs }: Pick<GatePaused, 'gate' | 'status' | 'waitMs'>): void {
    const now = this.#now();
    const untilMs = now + waitMs;
    const reason = status === undefined ? 'rate limit' : String(status);
    this.#reasons.add(reason);
    this.#addToGate(gate, reason, now, untilMs);
    if (untilMs <= this.#last.untilMs) return;
    this.#totalMs += untilMs - Math.max(now, this.#last.untilMs);
    this.#last = { gate, reason, untilMs };
  }

  /** The pauses of each gate until now. */
  gates(): GatePauses[] {
    const now = this.#now();
    return [...this.#gates.values()].map(({ untilMs, ms, ...gate }) => ({ ...gate, ms: ms - Math.max(0, untilMs - now) }));
  }

  /** The pause that ends last; absent if less than a second of it is left. */
  current(): { readonly gate: string; readonly reason: string; readonly leftMs: number } | undefined {
    const leftMs = this.#leftMs();
    return leftMs >= minShownMs ? { ...this.#last, leftMs } : undefined;
  }

  /** The time until now for which a gate stood still. */
  totalMs(): number {
    return this.#totalMs - this.#leftMs();
  }

  /** The answers that paused gates: 429s, or rate limits. */
  reasons(): string[] {
    return [...this.#reasons].map((reason) => `${reason}s`);
  }

  /** Answers that come while the gate is paused prolong its pause. */
  #addToGate(named: string, reason: string, now: number, untilMs: number): void {
    const isKnown = this.#gates.has(`${reason} ${named}`) || this.#gates.size < maxGates;
    const gate = isKnown ? named : 'other servers';
    const key = `${reason} ${gate}`;
    const counts = this.#gates.get(key) ?? { gate, reason, times: 0, ms: 0, untilMs: now };
    this.#gates.set(key, counts);
    if (counts.times === 0 || now >= counts.untilMs) counts.times++;
    if (untilMs <= counts.untilMs) return;
    counts.ms += untilMs - Math.max(now, counts.untilMs);
    counts.untilMs = untilMs;
  }

  #leftMs(): number {
    return Math.max(0, this.#last.untilMs - this.#now());
  }
}

/** A pause as a message: `429: every request to https://api.example.com waits 4 s`. */
export function pauseText({ gate, status, waitMs }: Pick<GatePaused, 'gate' | 'status' | 'waitMs'>): string {
  return `${status ?? 'rate limit'}: every request to ${gate} waits ${durationText(waitMs)}`;
}
