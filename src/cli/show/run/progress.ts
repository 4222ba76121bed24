import type { Pauses } from '../../../app/progress/pauses.ts';
import type { Share } from '../../../app/progress/reading.ts';
import type { Tally } from '../../../app/progress/tally.ts';
import { doneOf, workOf } from '../../../app/report/run-figures.ts';
import { type OpenRun, showsCredits } from '../../../app/run-request.ts';
import { durationText } from '../../../core/duration.ts';
import { counted, creditsText, formatCount } from '../../../core/text/number.ts';
import type { Terminal } from '../../terminal.ts';

/** The figures of a progress line. */
export interface ProgressFacts {
  readonly tally: Pick<Tally, 'failed' | 'retries'>;
  /** Finished records of this run, also those that wait to be written after an earlier one. */
  done(): number;
  /** Records that were finished before this run was resumed. */
  readonly before: { readonly read: number; readonly failed: number };
  /** Records of the whole run; absent while it is not known. */
  total(): number | undefined;
  /** The finished share of this run's work, and of the whole, 0 to 1; absent if it is not known. */
  share(): Share | undefined;
  readonly pauses: Pick<Pauses, 'current'>;
  /** The number of workers; undefined without any. */
  workers?(): number | undefined;
  /** The number of requests that may be in flight now; undefined if all numbers are fixed. */
  concurrency?(): number | undefined;
  /** Absent if credits do not matter to the user. */
  readonly credits: (() => number) | undefined;
  now(): number;
}

/** A part of the line. Those of the highest rank are left out first if the line is too long. */
interface LinePart {
  readonly text: string;
  readonly rank: number;
}

/** Time before the first rate and the first estimate of the time left: earlier ones would be far off. */
const settledMs = { rate: 1000, left: 3000 };

/** The line of progress: `200/500 (40 %) · 12/s · 25 s left · 8 failed`. */
export class ProgressLine {
  readonly #facts: ProgressFacts;
  readonly #rate: RecentRate;
  readonly #startedMs: number;

  constructor(facts: ProgressFacts) {
    this.#facts = facts;
    this.#startedMs = facts.now();
    this.#rate = new RecentRate(this.#startedMs);
  }

  /** The line as it is now. `width`: maximum of its characters; absent for any number. */
  text(width = Number.POSITIVE_INFINITY): string {
    const { tally, done, before, pauses, credits, now } = this.#facts;
    const pause = pauses.current();
    const rate = this.#rate.at(now(), done());
    const left = this.#leftMs();
    const workers = this.#facts.workers?.();
    const atOnce = this.#facts.concurrency?.();
    const parts: LinePart[] = [
      { text: this.#doneText(), rank: 0 },
      ...(rate === undefined ? [] : [{ text: rate, rank: 4 }]),
      ...(workers === undefined ? [] : [{ text: counted(workers, 'worker'), rank: 5 }]),
      ...(atOnce === undefined ? [] : [{ text: `${formatCount(atOnce)} at once`, rank: 5 }]),
      ...(left === undefined ? [] : [{ text: `${wholeSeconds(left)} left`, rank: 3 }]),
      { text: `${formatCount(before.failed + tally.failed)} failed`, rank: 1 },
      ...(pause ? [{ text: `paused ${wholeSeconds(pause.leftMs)} (${pause.reason})`, rank: 2 }] : []),
      ...(tally.retries > 0 ? [{ text: `${formatCount(tally.retries)} retried`, rank: 5 }] : []),
      ...(credits ? [{ text: creditsText(credits()), rank: 6 }] : []),
    ];
    return fitted(parts, width);
  }

  #doneText(): string {
    const { done, before, total, share } = this.#facts;
    const finished = before.read + done();
    const all = total();
    if (all !== undefined) return `${formatCount(finished)}/${formatCount(all)} (${percent(all === 0 ? 1 : finished / all)})`;
    const known = share();
    return known ? `${counted(finished, 'record')} (${percent(known.ofWhole)})` : counted(finished, 'record');
  }

  #leftMs(): number | undefined {
    const { share, now } = this.#facts;
    const ms = now() - this.#startedMs;
    const { ofPart } = share() ?? { ofPart: 0 };
    return ofPart <= 0.001 || ms < settledMs.left ? undefined : (ms * (1 - ofPart)) / ofPart;
  }
}

/** Time over which the rate is taken: after a pause the line soon shows the rate of now. */
const rateOverMs = 10_000;

/** Records per time in the last seconds. */
class RecentRate {
  readonly #samples: { readonly ms: number; readonly read: number }[];

  constructor(startedMs: number) {
    this.#samples = [{ ms: startedMs, read: 0 }];
  }

  /** The rate as text; absent in the first second. */
  at(ms: number, read: number): string | undefined {
    const samples = this.#samples;
    samples.push({ ms, read });
    while ((samples[1]?.ms ?? ms) <= ms - rateOverMs) samples.shift();
    const first = samples[0] ?? { ms, read };
    if (ms - first.ms < settledMs.rate) return undefined;
    const perSecond = ((read - first.read) / (ms - first.ms)) * 1000;
    if (perSecond >= 10 || perSecond === 0) return `${formatCount(Math.round(perSecond))}/s`;
    return perSecond >= 1 ? `${Number(perSecond.toFixed(1))}/s` : `${Number((perSecond * 60).toFixed(1))}/min`;
  }
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}

function wholeSeconds(ms: number): string {
  return durationText(Math.ceil(ms / 1000) * 1000);
}

/** The parts on one line that is no longer than `width`. */
function fitted(parts: readonly LinePart[], width: number): string {
  const text = parts.map((part) => part.text).join(' · ');
  if (text.length <= width || parts.length === 1) return text.slice(0, width);
  const last = Math.max(...parts.map(({ rank }) => rank));
  return fitted(
    parts.filter(({ rank }) => rank !== last),
    width,
  );
}

/** A progress display. */
export interface ProgressShow {
  stop(): void;
  /** Leaves the terminal to others, until the returned function is called. Absent for a display that does not stay on one line. */
  pause?(): () => void;
}

const lineEveryMs = 10_000;

/** Prints a plain line every 10 seconds, for logs. */
export function showLines(line: ProgressLine, say: (text: string) => void): ProgressShow {
  const timer = setInterval(() => say(line.text()), lineEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Columns of a terminal that the line must leave free: for the spinner, a blank, and the cursor. */
const reservedColumns = 3;

/** Shows a spinner with the line beside it, which never wraps. */
export async function showSpinner(line: ProgressLine, hasColor: boolean): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  const text = () => line.text(process.stderr.columns - reservedColumns);
  const spinner = ora({
    text: text(),
    stream: process.stderr,
    // Otherwise ora reads the keyboard, and Ctrl-C does not reach this process.
    discardStdin: false,
    // A run that is suspended or killed would leave the cursor hidden.
    hideCursor: false,
    color: hasColor && 'cyan',
  }).start();
  const timer = setInterval(() => {
    spinner.text = text();
  }, 100);
  timer.unref();
  let hasEnded = false;
  return {
    stop() {
      hasEnded = true;
      clearInterval(timer);
      spinner.stop();
    },
    pause() {
      spinner.stop();
      return () => void (hasEnded || spinner.start());
    },
  };
}

/** Shows the progress of a run. `waiting`: the number of finished records that wait for an earlier one. */
export async function showProgress(run: OpenRun, waiting: () => number, terminal: Terminal): Promise<ProgressShow> {
  const { files } = run.request;
  const line = progressLine(run, waiting);
  // A spinner and records on the same screen would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

/** The sum of the numbers that were found; undefined if all are fixed. */
function foundOf({ concurrency }: Tally): number | undefined {
  if (concurrency.size === 0) return undefined;
  return [...concurrency.values()].reduce((sum, { now }) => sum + now, 0);
}

function progressLine(run: OpenRun, waiting: () => number): ProgressLine {
  const { claim, progress, session } = run;
  const { tally, pauses } = progress;
  return new ProgressLine({
    tally,
    before: { read: doneOf(claim.from), failed: claim.from.failed },
    pauses,
    workers: () => progress.workers?.now,
    concurrency: () => foundOf(tally),
    done: () => tally.read + waiting(),
    ...workOf(run, waiting),
    credits: showsCredits(run) ? session.ports.credits : undefined,
    now: session.ports.clock.now,
  });
}
