import { durationText } from '../../../core/duration.ts';

/** Buckets for each doubling of the time: a percentile is at most 9 % too high. */
const bucketsPerDoubling = 8;

/** Times below this share a bucket. */
const minMs = 0.125;

/** Response times in buckets: memory does not grow with the run. */
export class ResponseTimes {
  readonly #buckets: number[] = [];
  #count = 0;
  #maxMs = 0;

  add(ms: number): void {
    const bucket = Math.max(0, Math.floor(Math.log2(ms / minMs) * bucketsPerDoubling));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#maxMs;
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

/** The line of the summary; empty without a response. */
export function responseTimeLines(times: ResponseTimes): string[] {
  if (times.count === 0) return [];
  const [p50, p95, max] = [times.percentileMs(0.5), times.percentileMs(0.95), times.maxMs].map((ms) => durationText(rounded(ms)));
  return [`  response times: p50 ${p50}, p95 ${p95}, max ${max}`];
}

/** The same for programs, in ms; absent without a response. */
export function responseTimesJson(times: ResponseTimes): object {
  if (times.count === 0) return {};
  const [p50, p95, max] = [times.percentileMs(0.5), times.percentileMs(0.95), times.maxMs].map(rounded);
  return { response_ms: { p50, p95, max } };
}

/** Two significant digits, and no fractions of a ms. */
function rounded(ms: number): number {
  return Math.max(1, Math.round(Number(ms.toPrecision(2))));
}
