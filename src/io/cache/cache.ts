import { hash } from 'node:crypto';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { Cache, HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import { headerReader } from '../http/header.ts';
import type { Redactor } from '../secrets/redact.ts';
import { createAnswerKeeper, type KeeperOptions } from './answer-keeper.ts';
import type { KeptAnswer, NewAnswer } from './cached-answer.ts';

/** Where answers are kept, and what they must not hold. */
export interface CacheOptions extends KeeperOptions {
  readonly redactor: Redactor;
}

/** A cache whose last answers are on disk only when it was closed. */
export type KeptCache = Cache & {
  close(): void;
};

/** Makes the cache of a file. An answer is used whether or not it can be kept: it was paid for. */
export function createCache(options: CacheOptions): KeptCache {
  const { wallNow } = options;
  const keeper = createAnswerKeeper(options);
  const inFlight = new Map<string, Promise<HttpResponse>>();
  return {
    async through(key, maxAgeMs, produce, hit) {
      const name = hash('sha256', key, 'hex');
      for (let under = inFlight.get(name); under; under = inFlight.get(name)) {
        const answer = await under.catch(unlessGivenUp);
        if (!answer) continue;
        hit('in-flight');
        return answer;
      }
      const found = keeper.find(name);
      if (found && isYoung(found, maxAgeMs)) {
        hit('kept');
        return responseOf(found);
      }
      const answer = produced(name, maxAgeMs, produce);
      inFlight.set(name, answer);
      try {
        return await answer;
      } finally {
        inFlight.delete(name);
      }
    },
    close: keeper.close,
  };

  async function produced(name: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse> {
    const response = await produce();
    keeper.keep(name, toKept(response, maxAgeMs, options));
    return response;
  }

  /** One from the future was kept when the clock was wrong: nobody knows its age. */
  function isYoung({ keptAtMs }: KeptAnswer, maxAgeMs: number): boolean {
    return Math.abs(wallNow() - keptAtMs) < maxAgeMs;
  }
}

/** Each record's failure is its own: it is told of its node and its tries. Whoever gave up asking did so for itself alone. */
function unlessGivenUp(error: unknown): undefined {
  if (error instanceof Unfinished) return;
  throw error instanceof Failure ? error.retold(error.message) : error;
}

/** An answer may echo the credential: the cache is a file like any other. Bytes become characters and back, so other bodies stay as they are. */
function toKept({ status, headers, body, redirectedTo }: HttpResponse, maxAgeMs: number, { redactor, wallNow }: CacheOptions): NewAnswer {
  const keptAtMs = wallNow();
  const text = Buffer.from(body).toString('latin1');
  return {
    keptAtMs,
    endMs: keptAtMs + maxAgeMs,
    status,
    headers: redactor.value({ ...headers } as Value) as HttpResponse['headers'],
    body: redactor.isIn(text) ? Buffer.from(redactor.text(text), 'latin1') : body,
    ...(redirectedTo && { redirectedTo: { ...redirectedTo, path: redactor.text(redirectedTo.path) } }),
  };
}

function responseOf({ status, headers, body, redirectedTo }: KeptAnswer): HttpResponse {
  const response = { status, headers, header: headerReader(headers), body, endedByClose: false, retryAfterMs: undefined };
  return redirectedTo ? { ...response, redirectedTo } : response;
}
