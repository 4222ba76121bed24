import type { KeyUsage, UsageCounts } from '../store/usage.ts';
import type { KeyClock } from './request-rates.ts';

/** The store to which usage counts are written. */
export interface UsageTarget {
  add(counts: readonly KeyUsage[]): void;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Counts the usage of API keys by day, in memory. Writes the counts at most once a minute. */
export class UsageCounter {
  #counts = new Map<string, Mutable<KeyUsage>>();
  #writtenMs: number;
  /** The name of the last counted day, and its number in days since 1970. It is kept because most requests are on the same day. */
  #day = { name: '', number: -1 };

  constructor(
    readonly target: UsageTarget,
    readonly clock: KeyClock,
  ) {
    this.#writtenMs = clock.now();
  }

  /** Adds to the usage of the API key with this id. A request also counts as a use of the key. */
  count(key: string, { requests = 0, refused = 0, records = 0, credits = 0 }: Partial<UsageCounts>): void {
    const now = this.clock.wallNow();
    const counts = this.#countsOf(key, now);
    counts.requests += requests;
    counts.refused += refused;
    counts.records += records;
    counts.credits += credits;
    if (requests + refused > 0) counts.lastUsedAtMs = Math.floor(now / minuteMs) * minuteMs;
  }

  /** Returns the counts that have not been written yet. */
  pending(): readonly KeyUsage[] {
    return [...this.#counts.values()];
  }

  /** Writes all counts if the last write was at least a minute ago. */
  writeIfDue(): void {
    if (this.clock.now() - this.#writtenMs >= minuteMs) this.write();
  }

  /** Writes all counts. If they cannot be written, they are kept for the next attempt. */
  write(): void {
    this.#writtenMs = this.clock.now();
    this.target.add(this.pending());
    this.#counts = new Map();
  }

  #countsOf(key: string, now: number): Mutable<KeyUsage> {
    const number = Math.floor(now / dayMs);
    if (number !== this.#day.number) this.#day = { number, name: new Date(now).toISOString().slice(0, 10) };
    const day = this.#day.name;
    const found = this.#counts.get(day + key);
    if (found) return found;
    const counts = { key, day, requests: 0, refused: 0, records: 0, credits: 0, lastUsedAtMs: undefined };
    this.#counts.set(day + key, counts);
    return counts;
  }
}
