import type { Attempt } from '../../core/action.ts';
import { durationText } from '../../core/duration.ts';
import type { ConcurrencyEvent, Event } from '../../core/event.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { counted, creditsText, formatCount } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { type Pauses, pauseText } from '../../report/pauses.ts';
import type { FinishedShare } from '../../report/reading.ts';
import { doneOf, showsCredits, workOf } from '../../report/reported-run.ts';
import type { Tally } from '../../report/tally.ts';
import type { OpenRun, WorkerWait } from '../../run/run-request.ts';
import { requestText } from '../show/request.ts';
import type { Terminal } from '../terminal.ts';

/** The figures that a progress line shows. @internal */
export interface ProgressFacts {
  readonly tally: Pick<Tally, 'failed' | 'retries'>;
  /** Records finished since the run was resumed, including those that wait for an earlier record. */
  done(): number;
  readonly before: { readonly read: number; readonly failed: number };
  total(): number | undefined;
  /** Finished shares (0 to 1) of the records since the run was resumed, and of the whole run. Undefined if they are not known. */
  share(): FinishedShare | undefined;
  readonly pauses: Pick<Pauses, 'current'>;
  /** The method is left out in a run without workers. */
  workers?(): number | undefined;
  /** The current maximum of requests in flight; undefined if all limits were set by the user. */
  concurrency?(): number | undefined;
  /** Credits spent. Undefined if credits are neither limited nor priced. */
  readonly credits: (() => number) | undefined;
  now(): number;
}

/** If the line is too long, the parts with the highest rank are left out first. */
interface LinePart {
  readonly text: string;
  readonly rank: number;
}

/** After these times in ms, the first rate and the first estimate of the time left are shown. Earlier values would be far off. */
const settledMs = { rate: 1000, left: 3000 };

/** Returns the text of the progress line, such as `200/500 (40 %) · 12/s · 25 s left · 8 failed`. @internal */
export class ProgressLine {
  readonly #facts: ProgressFacts;
  readonly #rate: RecentRate;
  readonly #startedMs: number;

  constructor(facts: ProgressFacts) {
    this.#facts = facts;
    this.#startedMs = facts.now();
    this.#rate = new RecentRate(this.#startedMs);
  }

  /** `width` is in characters; unlimited by default. */
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

/** The rate is measured over this interval in ms. It is short, so that the rate is soon correct after a pause. */
const rateOverMs = 10_000;

/** Records per second in the last ten seconds. */
class RecentRate {
  readonly #samples: { readonly ms: number; readonly read: number }[];

  constructor(startedMs: number) {
    this.#samples = [{ ms: startedMs, read: 0 }];
  }

  /** Undefined in the first second. */
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

function fitted(parts: readonly LinePart[], width: number): string {
  const text = parts.map((part) => part.text).join(' · ');
  if (text.length <= width || parts.length === 1) return text.slice(0, width);
  const last = Math.max(...parts.map(({ rank }) => rank));
  return fitted(
    parts.filter(({ rank }) => rank !== last),
    width,
  );
}

export interface ProgressShow {
  stop(): void;
  /** Removes the progress line until the returned function is called. Left out if whole lines are printed, which need not be removed. */
  pause?(): () => void;
}

const lineEveryMs = 10_000;

/** Prints a plain line every 10 seconds, for logs. */
function showLines(line: ProgressLine, say: (text: string) => void): ProgressShow {
  const timer = setInterval(() => say(line.text()), lineEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Columns that the progress line leaves free for the spinner, a space and the cursor. */
const reservedColumns = 3;

/** The line never wraps. */
async function showSpinner(line: ProgressLine, hasColor: boolean): Promise<ProgressShow> {
  const { default: ora } = await import('ora');
  const text = () => line.text(process.stderr.columns - reservedColumns);
  const spinner = ora({
    text: text(),
    stream: process.stderr,
    // If `discardStdin` were true, ora would read the keyboard, and Ctrl-C would not reach this process.
    discardStdin: false,
    // The cursor stays visible, because a hidden one would stay hidden if the run is suspended or killed.
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

/** `waiting` returns the number of finished records that wait for an earlier one. */
export async function showProgress(run: OpenRun, waiting: () => number, terminal: Terminal): Promise<ProgressShow> {
  const { files } = run.request;
  const line = progressLine(run, waiting);
  // If the records go to the same terminal, plain lines are printed, because the spinner and the records would overwrite each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.say);
}

/** The sum of the limits on requests in flight that automate has found by itself; undefined if the user set all limits. */
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

/** The requests that each worker of a run sends at once; undefined for a flow that sends none. */
export function atOnceText({ steps }: Pick<Plan, 'steps'>): string | undefined {
  const limits = new Map<string, number>();
  for (const { node } of allSteps(steps))
    if (node.action && !node.action.lookup?.isLocal) limits.set(node.action.limit.key, node.action.limit.max);
  const requests = [...limits.values()].reduce((sum, max) => sum + max, 0);
  return requests === 0 ? undefined : `at most ${counted(requests, 'request')} at once in each worker`;
}

/** Shows a command that starts a worker, or says why the workers that are alive cannot process the run. */
export function waitText({ url, queueName, problems }: WorkerWait): string {
  const name = queueName === undefined ? '' : ` --queue-name ${shellWord(queueName)}`;
  const [first] = problems;
  if (!first) return `waiting for a worker: automate worker --queue ${shellWord(url)}${name}`;
  const { worker, problem, credentials = [] } = first;
  const way = credentials.length === 0 ? '' : ` (automate credentials set ${credentials[0]})`;
  const lack = credentials.length === 0 ? `: ${problem}` : ` has no credential "${credentials[0]}"`;
  return `waiting for a worker: ${problems.length === 1 ? '1 is' : `${problems.length} are`} there; ${worker}${lack}${way}`;
}

/** One line, such as `record 17 profile GET https://api.example.com/users/17 200 34 ms`. */
export function attemptText({ record, node, request, ms, result, httpVersion }: Attempt): string {
  const isTool = 'kind' in request && request.kind === 'tool';
  const [line = ''] = isTool ? [`tool ${request.tool}`] : requestText(request);
  const version = httpVersion === undefined ? [] : [`HTTP/${httpVersion}`];
  return [`record ${record}`, node, line, resultText(result), ...version, durationText(Math.round(ms))].join('  ');
}

function resultText(result: Attempt['result']): string {
  return typeof result === 'object' ? `${result.kind}: ${result.message}` : String(result);
}

export function eventText(event: Event): string | undefined {
  if (event.type === 'answer-kept' && event.as === 'used') return `record ${event.record}  ${event.node}  a kept answer`;
  if (event.type === 'cache-hit') return `record ${event.record}  ${event.node}  from the cache`;
  if (event.type === 'gate-paused') return pauseText(event);
  if (event.type === 'concurrency') return concurrencyText(event);
  return undefined;
}

const reasons: Readonly<Record<ConcurrencyEvent['reason'], string>> = {
  start: 'at first',
  fast: 'answers are still as fast',
  slow: 'answers have become slower',
  'no-effect': 'fewer requests did not make answers faster',
  refused: 'the server refused a request',
};

/** Text such as `concurrency of http-1: 4 to 8, answers are still as fast`. */
function concurrencyText({ gate, from, to, reason, worker }: ConcurrencyEvent): string {
  const name = worker === undefined ? gate : `${gate} in worker ${worker}`;
  return `concurrency of ${name}: ${from === undefined ? '' : `${from} to `}${to}, ${reasons[reason]}`;
}
