import type { GivenVariables } from '../../app/flow/flow-file.ts';
import type { RunShape, RunState } from '../shapes.ts';

/** The options of a run that its query names. */
export interface StoredOptions {
  /** The values of variables that its query sets. */
  readonly var?: GivenVariables;
  readonly delimiter?: string;
  readonly sheet?: string;
  readonly encoding?: string;
  readonly records?: string;
  readonly limit?: number;
  readonly skip?: number;
  readonly maxErrors?: { readonly count: number } | { readonly share: number };
  readonly maxCredits?: number;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
}

/** The format of the errors file beside an input of a format such as `csv.gz`; CSV beside a workbook. */
export function errorsFormatOf(inputFormat: string): RunShape['format'] {
  return inputFormat === 'xlsx' ? 'csv' : (inputFormat.replace(/\.gz$/, '') as RunShape['format']);
}

/** Totals of a run over all its ended parts. */
export type Totals = Pick<RunShape, 'failures' | 'mapped'> & { readonly retries: number; readonly credits: number };

/** A run as it is stored in `run.json`. */
export interface StoredRun {
  readonly id: string;
  readonly flow: string;
  readonly key: { readonly id: string; readonly name: string; readonly quota?: number } | null;
  /** The key that pays for this part in place of `key`; null for the page. */
  payer?: StoredRun['key'] | undefined;
  readonly options: StoredOptions;
  /** Format of the stored input, with `.gz` if it is compressed. */
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
  /** True if the next start of the server resumes the run. */
  isWaiting: boolean;
  resumable: boolean;
  /** Starts of the server that found the run under way. */
  crashes: number;
  /** Number of parts that have begun. Every part but the first resumes the run. */
  parts: number;
  counts: RunShape['counts'];
  /** Totals over all ended parts. */
  totals: Totals;
  /** The bytes of its files at the end of its last part; absent before. */
  size?: number;
  /** The records and credits that are already counted for the key. */
  counted: { readonly records: number; readonly credits: number };
}

/** The key that pays for the present part of a run; null for the page. */
export function payerOf({ key, payer = key }: Pick<StoredRun, 'key' | 'payer'>): StoredRun['key'] {
  return payer;
}

/** Totals of a run that has not begun. */
export const noTotals: Totals = { failures: [], mapped: [], retries: 0, credits: 0 };

/** Record counts of a run that has not begun. */
export const noCounts: RunShape['counts'] = { read: 0, written: 0, failed: 0, retries: 0, waiting: 0 };

/** Adds up the totals of two parts of a run. */
export function sumOfTotals(one: Totals, other: Totals): Totals {
  return {
    retries: one.retries + other.retries,
    credits: one.credits + other.credits,
    failures: mergedCounts([...one.failures, ...other.failures], ({ node, class: kind, status }) => `${node} ${kind} ${status}`, ['count']),
    mapped: mergedCounts([...one.mapped, ...other.mapped], ({ node, path }) => `${node} ${path}`, ['found', 'of']),
  };
}

/** Merges entries with the same name, and adds up their counts. */
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

/** The states that may follow each state of a run. Only `ServedRun.move` changes a state, at once. */
const following: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ['running', 'stopped', 'failed'],
  running: ['stopping', 'stopped', 'finished', 'failed', 'queued'],
  stopping: ['stopped', 'finished', 'failed', 'queued'],
  stopped: ['queued'],
  failed: ['queued'],
  finished: [],
};

/** True if a run may go from one state to the other. */
export function mayFollow(from: RunState, to: RunState): boolean {
  return following[from].includes(to);
}

/** True for the states before the end of a run. */
export function isOpenState(state: RunState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping';
}
