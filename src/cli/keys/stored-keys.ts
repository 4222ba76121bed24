import { existsSync } from 'node:fs';
import { homeFolder } from '../../files/home.ts';
import { AuditStore, commandActor } from '../../serve/store/audit.ts';
import { serverDatabasePath, withServerDatabase } from '../../serve/store/database.ts';
import { KeyStore, noKey } from '../../serve/store/keys.ts';
import { UsageStore } from '../../serve/store/usage.ts';
import type { Terminal } from '../terminal.ts';

export interface StoredKeys {
  readonly keys: KeyStore;
  readonly usage: UsageStore;
}

/** Creates the database of keys if there is none. */
export function withKeys<Result>(act: (stored: StoredKeys) => Result): Result {
  return withServerDatabase(homeFolder(process.env), (database) =>
    act({ keys: new KeyStore(database, Date.now), usage: new UsageStore(database) }),
  );
}

/** Undefined if there is no database of keys. Unlike `withKeys`, does not create it. */
export function readingKeys<Result>(read: (stored: StoredKeys) => Result): Result | undefined {
  return existsSync(serverDatabasePath(homeFolder(process.env))) ? withKeys(read) : undefined;
}

/** Throws an AutomateError (`usage`) that names the key if there is no database. */
export function withKey<Result>(nameOrId: string, act: (stored: StoredKeys) => Result): Result {
  if (!existsSync(serverDatabasePath(homeFolder(process.env)))) throw noKey(nameOrId);
  return withKeys(act);
}

/** Does nothing if the home folder has no audit log. Warns if the log cannot be written. */
export function noteInAudit(what: string, target: string, { warn }: Terminal): void {
  const home = homeFolder(process.env);
  if (!existsSync(serverDatabasePath(home))) return;
  try {
    withServerDatabase(home, (database) => new AuditStore(database, Date.now).add({ ...commandActor, what, target, outcome: 'ok' }));
  } catch (error) {
    warn(`the audit was not written: ${(error as Error).message}`);
  }
}
