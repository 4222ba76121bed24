import { existsSync } from 'node:fs';
import { homeFolder } from '../../io/files/home.ts';
import { AuditStore, commandActor } from '../../io/server/audit.ts';
import { ServerDatabase, serverDatabasePath } from '../../io/server/database.ts';
import type { Terminal } from '../terminal.ts';

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
