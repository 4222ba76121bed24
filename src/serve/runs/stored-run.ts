import type { RunShape, RunState } from '../shapes.ts';

/** The options of a run that its query names. */
export interface StoredOptions {
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly limit?: number;
  readonly skip?: number;
  readonly maxErrors?: { readonly count: number } | { readonly share: number };
  readonly maxCredits?: number;
  readonly unordered?: boolean;
}

/** Counts of a run over all its parts that have ended. */
export type Totals = Pick<RunShape, 'failures' | 'mapped'> & { readonly retries: number; readonly credits: number };

/** A run as `run.json` keeps it. */
export interface StoredRun {
  readonly id: string;
  readonly flow: string;
  readonly key: { readonly id: string; readonly name: string; readonly quota?: number } | null;
  readonly options: StoredOptions;
  /** Of the stored input, with `.gz` if it is compressed. */
  readonly inputFormat: string;
  readonly format: RunShape['format'];
  readonly bytes: number;
  readonly createdAt: string;
  readonly retryOf: string | null;
  state: RunState;
  startedAt: string | null;
  endedAt: string | null;
  ending: string | null;
  exitCode: number | null;
  reason: string | null;
  /** True if a later start goes on with it by itself. */
  isWaiting: boolean;
  resumable: boolean;
  /** Starts of the server that found it under way. */
  crashes: number;
  /** Parts that have begun: all but the first resume. */
  parts: number;
  counts: RunShape['counts'];
  /** Of the parts that have ended, over all of them. */
  totals: Totals;
  /** The part of them that is counted for the key. */
  counted: { readonly records: number; readonly credits: number };
}

/** Counts of a run that has not begun. */
export const noTotals: Totals = { failures: [], mapped: [], retries: 0, credits: 0 };

/** The same of its records. */
export const noCounts: RunShape['counts'] = { read: 0, written: 0, failed: 0, retries: 0, waiting: 0 };

/** The totals of two parts of a run. */
export function sumOfTotals(one: Totals, other: Totals): Totals {
  return {
    retries: one.retries + other.retries,
    credits: one.credits + other.credits,
    failures: mergedCounts([...one.failures, ...other.failures], ({ node, class: kind, status }) => `${node} ${kind} ${status}`, ['count']),
    mapped: mergedCounts([...one.mapped, ...other.mapped], ({ node, path }) => `${node} ${path}`, ['found', 'of']),
  };
}

/** Entries with the same name as one, with the sums of their counts. */
function mergedCounts<Entry extends object, Count extends keyof Entry>(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string,
  counts: readonly Count[],
): Entry[] {
  const byName = new Map<string, Entry>();
  for (const entry of entries) {
    const before = byName.get(nameOf(entry));
    const sums = counts.map((count) => [count, (entry[count] as number) + ((before?.[count] as number | undefined) ?? 0)]);
    byName.set(nameOf(entry), { ...(before ?? entry), ...Object.fromEntries(sums) });
  }
  return [...byName.values()];
}
