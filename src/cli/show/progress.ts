import { durationText } from '../../core/duration.ts';
import type { Item } from '../../core/item.ts';
import { count, counted } from './number.ts';
import type { Tally } from './tally.ts';

/** Who asked to be left alone, and for how long. */
export interface Pauses {
  add(origin: string, waitMs: number): void;
  /** The longest that is left; absent where it is too short to tell of. */
  longest(): { readonly origin: string; readonly leftMs: number } | undefined;
}

const worthTellingMs = 1000;

/** Makes the pauses of a run, of which there are none yet. */
export function createPauses(now: () => number): Pauses {
  let last = { origin: '', untilMs: 0 };
  return {
    add(origin, waitMs) {
      const untilMs = now() + waitMs;
      if (untilMs > last.untilMs) last = { origin, untilMs };
    },
    longest() {
      const leftMs = last.untilMs - now();
      return leftMs >= worthTellingMs ? { origin: last.origin, leftMs } : undefined;
    },
  };
}

/** What progress is measured against. */
export interface ProgressFacts {
  /** How much of the work is done, 0 to 1; `undefined` when nobody can tell. */
  share(): number | undefined;
  readonly pauses: Pauses;
  credits(): number;
  now(): number;
}

/** One line of progress, made anew each time it is asked for. */
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

/** A run that waits must not look like one that hangs. */
function pauseText(pauses: Pauses): string[] {
  const pause = pauses.longest();
  return pause ? [`${pause.origin} asks to wait ${durationText(pause.leftMs)}`] : [];
}

function etaText(ms: number, share: number | undefined): string[] {
  if (share === undefined || share <= 0.001 || ms < 1000) return [];
  return [`${Math.floor(share * 100)} %`, `about ${durationText((ms * (1 - share)) / share)} left`];
}

/** How far a run is in its input. */
export interface Reading {
  /** Records that were wanted, and read. */
  records: number;
  /** How much of the input stands in front of them: it was skipped, or done by an earlier part of the run. */
  bytesBefore: number;
}

/** Counts the records of an input as they are read. `readBytes`: how much of it was read. */
export async function* counting(
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

/** Offsets count the text, which may be packed: only how they compare says something of the file. */
function shareBefore(items: readonly Item[]): number {
  const [first, last] = [items[0], items.at(-1)].map((item) => item?.end.offset ?? 0) as [number, number];
  return last === 0 ? 0 : first / last;
}

/** How much of what a run has to do is done, 0 to 1: reading runs ahead, so of what was read only the records that have ended count. */
export function shareDone(facts: {
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  readonly reading: Reading;
  readonly doneRecords: number;
  /** How many records are wanted; absent for all. */
  readonly limit: number | undefined;
}): number | undefined {
  const { totalBytes, readBytes, reading, doneRecords, limit } = facts;
  if (reading.records === 0) return undefined;
  const ofBytes = (total: number) => (readBytes - reading.bytesBefore) / Math.max(1, total - reading.bytesBefore);
  const ofInput = totalBytes === undefined ? undefined : ofBytes(totalBytes) * (doneRecords / reading.records);
  const ofLimit = limit === undefined ? undefined : doneRecords / limit;
  return ofInput === undefined || ofLimit === undefined ? (ofInput ?? ofLimit) : Math.max(ofInput, ofLimit);
}

/** Something that shows progress until it is stopped. */
export interface ProgressShow {
  stop(): void;
}

const lineEveryMs = 10_000;

/** A plain line every 10 seconds, for logs. */
export function showLines(line: () => string, say: (text: string) => void): ProgressShow {
  const timer = setInterval(() => say(line()), lineEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** A spinner with the line beside it. */
export async function showSpinner(line: () => string, hasColor: boolean): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  const spinner = ora({
    text: line(),
    stream: process.stderr,
    // Else ora would read the keyboard, and the terminal's interrupt key would not reach us.
    discardStdin: false,
    // Who suspends or kills the run would not see where they type.
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
