import { createHash, randomBytes } from 'node:crypto';

/** Time in ms after which a session ends if it is not used. `maxMs` is the time after which every session ends. */
const idleMs = 12 * 3_600_000;
const maxMs = 7 * 24 * 3_600_000;

const maxSessions = 1000;

/** The two values with which a request proves that it belongs to a session of the web page. */
interface SessionProofs {
  readonly cookie: string;
  /** The token that the web page sends in a header of each request. */
  readonly pageToken: string;
}

/** Only hashes of the secret values are kept, and only in memory, so a restart ends all sessions. All times are monotonic. */
export class Sessions {
  readonly #now: () => number;
  /** Keyed by the hash of the session cookie. */
  readonly #sessions = new Map<string, { readonly pageToken: string; readonly endsMs: number; idleUntilMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  open(): SessionProofs {
    const [cookie, pageToken] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64url')) as [string, string];
    const now = this.#now();
    this.#sessions.set(hashOf(cookie), { pageToken: hashOf(pageToken), endsMs: now + maxMs, idleUntilMs: now + idleMs });
    forgetOldest(this.#sessions);
    return { cookie, pageToken };
  }

  /** The session then stays open for another 12 hours. */
  use({ cookie, pageToken }: SessionProofs): boolean {
    const session = this.#sessions.get(hashOf(cookie));
    const now = this.#now();
    if (!session || session.pageToken !== hashOf(pageToken)) return false;
    if (now >= session.endsMs || now >= session.idleUntilMs) {
      this.#sessions.delete(hashOf(cookie));
      return false;
    }
    session.idleUntilMs = now + idleMs;
    return true;
  }

  close(cookie: string): void {
    this.#sessions.delete(hashOf(cookie));
  }
}

/** The time that a lookup by hash takes tells an attacker nothing about the value. */
function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > maxSessions && oldest !== undefined) map.delete(oldest);
}
