/** Per doubling of the response time. With 8, a percentile is at most 9 % too high. */
const bucketsPerDoubling = 8;

/** All responses below this time in ms are counted in one bucket. */
const minMs = 0.125;

/** Upper limits in ms of the histogram's bars: 1, 1.5, 2, 3, 5, 7, 10, 15, … */
const barLimitsMs = Array.from({ length: 6 }, (_, decade) => [1, 1.5, 2, 3, 5, 7].map((step) => step * 10 ** decade)).flat();

interface TimesBar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** Counts response times. The counts are kept in buckets, so that memory use does not grow with the run. */
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

  /** Returns the bars from the first to the last that contains a response, without gaps. */
  bars(): TimesBar[] {
    const first = this.#bars.findIndex((count) => count > 0);
    const last = this.#bars.findLastIndex((count) => count > 0);
    return this.#bars
      .map((count, index) => ({ fromMs: barLimitsMs[index - 1] ?? 0, toMs: barLimitsMs[index] ?? this.#maxMs, count }))
      .slice(Math.max(0, first), last + 1);
  }

  /** The time in ms that this share of the responses (0 to 1) did not exceed. */
  percentileMs(share: number): number {
    let left = share * this.#count;
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count ?? 0;
      if (left <= 0) return Math.min(this.#maxMs, minMs * 2 ** ((bucket + 1) / bucketsPerDoubling));
    }
    return this.#maxMs;
  }
}

/** The index of the first bar with an upper limit above the time. */
function barOf(ms: number): number {
  let [low, high] = [0, barLimitsMs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ms < (barLimitsMs[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The median, the 95th percentile and the maximum, in ms. The percentiles are approximate, as they come from buckets. */
export function typicalMs(times: ResponseTimes): readonly [p50: number, p95: number, max: number] {
  const max = Math.max(1, Math.round(times.maxMs));
  // Limited to the maximum, which is exact, because a rounded percentile could be higher.
  const percentile = (share: number) => Math.min(max, roundedMs(times.percentileMs(share)));
  return [percentile(0.5), percentile(0.95), max];
}

/** Rounds to two significant digits, and to whole ms. */
function roundedMs(ms: number): number {
  return Math.max(1, Math.round(Number(ms.toPrecision(2))));
}
