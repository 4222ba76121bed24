import { join } from 'node:path';
import { LimitReached } from '../core/failure.ts';
import type { DayLimit, Http } from '../core/ports.ts';
import { formatCount } from '../core/text/number.ts';
import { isMapping } from '../core/value/value.ts';
import { createStateFile } from './files/state-file.ts';

/** The requests that this machine has sent to public servers on a day. */
interface DayCounts {
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

/**
 * Counts the requests to public servers, of all runs of this machine. Throws LimitReached for a request above the daily limit.
 * Requests to public servers get their own User-Agent.
 */
export function withDailyLimits(http: Http, { home, userAgent, wallNow }: PublicUserAgent & { home: string; wallNow(): number }): Http {
  return {
    abort: http.abort,
    async send(request) {
      if (!request.perDay) return http.send(request);
      await countRequest(request.perDay, home, wallNow());
      const response = await http.send({ ...request, headers: { ...request.headers, 'User-Agent': userAgent } });
      const { status, retryAfterMs } = response;
      return status === 429 && retryAfterMs !== undefined ? { ...response, retryAfterMs: Math.max(retryAfterMs, minPauseMs) } : response;
    },
  };
}

async function countRequest({ server, max }: DayLimit, home: string, wallMs: number): Promise<void> {
  const file = createStateFile<DayCounts>(join(home, 'public-servers.json'), isDayCounts);
  await file.alone(async () => {
    const day = new Date(wallMs).toISOString().slice(0, 10);
    const found = file.read();
    const counts = found?.day === day ? found.counts : {};
    const sent = counts[server] ?? 0;
    if (sent >= max) {
      const limit = `the public ${server} server takes ${formatCount(max)} requests a day`;
      throw new LimitReached(`${limit}, and they are used up until midnight UTC; a connection to your own server has no such limit`);
    }
    await file.write({ day, counts: { ...counts, [server]: sent + 1 } });
  });
}

function isDayCounts(found: unknown): found is DayCounts {
  return isMapping(found) && typeof found.day === 'string' && isMapping(found.counts);
}
