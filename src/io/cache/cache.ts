import { hash } from 'node:crypto';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { Cache, HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import { headerReader } from '../http/header.ts';
import type { Redactor } from '../secrets/redact.ts';
import { BufferedAnswers, type BufferedAnswersOptions } from './buffered-answers.ts';
import type { CachedAnswer, NewAnswer } from './cached-answer.ts';
import { RecentAnswers } from './recent-answers.ts';

/** The file of the cache, its limit, and the secrets that it must not hold. */
export interface CacheOptions extends BufferedAnswersOptions {
  readonly redactor: Redactor;
}

/** A cache in a file. `close` writes its last answers. */
export type FileCache = Cache & {
  close(): void;
};

/** Creates the cache. An answer that cannot be cached is still used: it was paid for. */
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
      // The absolute value: an answer from the future was cached while the clock was wrong, and its age is not known.
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
 * A waiting record gets a copy of the failure, with its own node and attempts. If the first record gave up, the waiting records send the
 * request themselves.
 */
function undefinedIfUnfinished(error: unknown): undefined {
  if (error instanceof Unfinished) return;
  throw error instanceof Failure ? error.withMessage(error.message) : error;
}

/** Masks secrets: an answer may echo the credential. Latin-1 turns bytes into characters and back, so other bodies stay as they are. */
function newAnswer({ status, headers, body, redirectedTo }: HttpResponse, maxAgeMs: number, options: CacheOptions): NewAnswer {
  const { redactor, wallNow } = options;
  const cachedAtMs = wallNow();
  const text = Buffer.from(body).toString('latin1');
  return {
    cachedAtMs,
    expiresAtMs: cachedAtMs + maxAgeMs,
    status,
    headers: redactor.value({ ...headers } as Value) as HttpResponse['headers'],
    body: redactor.isIn(text) ? Buffer.from(redactor.text(text), 'latin1') : body,
    ...(redirectedTo && { redirectedTo: { ...redirectedTo, path: redactor.text(redirectedTo.path) } }),
  };
}

function responseOf({ status, headers, body, redirectedTo }: CachedAnswer): HttpResponse {
  const response = { status, headers, header: headerReader(headers), body, endedByClose: false, retryAfterMs: undefined };
  return redirectedTo ? { ...response, redirectedTo } : response;
}
