import { join } from 'node:path';
import { LimitReached } from '../core/failure.ts';
import type { DayLimit, Http } from '../core/ports.ts';
import { formatCount } from '../core/text/number.ts';
import { isMapping } from '../core/value/value.ts';
import { createStateFile } from '../files/state-file.ts';

/** The number of requests that this machine has sent to each public server on one day. */
interface SavedCounts {
  /** UTC, such as 2026-11-24. */
  readonly day: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Minimum wait in ms after a public server has responded with 429 and Retry-After. */
const minPauseMs = 30_000;

/** The settings for requests to public servers. Such a server accepts only a limited number of requests per day. */
export interface DailyLimits {
  /** The User-Agent header. The rules of public servers require that clients identify themselves. */
  readonly userAgent: string;
  /** The folder of automate's own files. It contains the file with this machine's counts. */
  home(): string;
  wallNow(): number;
}

/** Counts requests to public servers across all runs on this machine. Throws LimitReached if a request exceeds a server's daily limit. */
export function withDailyLimits(http: Http, { home, userAgent, wallNow }: DailyLimits): Http {
  const counts = homeCounts(home, wallNow);
  return {
    abort: http.abort,
    async send(request) {
      if (!request.perDay) return http.send(request);
      if (!(await counts.add(request.perDay))) throw limitReached(request.perDay);
      const response = await http.send({ ...request, perDay: undefined, headers: { ...request.headers, 'User-Agent': userAgent } });
      const { status, retryAfterMs } = response;
      return status === 429 && retryAfterMs !== undefined ? { ...response, retryAfterMs: Math.max(retryAfterMs, minPauseMs) } : response;
    },
  };
}

function homeCounts(home: () => string, wallNow: () => number) {
  return {
    /** Counts a request. Resolves to false if the server's daily limit has already been reached. */
    async add({ server, max }: DayLimit): Promise<boolean> {
      const file = createStateFile<SavedCounts>(join(home(), 'public-servers.json'), isDayCounts);
      return file.alone(async () => {
        const day = new Date(wallNow()).toISOString().slice(0, 10);
        const found = file.read();
        const counts = found?.day === day ? found.counts : {};
        const sent = counts[server] ?? 0;
        if (sent >= max) return false;
        await file.write({ day, counts: { ...counts, [server]: sent + 1 } });
        return true;
      });
    },
  };
}

function limitReached({ server, max }: DayLimit): LimitReached {
  const limit = `the public ${server} server accepts ${formatCount(max)} requests a day`;
  const message = `${limit}, which are used up until midnight UTC; a connection to your own server has no such limit`;
  return new LimitReached(message, 'max-credits', undefined, 'finishing');
}

function isDayCounts(found: unknown): found is SavedCounts {
  return isMapping(found) && typeof found.day === 'string' && isMapping(found.counts);
}
