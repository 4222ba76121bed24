import type { Attempt } from '../core/action.ts';
import type { Event } from '../core/event.ts';
import type { Clock } from '../core/ports.ts';
import { Pauses } from './pauses.ts';
import type { InputReading } from './reading.ts';
import type { QueueStatus } from './run-status.ts';
import { addToTally, createTally } from './tally.ts';

/** Figures about a run's workers, which change during the run. */
export interface WorkerFigures {
  readonly now: number;
  readonly most: number;
  readonly lost: number;
  /** Unfinished units. A unit is a group of records that one worker processes. */
  readonly units: number;
  /** Credits that lost workers took from the run and might have spent. They count as spent. */
  readonly maybeSpent: number;
  /** Resolves to undefined while the queue cannot be reached. Missing if the workers are child processes. */
  readonly queueStatus?: () => Promise<QueueStatus | undefined>;
}

/** The state of a run, as shown by the progress line, the summary, the report and the web page. */
export class RunProgress {
  readonly tally = createTally();
  readonly statuses = new Statuses();
  readonly reading: InputReading = { records: 0, bytesBefore: 0, isComplete: false };
  readonly pauses: Pauses;
  readonly rates: RecordRates;
  /** JSON fields that a map replaces, and that none of the first records has. */
  readonly lateFields: string[] = [];
  /** Undefined if this process runs the nodes itself. */
  workers: WorkerFigures | undefined;
  /** A time in ms since 1970. */
  readonly startedAtMs: number;
  readonly #startedMs: number;
  readonly #now: () => number;

  constructor({ now, wallNow }: Clock) {
    this.#now = now;
    this.pauses = new Pauses(now);
    this.rates = new RecordRates(now);
    this.startedAtMs = wallNow();
    this.#startedMs = now();
  }

  get ms(): number {
    return this.#now() - this.#startedMs;
  }

  add(event: Event): void {
    addToTally(this.tally, event);
    addToRates(this.rates, event);
    if (event.type === 'gate-paused') this.pauses.add(event);
  }
}

/** Counts attempts by HTTP status, or by the reason why there was no response. @internal */
export class Statuses {
  readonly #counts = new Map<string, number>();

  add({ result }: Pick<Attempt, 'result'>): void {
    const status = typeof result === 'object' ? (result.status ?? result.kind) : result;
    this.#counts.set(String(status), (this.#counts.get(String(status)) ?? 0) + 1);
  }

  /** Sorted by count, highest first. */
  counts(): { readonly status: string; readonly count: number }[] {
    return [...this.#counts].map(([status, count]) => ({ status, count })).sort((one, other) => other.count - one.count);
  }
}

/** Possible widths of the time buckets in ms. Each is a multiple of the one before it, so that buckets can be merged into wider ones. */
const widthsMs = [100, 200, 1000, 2000, 10_000, 30_000, 60_000, 120_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];

/** If more buckets are needed, they are merged into wider ones. */
const maxBuckets = 240;

const maxShown = 60;

interface Interval {
  /** A time in ms since the run began. */
  readonly startMs: number;
  readonly ms: number;
  written: number;
  failed: number;
  /** Time in ms during the interval in which at least one gate (the rate limiter of an API) was paused. */
  pausedMs: number;
}

type IntervalCounts = Pick<Interval, 'written' | 'failed' | 'pausedMs'>;

/** Counts ended records in time buckets, so that memory use does not grow with the run. */
export class RecordRates {
  readonly #now: () => number;
  readonly #startedMs: number;
  #width = 0;
  #buckets: IntervalCounts[] = [];
  /** Excludes the time that was already added to buckets. */
  #pause = { fromMs: 0, untilMs: 0 };
  #lastMs = 0;

  /** `now` returns a monotonic time in ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedMs = now();
  }

  add(result: 'written' | 'failed'): void {
    const ms = this.#elapsed();
    this.#passPause(ms);
    this.#at(ms)[result]++;
    this.#lastMs = ms;
  }

  /** Counts a pause that begins now. If a longer pause is already under way, the longer one continues. */
  pause(waitMs: number): void {
    const ms = this.#elapsed();
    this.#passPause(ms);
    this.#pause = { fromMs: ms, untilMs: Math.max(this.#pause.untilMs, ms + waitMs) };
  }

  get ms(): number {
    return this.#elapsed();
  }

  /** The buckets without gaps, merged if a chart cannot show that many. The last bucket ends after `ranMs`, by default now. */
  buckets(ranMs = this.#elapsed()): Interval[] {
    const ms = Math.max(ranMs, this.#lastMs);
    this.#passPause(ms);
    this.#at(ms);
    const width = widthsMs.find((wide) => wide >= this.#widthMs() && ms <= wide * maxShown) ?? (widthsMs.at(-1) as number);
    const shown = mergedBuckets(this.#buckets, width / this.#widthMs()).slice(0, Math.floor(ms / width) + 1);
    const all = shown.map((counts, index) => ({ startMs: index * width, ms: Math.min(width, ms - index * width), ...counts }));
    const last = all.at(-1);
    // A short last bucket is merged with the bucket before it, because its rate would look too high or too low.
    if (all.length > 1 && last && last.ms < width / 2) all.splice(-2, 2, joinedBuckets(all.at(-2) as Interval, last));
    return all;
  }

  #elapsed(): number {
    return this.#now() - this.#startedMs;
  }

  #widthMs(): number {
    return widthsMs[this.#width] as number;
  }

  /** Buckets of the greatest width are not merged, so their number is then unlimited. */
  #at(ms: number): IntervalCounts {
    while (ms >= maxBuckets * this.#widthMs() && this.#width < widthsMs.length - 1) this.#widen();
    const index = Math.floor(ms / this.#widthMs());
    while (this.#buckets.length <= index) this.#buckets.push({ written: 0, failed: 0, pausedMs: 0 });
    return this.#buckets[index] as IntervalCounts;
  }

  #widen(): void {
    this.#buckets = mergedBuckets(this.#buckets, (widthsMs[this.#width + 1] as number) / this.#widthMs());
    this.#width++;
  }

  /** Adds the elapsed part of the current pause to the buckets that it covers. */
  #passPause(nowMs: number): void {
    const untilMs = Math.min(nowMs, this.#pause.untilMs);
    while (this.#pause.fromMs < untilMs) {
      const { fromMs } = this.#pause;
      const bucket = this.#at(fromMs);
      const endMs = Math.min(untilMs, (Math.floor(fromMs / this.#widthMs()) + 1) * this.#widthMs());
      bucket.pausedMs += endMs - fromMs;
      this.#pause = { ...this.#pause, fromMs: endMs };
    }
  }
}

function addToRates(rates: RecordRates, event: Event): void {
  if (event.type === 'record-done' || event.type === 'record-filtered' || event.type === 'record-unchanged') rates.add('written');
  else if (event.type === 'record-failed') rates.add('failed');
  else if (event.type === 'gate-paused') rates.pause(event.waitMs);
}

function mergedBuckets(buckets: readonly IntervalCounts[], times: number): IntervalCounts[] {
  const wider: IntervalCounts[] = [];
  for (const [index, counts] of buckets.entries()) {
    const at = Math.floor(index / times);
    wider[at] = added(wider[at] ?? { written: 0, failed: 0, pausedMs: 0 }, counts);
  }
  return wider;
}

function added(one: IntervalCounts, other: IntervalCounts): IntervalCounts {
  return { written: one.written + other.written, failed: one.failed + other.failed, pausedMs: one.pausedMs + other.pausedMs };
}

function joinedBuckets(one: Interval, next: Interval): Interval {
  return { startMs: one.startMs, ms: one.ms + next.ms, ...added(one, next) };
}
