import type Database from 'libsql';
import type { ServerDatabase } from './database.ts';

/** The person or program that does something. */
export interface Actor {
  /** A key's id, `session` or `command`; empty if the actor is not known. */
  readonly who: string;
  /** The address of the client; empty for a command. */
  readonly address: string;
}

/** A person at the command line. */
export const commandActor: Actor = { who: 'command', address: '' };

/** An action, its actor and its outcome. */
export interface AuditEntry extends Actor {
  /** The name of the action, such as `key.create`. */
  readonly what: string;
  /** The name or id of the thing that the action changed. */
  readonly target: string;
  /** `ok`, or the name of a problem. */
  readonly outcome: string;
}

/** A stored entry, with its number and time. */
export interface AuditLine extends AuditEntry {
  /** A number that counts up. */
  readonly id: number;
  /** Wall time. */
  readonly atMs: number;
}

const maxAgeMs = 90 * 86_400_000;

/** The audit in the server's database: every action with its actor, for 90 days. */
export class AuditStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Adds an entry, and removes entries that are older than 90 days. */
  add(entry: AuditEntry): void {
    this.database.write((database) => addAuditEntry(database, entry, this.wallNow()));
  }

  /** Reads entries, newest first. `before`: the id of the last entry of the previous page. */
  read({ limit, before = Number.MAX_SAFE_INTEGER }: { readonly limit: number; readonly before?: number | undefined }): AuditLine[] {
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

/** Adds an entry in the transaction of the change that it records, and removes entries that are older than 90 days. */
export function addAuditEntry(database: Database.Database, entry: AuditEntry, wallMs: number): void {
  const { who, what, target, address, outcome } = entry;
  database.prepare('delete from audit where at < ?').run(wallMs - maxAgeMs);
  database
    .prepare('insert into audit (at, who, what, target, address, outcome) values (?, ?, ?, ?, ?, ?)')
    .run(wallMs, who, what, target, address, outcome);
}
