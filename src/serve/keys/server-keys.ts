import { AuditStore } from '../../io/server/audit.ts';
import type { ServerDatabase } from '../../io/server/database.ts';
import { KeyStore } from '../../io/server/keys.ts';
import { type UsageCounts, UsageStore } from '../../io/server/usage.ts';
import { Authenticator } from './authenticator.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { KeyDirectory } from './key-directory.ts';
import { type KeyClock, RequestRates } from './request-rates.ts';
import { UsageCounter } from './usage-counter.ts';

/** The keys of a server, with their authentication, rates, usage and audit. */
export interface ServerKeys {
  /** Makes, rotates and revokes keys for the page. A change is in force once the directory has read it. */
  readonly store: KeyStore;
  readonly directory: KeyDirectory;
  readonly authenticator: Authenticator;
  readonly rates: RequestRates;
  readonly usage: UsageCounter;
  readonly usageStore: UsageStore;
  readonly audit: AuditStore;
  /** Counts the work of a run and writes it at once, because a resumed run does not count that work again after a crash. */
  countRun(key: string, work: Pick<UsageCounts, 'records' | 'credits'>): void;
  /** Reads changed keys, and writes usage once a minute. The server calls it about every 500 ms. */
  tick(): void;
  /** Writes the pending usage. The database stays open. */
  close(): void;
}

/** Opens the keys of a server. `warn` gets the error of a failed read or write, after which the server goes on. */
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
