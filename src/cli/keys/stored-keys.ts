import { existsSync } from 'node:fs';
import { homeFolder } from '../../io/files/home.ts';
import { AuditStore, commandActor } from '../../io/server/audit.ts';
import { ServerDatabase, serverDatabasePath } from '../../io/server/database.ts';
import { KeyStore, noKey } from '../../io/server/keys.ts';
import { UsageStore } from '../../io/server/usage.ts';
import type { Terminal } from '../terminal.ts';

/** The keys of this home, and what they have done. */
export interface StoredKeys {
  readonly keys: KeyStore;
  readonly usage: UsageStore;
}

/** Does something with the keys of this home. Creates their database if there is none. */
export function withKeys<Result>(act: (stored: StoredKeys) => Result): Result {
  const database = new ServerDatabase(homeFolder(process.env));
  try {
    return act({ keys: new KeyStore(database, Date.now), usage: new UsageStore(database) });
  } finally {
    database.close();
  }
}

/** Reads the keys of this home. Absent if there is no database: reading creates none. */
export function readingKeys<Result>(read: (stored: StoredKeys) => Result): Result | undefined {
  return existsSync(serverDatabasePath(homeFolder(process.env))) ? withKeys(read) : undefined;
}

/** Does something with a key of this home. Throws an AutomateError (`usage`) if there is no database. */
export function withKey<Result>(nameOrId: string, act: (stored: StoredKeys) => Result): Result {
  if (!existsSync(serverDatabasePath(homeFolder(process.env)))) throw noKey(nameOrId);
  return withKeys(act);
}

/** Records what a command has done in the audit of the server. Does nothing on a home without one; an audit that cannot be written is a warning. */
export function noteInAudit(what: string, target: string, { warn }: Terminal): void {
  const home = homeFolder(process.env);
  if (!existsSync(serverDatabasePath(home))) return;
  try {
    const database = new ServerDatabase(home);
    try {
      new AuditStore(database, Date.now).add({ ...commandActor, what, target, outcome: 'ok' });
    } finally {
      database.close();
    }
  } catch (error) {
    warn(`the audit was not written: ${(error as Error).message}`);
  }
}
