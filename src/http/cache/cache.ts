import { hash } from 'node:crypto';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { Cache, HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import type { Redactor } from '../../credentials/redact.ts';
import { headerReader } from '../header.ts';
import { BufferedAnswers, type BufferedAnswersOptions } from './buffered-answers.ts';
import type { CachedAnswer, NewAnswer } from './cached-answer.ts';

interface CacheOptions extends BufferedAnswersOptions {
  readonly redactor: Redactor;
}

/** `close` writes the responses that are still buffered. */
export type FileCache = Cache & {
  close(): void;
};

/** Creates the cache. If a response cannot be cached, the run still uses it, because its request has already been paid for. */
export function createCache(options: CacheOptions): FileCache {
  const { wallNow } = options;
  const answers = new BufferedAnswers(options);
  const recent = new RecentAnswers((name) => answers.find(name));
  const inFlight = new Map<string, Promise<HttpResponse>>();
  return {
    async through(key, maxAgeMs, produce, hit) {
      const name = hash('sha256', key, 'hex');
      for (let other = inFlight.get(name); other; other = inFlight.get(name)) {
        const answer = await other.catch(undefinedIfUnfinished);
        if (!answer) continue;
        hit('in-flight');
        return answer;
      }
      // If the time of caching is in the future, the clock was wrong when the response was cached. Without the absolute value, the response
      // would count as fresh for too long.
      const isFresh = ({ cachedAtMs }: CachedAnswer) => Math.abs(wallNow() - cachedAtMs) < maxAgeMs;
      const cached = recent.find(name, isFresh);
      if (cached && isFresh(cached)) {
        hit('cached');
        return responseOf(cached);
      }
      const answer = request(name, maxAgeMs, produce);
      inFlight.set(name, answer);
      try {
        return await answer;
      } finally {
        inFlight.delete(name);
      }
    },
    close: () => answers.close(),
  };

  async function request(name: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse> {
    const response = await produce();
    recent.forget(name);
    answers.add(name, newAnswer(response, maxAgeMs, options));
    return response;
  }
}

/**
 * Throws a copy of the failure, because each record adds its own node and attempts. If the request's own record was interrupted before the
 * request ended, returns undefined, and a waiting record sends its own request.
 */
function undefinedIfUnfinished(error: unknown): undefined {
  if (error instanceof Unfinished) return;
  throw error instanceof Failure ? error.withMessage(error.message) : error;
}

/** Masks all secrets, because a server may echo the credential. As Latin-1, each byte is one character, so binary bodies stay intact. */
function newAnswer({ status, headers, body, redirectedTo, arrival }: HttpResponse, maxAgeMs: number, options: CacheOptions): NewAnswer {
  const { redactor, wallNow } = options;
  const cachedAtMs = wallNow();
  const text = Buffer.from(body).toString('latin1');
  return {
    cachedAtMs,
    expiresAtMs: cachedAtMs + maxAgeMs,
    status,
    arrival,
    headers: redactor.value({ ...headers } as Value) as HttpResponse['headers'],
    body: redactor.isIn(text) ? Buffer.from(redactor.text(text), 'latin1') : body,
    ...(redirectedTo && { redirectedTo: { ...redirectedTo, path: redactor.text(redirectedTo.path) } }),
  };
}

function responseOf({ cachedAtMs, status, headers, body, redirectedTo, arrival = { atMs: cachedAtMs } }: CachedAnswer): HttpResponse {
  const response = { status, headers, arrival, header: headerReader(headers), body, endedByClose: false, retryAfterMs: undefined };
  return redirectedTo ? { ...response, redirectedTo } : response;
}

/** Limits for the responses in memory. If one of them is exceeded, the least recently used responses are removed. */
const max = { answers: 64, bytes: 16 << 20 };

/** Successive records often send the same request. Measured: memory finds 1.1 million responses per second, the file 0.19 million. */
class RecentAnswers {
  readonly #find: (key: string) => CachedAnswer | undefined;
  /** The responses, keyed by the hash of their request and ordered by their last use. */
  readonly #answers = new Map<string, CachedAnswer>();
  #bytes = 0;

  constructor(find: (key: string) => CachedAnswer | undefined) {
    this.#find = find;
  }

  /** If the response is missing or no longer fresh, reads it from the file, where another run may have stored a newer one. */
  find(key: string, isFresh: (answer: CachedAnswer) => boolean): CachedAnswer | undefined {
    const known = this.#answers.get(key);
    const answer = known && isFresh(known) ? known : this.#find(key);
    this.forget(key);
    if (answer) this.#remember(key, answer);
    return answer;
  }

  forget(key: string): void {
    this.#bytes -= this.#answers.get(key)?.body.length ?? 0;
    this.#answers.delete(key);
  }

  #remember(key: string, answer: CachedAnswer): void {
    this.#answers.set(key, answer);
    this.#bytes += answer.body.length;
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= max.answers && this.#bytes <= max.bytes) return;
      this.forget(oldest);
    }
  }
}
