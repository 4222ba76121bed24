import { createHash, randomBytes } from 'node:crypto';

/** A session ends after this time without use, and after this time in all. */
const idleMs = 12 * 3_600_000;
const maxMs = 7 * 24 * 3_600_000;

/** Maximum of sessions at once. */
const maxSessions = 1000;

interface Session {
  readonly pageToken: string;
  readonly endsMs: number;
  idleUntilMs: number;
}

/** The proofs of a session, of which each request needs both. */
export interface SessionProofs {
  /** The value of the cookie. */
  readonly cookie: string;
  /** The token that the page sends with each request. */
  readonly pageToken: string;
}

/** The sessions of the page, in memory as hashes: a restart ends all sessions. Their times are those of the monotonic clock. */
export class Sessions {
  readonly #now: () => number;
  /** By the hash of the cookie. */
  readonly #sessions = new Map<string, Session>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Opens a session. */
  open(): SessionProofs {
    const [cookie, pageToken] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64url')) as [string, string];
    const now = this.#now();
    this.#sessions.set(hashOf(cookie), { pageToken: hashOf(pageToken), endsMs: now + maxMs, idleUntilMs: now + idleMs });
    forgetOldest(this.#sessions);
    return { cookie, pageToken };
  }

  /** True for an open session, which then stays open for another 12 hours. */
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

/** The hash under which a value is stored. The time of a look-up by hash reveals nothing about the value. */
function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > maxSessions && oldest !== undefined) map.delete(oldest);
}
