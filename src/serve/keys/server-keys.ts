import { AuditStore } from '../store/audit.ts';
import type { ServerDatabase } from '../store/database.ts';
import { KeyStore } from '../store/keys.ts';
import { type UsageCounts, UsageStore } from '../store/usage.ts';
import { Authenticator } from './authenticator.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { KeyDirectory } from './key-directory.ts';
import { type KeyClock, RequestRates } from './request-rates.ts';
import { UsageCounter } from './usage-counter.ts';

/** The API keys of a server, with authentication, rate limits, usage counts and audit log. */
export interface ServerKeys {
  /** Creates, rotates and revokes API keys for the web page. A change takes effect when the key directory has read it. */
  readonly store: KeyStore;
  readonly directory: KeyDirectory;
  readonly authenticator: Authenticator;
  readonly rates: RequestRates;
  readonly usage: UsageCounter;
  readonly usageStore: UsageStore;
  readonly audit: AuditStore;
  /**
   * Counts the work of a run for an API key and writes the count at once. A crash would otherwise lose it, because a resumed run does not
   * count the work again.
   */
  countRun(key: string, work: Pick<UsageCounts, 'records' | 'credits'>): void;
  /** Reads API keys that have changed, and writes usage counts once a minute. Must be called about every 500 ms. */
  tick(): void;
  /** Writes the usage counts that have not been written yet. Leaves the database open. */
  close(): void;
}

/** Opens the API keys of a server. `warn` receives the error if reading or writing them fails later, after which the server continues. */
export function openServerKeys(database: ServerDatabase, clock: KeyClock, warn: (error: unknown) => void): ServerKeys {
  const warning = (act: () => void) => {
    try {
      act();
    } catch (error) {
      warn(error);
    }
  };
  const store = new KeyStore(database, clock.wallNow);
  const source = { state: () => database.state(), list: () => store.list(), values: () => store.values() };
  const directory = new KeyDirectory(source, clock);
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
