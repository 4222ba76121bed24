/** Buckets for each doubling of the time: a percentile is at most 9 % too high. */
const bucketsPerDoubling = 8;

/** Times below this share a bucket. */
const minMs = 0.125;

/** Limits of the bars of a histogram in ms: 1, 1.5, 2, 3, 5, 7, 10, 15, … */
const barLimitsMs = Array.from({ length: 6 }, (_, decade) => [1, 1.5, 2, 3, 5, 7].map((step) => step * 10 ** decade)).flat();

/** A bar of a histogram. */
export interface TimesBar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** Response times in buckets: memory does not grow with the run. */
export class ResponseTimes {
  readonly #buckets: number[] = [];
  readonly #bars: number[] = Array.from({ length: barLimitsMs.length + 1 }, () => 0);
  #count = 0;
  #maxMs = 0;

  add(ms: number): void {
    const bucket = Math.max(0, Math.floor(Math.log2(ms / minMs) * bucketsPerDoubling));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#bars[barOf(ms)]!++;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  /** The histogram from its first bar with a response to its last, without gaps. */
  bars(): TimesBar[] {
    const first = this.#bars.findIndex((count) => count > 0);
    const last = this.#bars.findLastIndex((count) => count > 0);
    return this.#bars
      .map((count, index) => ({ fromMs: barLimitsMs[index - 1] ?? 0, toMs: barLimitsMs[index] ?? this.#maxMs, count }))
      .slice(Math.max(0, first), last + 1);
  }

  /** The time that this share of the responses did not exceed, in ms. `share`: 0 to 1. */
  percentileMs(share: number): number {
    let left = share * this.#count;
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count ?? 0;
      if (left <= 0) return Math.min(this.#maxMs, minMs * 2 ** ((bucket + 1) / bucketsPerDoubling));
    }
    return this.#maxMs;
  }
}

/** The index of a time's bar: the first one whose upper limit is above it. */
function barOf(ms: number): number {
  let [low, high] = [0, barLimitsMs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ms < (barLimitsMs[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The median, the 95th percentile and the maximum, in ms. The percentiles are near values, as the buckets are. */
export function typicalMs(times: ResponseTimes): readonly [p50: number, p95: number, max: number] {
  return [roundedMs(times.percentileMs(0.5)), roundedMs(times.percentileMs(0.95)), Math.max(1, Math.round(times.maxMs))];
}

/** Two significant digits, and no fractions of a ms. */
function roundedMs(ms: number): number {
  return Math.max(1, Math.round(Number(ms.toPrecision(2))));
}
