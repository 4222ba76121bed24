import type Database from 'libsql';
import type { ServerDatabase } from './database.ts';

/** Counts of the requests, records and credits of an API key. */
export interface UsageCounts {
  /** Number of requests that were accepted. */
  readonly requests: number;
  /** Number of requests that were rejected because of the key's scopes, flows, rate or quota. */
  readonly refused: number;
  readonly records: number;
  readonly credits: number;
}

/** The usage of an API key on a certain day. */
export interface KeyUsage extends UsageCounts {
  /** The id of the API key. */
  readonly key: string;
  /** The day in UTC, such as 2026-11-24. */
  readonly day: string;
  /** Time at which the key was last used on that day, in wall-clock ms, accurate to a minute; undefined if the key was not used. */
  readonly lastUsedAtMs: number | undefined;
}

/** The daily usage of all API keys, which is stored in the server's database. */
export class UsageStore {
  constructor(readonly database: ServerDatabase) {}

  /** Adds counts to the stored counts for the same key and day. */
  add(counts: readonly KeyUsage[]): void {
    if (counts.length > 0) this.database.write((database) => addAll(database, counts));
  }

  /**
   * Returns the usage of API keys for each key and day, ordered by day. `month` is a month such as 2026-11, and `key` is the id of a key.
   * If one of them is undefined, all months or all keys are included.
   */
  read({ month = '', key = '' }: { readonly month?: string | undefined; readonly key?: string | undefined } = {}): KeyUsage[] {
    return this.database.read((database) =>
      (
        database
          .prepare("select * from usage where ? in ('', substr(day, 1, 7)) and ? in ('', key) order by day, key")
          .all(month, key) as (KeyUsage & { last_used_at: number | null })[]
      ).map(({ last_used_at, ...row }) => ({ ...row, lastUsedAtMs: last_used_at ?? undefined })),
    );
  }

  /** Returns the time at which each API key was last used, keyed by id. */
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
