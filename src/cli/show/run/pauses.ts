import { durationText } from '../../../core/duration.ts';
import type { Event } from '../../../core/event.ts';

type GatePaused = Extract<Event, { readonly type: 'gate-paused' }>;

/** A pause is shown if at least this much of it is left. */
const minShownMs = 1000;

/** The pauses of a run's gates, and the time for which at least one gate stood still. */
export class Pauses {
  readonly #now: () => number;
  readonly #reasons = new Set<string>();
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
    if (untilMs <= this.#last.untilMs) return;
    this.#totalMs += untilMs - Math.max(now, this.#last.untilMs);
    this.#last = { gate, reason, untilMs };
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

  #leftMs(): number {
    return Math.max(0, this.#last.untilMs - this.#now());
  }
}

/** A pause as a message: `429: every request to https://api.example.com waits 4 s`. */
export function pauseText({ gate, status, waitMs }: Pick<GatePaused, 'gate' | 'status' | 'waitMs'>): string {
  return `${status ?? 'rate limit'}: every request to ${gate} waits ${durationText(waitMs)}`;
}
