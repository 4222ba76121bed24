import { durationText } from '../../core/duration.ts';
import { count, counted } from './number.ts';
import type { Tally } from './tally.ts';

/** What progress is measured against. */
export interface ProgressFacts {
  /** How much of the work is done, 0 to 1; `undefined` when nobody can tell. */
  share(): number | undefined;
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
      ...etaText(ms, share),
    ].join(' · ');
  };
}

function etaText(ms: number, share: number | undefined): string[] {
  if (share === undefined || share <= 0.001 || ms < 1000) return [];
  return [`${Math.floor(share * 100)} %`, `about ${durationText((ms * (1 - share)) / share)} left`];
}

/** How much of a run is done, 0 to 1: reading runs ahead, so of what was read only the records that have ended count. */
export function shareDone(facts: {
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  readonly readRecords: number;
  readonly doneRecords: number;
  readonly limit: number | undefined;
}): number | undefined {
  const { totalBytes, readBytes, readRecords, doneRecords, limit } = facts;
  if (readRecords === 0) return undefined;
  const ofInput = totalBytes === undefined ? undefined : (readBytes / Math.max(1, totalBytes)) * (doneRecords / readRecords);
  const ofLimit = limit === undefined ? undefined : doneRecords / limit;
  return ofInput === undefined || ofLimit === undefined ? (ofInput ?? ofLimit) : Math.max(ofInput, ofLimit);
}

/** Something that shows progress until it is stopped. */
export interface ProgressShow {
  stop(): void;
}

const lineEveryMs = 10_000;

/** A plain line every 10 seconds, for logs. */
export function showLines(line: () => string, tell: (text: string) => void): ProgressShow {
  const timer = setInterval(() => tell(line()), lineEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** A spinner with the line beside it. */
export async function showSpinner(line: () => string, hasColor: boolean): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  // With discardStdin ora would read the keyboard, and the terminal's interrupt key would not reach us.
  const spinner = ora({ text: line(), stream: process.stderr, discardStdin: false, color: hasColor && 'cyan' }).start();
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
