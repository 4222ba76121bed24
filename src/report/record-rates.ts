import type { Event } from '../core/event.ts';

/**
 * Widths in ms that the time buckets can have. Each width is a multiple of the one before it, so that narrow buckets can be merged into
 * wider ones.
 */
const widthsMs = [100, 200, 1000, 2000, 10_000, 30_000, 60_000, 120_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];

/** Maximum number of buckets that are stored. If more are needed, buckets are merged into wider ones. */
const maxBuckets = 240;

/** Maximum number of buckets in a chart. */
const maxShown = 60;

/** Number of records that ended in one time interval. */
export interface Bucket {
  /** Start of the interval, in ms since the run began. */
  readonly startMs: number;
  readonly ms: number;
  written: number;
  failed: number;
  /** Time in ms during the interval in which at least one gate (the rate limiter of an API) was paused. */
  pausedMs: number;
}

type Counts = Pick<Bucket, 'written' | 'failed' | 'pausedMs'>;

/** Counts ended records over time. The counts are kept in time buckets, so that memory use does not grow with the run. */
export class RecordRates {
  readonly #now: () => number;
  readonly #startedMs: number;
  #width = 0;
  #buckets: Counts[] = [];
  /** The current pause, without the time that was already added to buckets. */
  #pause = { fromMs: 0, untilMs: 0 };
  #lastMs = 0;

  /** `now` returns a monotonic time in ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedMs = now();
  }

  /** Counts a record that has just ended. */
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

  /** Time in ms since the run began. */
  get ms(): number {
    return this.#elapsed();
  }

  /**
   * Returns the buckets without gaps, and merges them if a chart cannot show that many. The last bucket ends after `ranMs`, by default now.
   */
  buckets(ranMs = this.#elapsed()): Bucket[] {
    const ms = Math.max(ranMs, this.#lastMs);
    this.#passPause(ms);
    this.#at(ms);
    const width = widthsMs.find((wide) => wide >= this.#widthMs() && ms <= wide * maxShown) ?? (widthsMs.at(-1) as number);
    const shown = mergedBuckets(this.#buckets, width / this.#widthMs()).slice(0, Math.floor(ms / width) + 1);
    const all = shown.map((counts, index) => ({ startMs: index * width, ms: Math.min(width, ms - index * width), ...counts }));
    const last = all.at(-1);
    // A short last bucket is merged with the bucket before it, because its rate would look too high or too low.
    if (all.length > 1 && last && last.ms < width / 2) all.splice(-2, 2, joinedBuckets(all.at(-2) as Bucket, last));
    return all;
  }

  #elapsed(): number {
    return this.#now() - this.#startedMs;
  }

  #widthMs(): number {
    return widthsMs[this.#width] as number;
  }

  /** Returns the bucket to which a time belongs. Buckets that have the greatest width are not merged, so their number is then unlimited. */
  #at(ms: number): Counts {
    while (ms >= maxBuckets * this.#widthMs() && this.#width < widthsMs.length - 1) this.#widen();
    const index = Math.floor(ms / this.#widthMs());
    while (this.#buckets.length <= index) this.#buckets.push({ written: 0, failed: 0, pausedMs: 0 });
    return this.#buckets[index] as Counts;
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

/** Counts an event if it ends a record or pauses a gate. */
export function addToRates(rates: RecordRates, event: Event): void {
  if (event.type === 'record-done' || event.type === 'record-filtered' || event.type === 'record-unchanged') rates.add('written');
  else if (event.type === 'record-failed') rates.add('failed');
  else if (event.type === 'gate-paused') rates.pause(event.waitMs);
}

/** Merges buckets into wider ones. `times` is the number of buckets that become one. */
function mergedBuckets(buckets: readonly Counts[], times: number): Counts[] {
  const wider: Counts[] = [];
  for (const [index, counts] of buckets.entries()) {
    const at = Math.floor(index / times);
    wider[at] = added(wider[at] ?? { written: 0, failed: 0, pausedMs: 0 }, counts);
  }
  return wider;
}

function added(one: Counts, other: Counts): Counts {
  return { written: one.written + other.written, failed: one.failed + other.failed, pausedMs: one.pausedMs + other.pausedMs };
}

function joinedBuckets(one: Bucket, next: Bucket): Bucket {
  return { startMs: one.startMs, ms: one.ms + next.ms, ...added(one, next) };
}
