import { join } from 'node:path';
import { LimitReached } from '../core/failure.ts';
import type { DayLimit, Http } from '../core/ports.ts';
import { formatCount } from '../core/text/number.ts';
import { isMapping } from '../core/value/value.ts';
import { createStateFile } from './files/state-file.ts';

/** Counts the requests of a day to public servers. */
export interface DayCounts {
  /** Counts one request. Resolves to false if the limit of the day is reached. */
  add(limit: DayLimit): Promise<boolean>;
}

/** The requests that this machine has sent to public servers on a day. */
interface SavedCounts {
  /** In UTC, such as 2026-11-24. */
  readonly day: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** After a public server refuses a request, it gets no other request for this long. */
const minPauseMs = 30_000;

/** The User-Agent for public servers, which want to know their users. */
export interface PublicUserAgent {
  readonly userAgent: string;
}

/** The limits of public servers: who asks, where requests are counted, and the time. */
export interface DailyLimits extends PublicUserAgent {
  /** The folder that counts the requests of this machine. */
  readonly home: string;
  /** Counts the requests of several machines; undefined for this machine alone. */
  readonly counts?: DayCounts | undefined;
  wallNow(): number;
}

/**
 * Counts the requests to public servers, of all runs of this machine. Throws LimitReached for a request above the daily limit.
 * Requests to public servers get their own User-Agent.
 */
export function withDailyLimits(http: Http, { home, userAgent, wallNow, counts = homeCounts(home, wallNow) }: DailyLimits): Http {
  return {
    abort: http.abort,
    async send(request) {
      if (!request.perDay) return http.send(request);
      if (!(await counts.add(request.perDay))) throw limitReached(request.perDay);
      const response = await http.send({ ...request, headers: { ...request.headers, 'User-Agent': userAgent } });
      const { status, retryAfterMs } = response;
      return status === 429 && retryAfterMs !== undefined ? { ...response, retryAfterMs: Math.max(retryAfterMs, minPauseMs) } : response;
    },
  };
}

function homeCounts(home: string, wallNow: () => number): DayCounts {
  const file = createStateFile<SavedCounts>(join(home, 'public-servers.json'), isDayCounts);
  return {
    add: ({ server, max }) =>
      file.alone(async () => {
        const day = new Date(wallNow()).toISOString().slice(0, 10);
        const found = file.read();
        const counts = found?.day === day ? found.counts : {};
        const sent = counts[server] ?? 0;
        if (sent >= max) return false;
        await file.write({ day, counts: { ...counts, [server]: sent + 1 } });
        return true;
      }),
  };
}

function limitReached({ server, max }: DayLimit): LimitReached {
  const limit = `the public ${server} server takes ${formatCount(max)} requests a day`;
  return new LimitReached(`${limit}, and they are used up until midnight UTC; a connection to your own server has no such limit`);
}

function isDayCounts(found: unknown): found is SavedCounts {
  return isMapping(found) && typeof found.day === 'string' && isMapping(found.counts);
}
