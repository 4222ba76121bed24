import type { KeyUsage, UsageCounts } from '../../io/server/usage.ts';
import type { KeyClock } from './key-clock.ts';

/** The place to which counts are written. */
export interface UsageTarget {
  add(counts: readonly KeyUsage[]): void;
}

const minuteMs = 60_000;

/** Counts the work of keys by day in memory, and writes it at most once a minute. */
export class UsageCounter {
  #counts = new Map<string, KeyUsage>();
  #writtenMs: number;

  constructor(
    readonly target: UsageTarget,
    readonly clock: KeyClock,
  ) {
    this.#writtenMs = clock.now();
  }

  /** Counts work of a key, by its id. A request is a use of the key. */
  count(key: string, more: Partial<UsageCounts>): void {
    const now = this.clock.wallNow();
    const day = new Date(now).toISOString().slice(0, 10);
    const { requests = 0, refused = 0, records = 0, credits = 0 } = more;
    const found = this.#counts.get(`${day} ${key}`);
    this.#counts.set(`${day} ${key}`, {
      key,
      day,
      requests: (found?.requests ?? 0) + requests,
      refused: (found?.refused ?? 0) + refused,
      records: (found?.records ?? 0) + records,
      credits: (found?.credits ?? 0) + credits,
      lastUsedAtMs: requests + refused > 0 ? Math.floor(now / minuteMs) * minuteMs : found?.lastUsedAtMs,
    });
  }

  /** Counts that are not written yet. */
  pending(): readonly KeyUsage[] {
    return [...this.#counts.values()];
  }

  /** Writes if the last time is a minute ago. */
  writeIfDue(): void {
    if (this.clock.now() - this.#writtenMs >= minuteMs) this.write();
  }

  /** Writes all counts. If that fails, they stay for the next time. */
  write(): void {
    this.#writtenMs = this.clock.now();
    this.target.add(this.pending());
    this.#counts = new Map();
  }
}
