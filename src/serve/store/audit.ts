import type Database from 'libsql';
import type { ServerDatabase } from './database.ts';

export interface Actor {
  /** The id of the API key in use. It is `session` for a browser, `command` for the command line, and empty if the actor is unknown. */
  readonly who: string;
  /** The client's IP address; empty if the action was performed on the command line. */
  readonly address: string;
}

export const commandActor: Actor = { who: 'command', address: '' };

interface AuditEntry extends Actor {
  readonly what: string;
  readonly target: string;
  /** `ok` if the action succeeded, otherwise the name of the problem. */
  readonly outcome: string;
}

interface AuditLine extends AuditEntry {
  /** Increases over time. */
  readonly id: number;
  /** Time at which the entry was added, in wall-clock ms. */
  readonly atMs: number;
}

const maxAgeMs = 90 * 86_400_000;

/** Contains who did what and when, and keeps each entry for 90 days. */
export class AuditStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Also removes entries that are older than 90 days. */
  add(entry: AuditEntry): void {
    this.database.write((database) => addAuditEntry(database, entry, this.wallNow()));
  }

  /** Reads entries of the audit log, with the newest first. `before` is the id of the last entry on the previous page. */
  read({ limit, before = Number.MAX_SAFE_INTEGER }: { readonly limit: number; readonly before?: number }): AuditLine[] {
    return this.database.read((database) =>
      (
        database
          .prepare(
            'select id, at as atMs, who, what, target, address, outcome from audit where id < ? and at >= ? order by id desc limit ?',
          )
          .all(before, this.wallNow() - maxAgeMs, limit) as AuditLine[]
      ).map((line) => ({ ...line })),
    );
  }
}

/** Belongs in the transaction of the change that the entry describes. Removes entries that are older than 90 days. */
export function addAuditEntry(database: Database.Database, entry: AuditEntry, wallMs: number): void {
  const { who, what, target, address, outcome } = entry;
  database.prepare('delete from audit where at < ?').run(wallMs - maxAgeMs);
  database
    .prepare('insert into audit (at, who, what, target, address, outcome) values (?, ?, ?, ?, ?, ?)')
    .run(wallMs, who, what, target, address, outcome);
}
