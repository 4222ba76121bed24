import { type NamesWith, optionsWith, type RunOptions } from '../../core/run-options.ts';
import { appendable, type FormatName } from '../../records/formats.ts';
import type { RunShape, ServedRunState } from '../shapes.ts';

export type StoredOptions = Pick<RunOptions, NamesWith<'http', true> | 'var' | 'encoding'>;

/** Leaves out how the input is read, because a retry reads the errors file. */
export function processingOptions(options: StoredOptions): StoredOptions {
  const ofInput: readonly string[] = optionsWith('about', 'input');
  return Object.fromEntries(Object.entries(options).filter(([name]) => !ofInput.includes(name)));
}

/** From an input format such as `csv.gz`. */
export function errorsFormatOf(inputFormat: string): RunShape['format'] {
  return appendable({ kind: inputFormat.replace(/\.gz$/, '') as FormatName, gzip: false }).kind as RunShape['format'];
}

/** Totals over all parts of a run that have ended. A part lasts from the start or a resumption until the run ends or is stopped. */
export type Totals = Pick<RunShape, 'failures' | 'mapped'> & { readonly retries: number; readonly credits: number };

export interface StoredRun {
  readonly id: string;
  readonly flow: string;
  readonly key: { readonly id: string; readonly name: string; readonly quota?: number } | null;
  /** The API key that pays for the current part of the run, if it is not `key`; null for the web page. */
  payer?: StoredRun['key'];
  readonly options: StoredOptions;
  /** Ends in `.gz` if the input is compressed. */
  readonly inputFormat: string;
  readonly format: RunShape['format'];
  readonly bytes: number;
  readonly createdAt: string;
  readonly retryOf: string | null;
  state: ServedRunState;
  startedAt: string | null;
  endedAt: string | null;
  ending: string | null;
  exitCode: number | null;
  reason: string | null;
  /** True if the run is to be resumed when the server starts again. */
  isWaiting: boolean;
  resumable: boolean;
  /** Number of times that the server, after a crash, found the run unfinished. */
  crashes: number;
  /** Number of parts of the run that have begun. Every part after the first one is a resumption. */
  parts: number;
  counts: RunShape['counts'];
  totals: Totals;
  /** Bytes of the files that the run has saved in the folder for files. */
  saved?: number;
  /** Size in bytes of the run's files, including the saved ones, when its last part ended; undefined before that. */
  size?: number;
  /** The records and credits that have already been counted for the API key. */
  counted: { readonly records: number; readonly credits: number };
}

export function payerOf({ key, payer = key }: Pick<StoredRun, 'key' | 'payer'>): StoredRun['key'] {
  return payer;
}

export const noTotals: Totals = { failures: [], mapped: [], retries: 0, credits: 0 };

export const noCounts: RunShape['counts'] = { read: 0, written: 0, failed: 0, retries: 0, waiting: 0 };

export function sumOfTotals(one: Totals, other: Totals): Totals {
  return {
    retries: one.retries + other.retries,
    credits: one.credits + other.credits,
    failures: mergedCounts([...one.failures, ...other.failures], ({ node, class: kind, status }) => `${node} ${kind} ${status}`, ['count']),
    mapped: mergedCounts([...one.mapped, ...other.mapped], ({ node, path }) => `${node} ${path}`, ['found', 'of']),
  };
}

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

/** Only `ServedRun.move` changes the state of a run. */
const following: Readonly<Record<ServedRunState, readonly ServedRunState[]>> = {
  queued: ['running', 'stopped', 'failed'],
  running: ['stopping', 'stopped', 'finished', 'failed', 'queued'],
  stopping: ['stopped', 'finished', 'failed', 'queued'],
  stopped: ['queued'],
  failed: ['queued'],
  finished: [],
};

export function mayFollow(from: ServedRunState, to: ServedRunState): boolean {
  return following[from].includes(to);
}

export function isOpenState(state: ServedRunState): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping';
}
