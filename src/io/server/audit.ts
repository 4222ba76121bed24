import type { ServerDatabase } from './database.ts';

/** An action that somebody may have to answer for. */
export interface AuditEntry {
  /** A key's id, `session`, `command`; empty if it is not known. */
  readonly who: string;
  /** Such as `key.create`. */
  readonly what: string;
  /** The name or id of the thing. */
  readonly target: string;
  /** Empty for a command. */
  readonly address: string;
  /** `ok`, or the name of a problem. */
  readonly outcome: string;
}

/** An entry with its place and time. */
export interface AuditLine extends AuditEntry {
  /** Counts up. */
  readonly id: number;
  /** Wall time. */
  readonly atMs: number;
}

const keptMs = 90 * 86_400_000;

/** The record of who did what, in the server's database: 90 days. */
export class AuditStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Adds an entry, and removes those that are too old. */
  add({ who, what, target, address, outcome }: AuditEntry): void {
    const now = this.wallNow();
    this.database.write((database) => {
      database.prepare('delete from audit where at < ?').run(now - keptMs);
      database
        .prepare('insert into audit (at, who, what, target, address, outcome) values (?, ?, ?, ?, ?, ?)')
        .run(now, who, what, target, address, outcome);
    });
  }

  /** Entries, the newest first. `before`: the id of the last entry of the page before. */
  read({ limit, before = Number.MAX_SAFE_INTEGER }: { readonly limit: number; readonly before?: number | undefined }): AuditLine[] {
    return this.database.read((database) =>
      (
        database
          .prepare(
            'select id, at as atMs, who, what, target, address, outcome from audit where id < ? and at >= ? order by id desc limit ?',
          )
          .all(before, this.wallNow() - keptMs, limit) as AuditLine[]
      ).map((line) => ({ ...line })),
    );
  }
}
