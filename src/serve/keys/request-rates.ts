import { type ApiKey, defaultRate, type Rate, rateOf } from '../../io/server/api-key.ts';

/** The state of a key's rate, as the RateLimit headers have it. */
export interface RateState {
  /** Requests per window. */
  readonly quota: number;
  readonly windowS: number;
  /** Requests that may be sent now. */
  readonly remaining: number;
  /** Seconds until the next request may be sent if none remains; else the length of the window. */
  readonly resetS: number;
}

/** The result of a request: whether the rate allows it, and the state after it. */
export interface RateTurn extends RateState {
  /** False if the request came too early. */
  readonly isAllowed: boolean;
}

interface Bucket {
  /** Requests that may be sent now, with a fraction of the next one. */
  tokens: number;
  atMs: number;
  /** The key's rate as it was written: a changed rate gets a new bucket. */
  readonly written: string;
  readonly rate: Rate;
}

/** Number of buckets from which full buckets are forgotten. A new bucket is full, so nothing is lost. */
const manyBuckets = 1000;

/** A token bucket for each key. */
export class RequestRates {
  readonly #buckets = new Map<string, Bucket>();

  constructor(readonly clock: Pick<KeyClock, 'now'>) {}

  /** Takes a token for a request, if there is one. */
  take(key: Pick<ApiKey, 'id' | 'rate'>): RateTurn {
    const bucket = this.#bucketOf(key);
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens--;
    return { isAllowed, ...stateOf(bucket) };
  }

  /** The state of a key's rate; takes no token. */
  look(key: Pick<ApiKey, 'id' | 'rate'>): RateState {
    return stateOf(this.#bucketOf(key));
  }

  #bucketOf({ id, rate }: Pick<ApiKey, 'id' | 'rate'>): Bucket {
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

/** Adds the tokens of the time since the last look. */
function filled(bucket: Bucket, now: number): Bucket {
  const { requests, windowMs } = bucket.rate;
  bucket.tokens = Math.min(requests, bucket.tokens + ((now - bucket.atMs) * requests) / windowMs);
  bucket.atMs = now;
  return bucket;
}

function stateOf({ tokens, rate: { requests, windowMs } }: Bucket): RateState {
  const remaining = Math.floor(tokens);
  const windowS = windowMs / 1000;
  const waitS = Math.max(1, Math.ceil(((1 - tokens) * windowS) / requests));
  return { quota: requests, windowS, remaining, resetS: remaining > 0 ? windowS : waitS };
}

/** The RateLimit headers of an answer to a key. */
export function rateHeaders({ quota, windowS, remaining, resetS }: RateState): Record<string, string> {
  return { 'ratelimit-policy': `"key";q=${quota};w=${windowS}`, ratelimit: `"key";r=${remaining};t=${resetS}` };
}

/** The clocks of the server. */
export interface KeyClock {
  /** Ms of a monotonic clock. */
  now(): number;
  /** Ms of the wall clock. */
  wallNow(): number;
}
