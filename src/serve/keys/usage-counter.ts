import type { KeyUsage, UsageCounts } from '../../io/server/usage.ts';
import type { KeyClock } from './request-rates.ts';

/** The place to which counts are written. */
export interface UsageTarget {
  add(counts: readonly KeyUsage[]): void;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Counts the work of keys by day in memory, and writes it at most once a minute. */
export class UsageCounter {
  #counts = new Map<string, Mutable<KeyUsage>>();
  #writtenMs: number;
  /** The day of the last count, and its number since 1970. */
  #day = { name: '', number: -1 };

  constructor(
    readonly target: UsageTarget,
    readonly clock: KeyClock,
  ) {
    this.#writtenMs = clock.now();
  }

  /** Counts work of a key, by its id. A request is a use of the key. */
  count(key: string, { requests = 0, refused = 0, records = 0, credits = 0 }: Partial<UsageCounts>): void {
    const now = this.clock.wallNow();
    const counts = this.#countsOf(key, now);
    counts.requests += requests;
    counts.refused += refused;
    counts.records += records;
    counts.credits += credits;
    if (requests + refused > 0) counts.lastUsedAtMs = Math.floor(now / minuteMs) * minuteMs;
  }

  /** Counts that are not written yet. */
  pending(): readonly KeyUsage[] {
    return [...this.#counts.values()];
  }

  /** Writes all counts if the last write is a minute ago. */
  writeIfDue(): void {
    if (this.clock.now() - this.#writtenMs >= minuteMs) this.write();
  }

  /** Writes all counts. If the write fails, the counts stay for the next write. */
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
