import { durationText } from '../../../core/duration.ts';
import type { Item } from '../../../core/item.ts';
import { count, counted } from '../number.ts';
import type { Tally } from './tally.ts';

/** The pauses that servers have asked for. */
export interface Pauses {
  add(origin: string, waitMs: number): void;
  /** The pause that ends last; absent if less than a second of it is left. */
  longest(): { readonly origin: string; readonly leftMs: number } | undefined;
}

const minShownMs = 1000;

/** Creates the pauses of a run. */
export function createPauses(now: () => number): Pauses {
  let last = { origin: '', untilMs: 0 };
  return {
    add(origin, waitMs) {
      const untilMs = now() + waitMs;
      if (untilMs > last.untilMs) last = { origin, untilMs };
    },
    longest() {
      const leftMs = last.untilMs - now();
      return leftMs >= minShownMs ? { origin: last.origin, leftMs } : undefined;
    },
  };
}

/** The figures of a progress line. */
export interface ProgressFacts {
  /** The finished share of the work, 0 to 1; `undefined` if it is not known. */
  share(): number | undefined;
  readonly pauses: Pauses;
  credits(): number;
  now(): number;
}

/** Creates a function that returns the current line of progress. */
export function createProgressLine(tally: Tally, facts: ProgressFacts): () => string {
  const startedMs = facts.now();
  return () => {
    const ms = facts.now() - startedMs;
    const share = facts.share();
    return [
      counted(tally.read, 'record'),
      `${count(Math.round(tally.read / Math.max(0.001, ms / 1000)))}/s`,
      `${count(tally.failed)} failed`,
      ...(tally.retries > 0 ? [`${count(tally.retries)} retried`] : []),
      counted(facts.credits(), 'credit'),
      ...pauseText(facts.pauses),
      ...etaText(ms, share),
    ].join(' · ');
  };
}

/** A run that waits must not look as if it hung. */
function pauseText(pauses: Pauses): string[] {
  const pause = pauses.longest();
  return pause ? [`${pause.origin} asks to wait ${durationText(pause.leftMs)}`] : [];
}

function etaText(ms: number, share: number | undefined): string[] {
  if (share === undefined || share <= 0.001 || ms < 1000) return [];
  return [`${Math.floor(share * 100)} %`, `about ${durationText((ms * (1 - share)) / share)} left`];
}

/** The position of a run in its input. */
export interface Reading {
  /** Records read for this run. */
  records: number;
  /** Bytes of the input before these records, which were skipped or are already done. */
  bytesBefore: number;
}

/** Counts the records of an input as they are read. `readBytes`: the bytes read so far. */
export async function* countItems(
  batches: AsyncIterable<readonly Item[]>,
  readBytes: () => number,
  reading: Reading,
): AsyncGenerator<readonly Item[]> {
  for await (const items of batches) {
    if (reading.records === 0) reading.bytesBefore = readBytes() * shareBefore(items);
    reading.records += items.length;
    yield items;
  }
}

/** Offsets count unpacked text, so only their ratio applies to the file. */
function shareBefore(items: readonly Item[]): number {
  const [first, last] = [items[0], items.at(-1)].map((item) => item?.end.offset ?? 0) as [number, number];
  return last === 0 ? 0 : first / last;
}

/** The finished share of the work, 0 to 1. Reading runs ahead: of the bytes read, only the share of finished records counts. */
export function shareDone(facts: {
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  readonly reading: Reading;
  readonly doneRecords: number;
  /** Maximum of records; absent for all. */
  readonly limit: number | undefined;
}): number | undefined {
  const { totalBytes, readBytes, reading, doneRecords, limit } = facts;
  if (reading.records === 0) return undefined;
  const ofBytes = (total: number) => (readBytes - reading.bytesBefore) / Math.max(1, total - reading.bytesBefore);
  const ofInput = totalBytes === undefined ? undefined : ofBytes(totalBytes) * (doneRecords / reading.records);
  const ofLimit = limit === undefined ? undefined : doneRecords / limit;
  return ofInput === undefined || ofLimit === undefined ? (ofInput ?? ofLimit) : Math.max(ofInput, ofLimit);
}

/** A progress display. */
export interface ProgressShow {
  stop(): void;
}

const lineEveryMs = 10_000;

/** Prints a plain line every 10 seconds, for logs. */
export function showLines(line: () => string, say: (text: string) => void): ProgressShow {
  const timer = setInterval(() => say(line()), lineEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Shows a spinner with the line beside it. */
export async function showSpinner(line: () => string, hasColor: boolean): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  const spinner = ora({
    text: line(),
    stream: process.stderr,
    // Otherwise ora reads the keyboard, and Ctrl-C does not reach this process.
    discardStdin: false,
    // A run that is suspended or killed would leave the cursor hidden.
    hideCursor: false,
    color: hasColor && 'cyan',
  }).start();
  const timer = setInterval(() => {
    spinner.text = line();
  }, 100);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      spinner.stop();
    },
  };
}
