import type Database from 'libsql';
import type { ServerDatabase } from './database.ts';

export interface UsageCounts {
  readonly requests: number;
  /** Rejected because of the key's scopes, flows, rate or quota. */
  readonly refused: number;
  readonly records: number;
  readonly credits: number;
}

export interface KeyUsage extends UsageCounts {
  readonly key: string;
  /** The day in UTC, such as 2026-11-24. */
  readonly day: string;
  /** Wall-clock time, accurate to a minute; undefined if the key was not used on that day. */
  readonly lastUsedAtMs: number | undefined;
}

export class UsageStore {
  constructor(readonly database: ServerDatabase) {}

  /** Adds counts to the stored counts for the same key and day. */
  add(counts: readonly KeyUsage[]): void {
    if (counts.length > 0) this.database.write((database) => addAll(database, counts));
  }

  /** Ordered by day. `month` is a month such as 2026-11. Without `month` or `key`, includes all months or keys. */
  read({ month = '', key = '' }: { readonly month?: string; readonly key?: string } = {}): KeyUsage[] {
    return this.database.read((database) =>
      (
        database
          .prepare("select * from usage where ? in ('', substr(day, 1, 7)) and ? in ('', key) order by day, key")
          .all(month, key) as (KeyUsage & { last_used_at: number | null })[]
      ).map(({ last_used_at, ...row }) => ({ ...row, lastUsedAtMs: last_used_at ?? undefined })),
    );
  }

  lastUses(): Map<string, number> {
    const rows = this.database.read((database) =>
      database.prepare('select key, max(last_used_at) as at from usage where last_used_at is not null group by key').all(),
    ) as { key: string; at: number }[];
    return new Map(rows.map(({ key, at }) => [key, at]));
  }
}

function addAll(database: Database.Database, counts: readonly KeyUsage[]): void {
  const add = database.prepare(`insert into usage (key, day, requests, refused, records, credits, last_used_at) values (?, ?, ?, ?, ?, ?, ?)
    on conflict (key, day) do update set requests = requests + excluded.requests, refused = refused + excluded.refused,
      records = records + excluded.records, credits = credits + excluded.credits,
      last_used_at = max(coalesce(last_used_at, 0), coalesce(excluded.last_used_at, 0))`);
  for (const { key, day, requests, refused, records, credits, lastUsedAtMs } of counts)
    add.run(key, day, requests, refused, records, credits, lastUsedAtMs ?? null);
}
