import { durationText } from '../../core/duration.ts';
import { count, counted } from './number.ts';
import type { Tally } from './tally.ts';

/** What progress is measured against. */
export interface ProgressFacts {
  /** How much of the input has been read, 0 to 1; `undefined` when its size is not known. */
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
export async function showSpinner(line: () => string): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  // With discardStdin ora would read the keyboard, and the terminal's interrupt key would not reach us.
  const spinner = ora({ text: line(), stream: process.stderr, discardStdin: false }).start();
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
