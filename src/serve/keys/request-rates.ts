import { type ApiKey, defaultRate, type Rate, rateOf } from '../store/api-key.ts';

/** The state of an API key's rate limit, as the RateLimit headers express it. */
interface RateState {
  /** Number of requests that are allowed in a window of time. */
  readonly quota: number;
  readonly windowS: number;
  readonly remaining: number;
  /** Seconds until the next request may be sent if no request is left. Otherwise the length of the window. */
  readonly resetS: number;
}

interface TokenBucket {
  /** Number of requests that may be sent now. It grows continuously, so it can be a fraction. */
  tokens: number;
  atMs: number;
  /** The rate as written. If it changes, a new bucket is used. */
  readonly written: string;
  readonly rate: Rate;
}

/** If there are more buckets than this, full buckets are deleted. This changes nothing, because a new bucket starts full. */
const manyBuckets = 1000;

/** Uses a token bucket for each API key. */
export class RequestRates {
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(readonly clock: Pick<KeyClock, 'now'>) {}

  take(key: Pick<ApiKey, 'id' | 'rate'>): RateState & { readonly isAllowed: boolean } {
    const bucket = this.#bucketOf(key);
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens--;
    return { isAllowed, ...stateOf(bucket) };
  }

  /** Returns the state of an API key's rate limit without taking a token. */
  look(key: Pick<ApiKey, 'id' | 'rate'>): RateState {
    return stateOf(this.#bucketOf(key));
  }

  #bucketOf({ id, rate }: Pick<ApiKey, 'id' | 'rate'>): TokenBucket {
    const now = this.clock.now();
    const found = this.#buckets.get(id);
    if (found?.written === rate) return filled(found, now);
    if (this.#buckets.size >= manyBuckets) this.#forgetFull(now);
    const read = (rateOf(rate) ?? rateOf(defaultRate)) as Rate;
    const bucket = { tokens: read.requests, atMs: now, written: rate, rate: read };
    this.#buckets.set(id, bucket);
    return bucket;
  }

  #forgetFull(now: number): void {
    for (const [id, bucket] of this.#buckets) if (filled(bucket, now).tokens === bucket.rate.requests) this.#buckets.delete(id);
  }
}

function filled(bucket: TokenBucket, now: number): TokenBucket {
  const { requests, windowMs } = bucket.rate;
  bucket.tokens = Math.min(requests, bucket.tokens + ((now - bucket.atMs) * requests) / windowMs);
  bucket.atMs = now;
  return bucket;
}

function stateOf({ tokens, rate: { requests, windowMs } }: TokenBucket): RateState {
  const remaining = Math.floor(tokens);
  const windowS = windowMs / 1000;
  const waitS = Math.max(1, Math.ceil(((1 - tokens) * windowS) / requests));
  return { quota: requests, windowS, remaining, resetS: remaining > 0 ? windowS : waitS };
}

export function rateHeaders({ quota, windowS, remaining, resetS }: RateState): Record<string, string> {
  return { 'ratelimit-policy': `"key";q=${quota};w=${windowS}`, ratelimit: `"key";r=${remaining};t=${resetS}` };
}

export interface KeyClock {
  /** Monotonic time in ms. */
  now(): number;
  /** Time in ms since 1970. */
  wallNow(): number;
}
