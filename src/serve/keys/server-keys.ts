import { entryOf } from '../../core/map-entry.ts';
import { AuditStore } from '../store/audit.ts';
import type { ServerDatabase } from '../store/database.ts';
import { KeyStore } from '../store/keys.ts';
import { type KeyUsage, type UsageCounts, UsageStore } from '../store/usage.ts';
import { Authenticator, FailedAttempts } from './authenticator.ts';
import { KeyDirectory } from './key-directory.ts';
import { type KeyClock, RequestRates } from './request-rates.ts';

export interface ServerKeys {
  /** Creates, rotates and revokes API keys for the web page. A change takes effect when the key directory has read it. */
  readonly store: KeyStore;
  readonly directory: KeyDirectory;
  readonly authenticator: Authenticator;
  readonly rates: RequestRates;
  readonly usage: UsageCounter;
  readonly usageStore: UsageStore;
  readonly audit: AuditStore;
  /** Writes the count at once. A crash would otherwise lose it, because a resumed run does not count the work again. */
  countRun(key: string, work: Pick<UsageCounts, 'records' | 'credits'>): void;
  /** Reads API keys that have changed, and writes usage counts once a minute. Must be called about every 500 ms. */
  tick(): void;
  /** Writes the usage counts that have not been written yet. Leaves the database open. */
  close(): void;
}

/** `warn` receives later errors of reading or writing, after which the server continues. */
export function openServerKeys(database: ServerDatabase, clock: KeyClock, warn: (error: unknown) => void): ServerKeys {
  const warning = (act: () => void) => {
    try {
      act();
    } catch (error) {
      warn(error);
    }
  };
  const store = new KeyStore(database, clock.wallNow);
  const directory = new KeyDirectory(store, clock);
  const audit = new AuditStore(database, clock.wallNow);
  const usageStore = new UsageStore(database);
  const usage = new UsageCounter(usageStore, clock);
  const authenticator = new Authenticator({
    keys: directory,
    failures: new FailedAttempts(clock),
    refused: ({ address, problem, key = '' }) =>
      warning(() => audit.add({ who: key, what: 'key.refused', target: key, address, outcome: problem })),
  });
  return {
    store,
    directory,
    authenticator,
    rates: new RequestRates(clock),
    usage,
    usageStore,
    audit,
    countRun(key, work) {
      usage.count(key, work);
      warning(() => usage.write());
    },
    tick() {
      warning(() => directory.refresh());
      warning(() => usage.writeIfDue());
    },
    close: () => warning(() => usage.write()),
  };
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Counts the usage of API keys by day, in memory. Writes the counts at most once a minute. @internal */
export class UsageCounter {
  #counts = new Map<string, Mutable<KeyUsage>>();
  #writtenMs: number;
  /** Kept because most requests are on the same day. `number` is in days since 1970. */
  #day = { name: '', number: -1 };

  constructor(
    readonly target: Pick<UsageStore, 'add'>,
    readonly clock: KeyClock,
  ) {
    this.#writtenMs = clock.now();
  }

  /** A request also counts as a use of the key. */
  count(key: string, { requests = 0, refused = 0, records = 0, credits = 0 }: Partial<UsageCounts>): void {
    const now = this.clock.wallNow();
    const counts = this.#countsOf(key, now);
    counts.requests += requests;
    counts.refused += refused;
    counts.records += records;
    counts.credits += credits;
    if (requests + refused > 0) counts.lastUsedAtMs = Math.floor(now / minuteMs) * minuteMs;
  }

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
    const none = { requests: 0, refused: 0, records: 0, credits: 0, lastUsedAtMs: undefined };
    return entryOf(this.#counts, day + key, () => ({ key, day, ...none }));
  }
}
