import { Failure } from '../../core/failure.ts';

/** A secret, and the time for which it is used. */
export interface Renewed {
  readonly text: string;
  readonly lifetimeMs: number;
}

/** A way to get secrets that last for a time, such as access tokens. */
export interface RenewalSource {
  /** All requests with the same key share a secret. */
  readonly key: string;
  /** Ms after it has come in which a 401 is no reason to renew it; undefined if the first 401 always is. */
  readonly youngMs?: number;
  /** Gets a secret. `refused`: a secret that a server has refused although it looks valid; undefined for none. Throws a Failure. */
  request(refused: string | undefined): Promise<Renewed>;
  /** Takes each secret as soon as it has come. */
  came?(text: string): void;
}

interface Entry {
  readonly secret: Promise<string>;
  /** The secret itself, once it has come. */
  text?: string;
  expiresMs: number;
  /** The time from which on a 401 counts as a refusal of the secret. */
  trustedUntilMs: number;
}

/** A refusal by the source, or a 401 for a new secret, counts for a minute: other records would be refused, too. */
const refusalMs = 60_000;

/** Secrets that are renewed. Each is used until it expires, and requested once, however many records wait for it. */
export class Renewals {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  /** The last secret of each key that a server has refused. */
  readonly #refused = new Map<string, string>();
  readonly #requests = new Set<Promise<unknown>>();

  /** `now`: the monotonic clock, in ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Sends with the secrets of these sources. After a 401 it sends once more, with new secrets: the first ones may have been revoked.
   * `refused`: the answer to the first request. Throws a Failure if a source refuses.
   */
  async sendWith<Answer extends { readonly status: number }>(
    sources: readonly RenewalSource[],
    send: (secrets: readonly string[], refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const secrets = await this.current(sources);
    const first = await send(secrets);
    if (first.status !== 401) return first;
    const trusted = sources.map(({ key }, index) => this.#isTrusted(key, secrets[index] as string));
    if (trusted.every((isTrusted) => isTrusted)) return first;
    const second = await send(await this.current(sources), first);
    if (second.status === 401) this.#trust(sources);
    return second;
  }

  /** The present secrets of these sources. They are requested one after another: two of them could ask a person. */
  async current(sources: readonly RenewalSource[]): Promise<readonly string[]> {
    const secrets: string[] = [];
    for (const source of sources) secrets.push(await this.#secretOf(source));
    return secrets;
  }

  /** Waits for the requests under way: a secret that only its server knows would be lost. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#requests);
  }

  async #secretOf(source: RenewalSource): Promise<string> {
    const known = this.#entries.get(source.key);
    const entry = known && known.expiresMs > this.#now() ? known : this.#request(source);
    try {
      return await entry.secret;
    } catch (error) {
      // Each record gets a failure of its own, with its node and attempts.
      throw error instanceof Failure ? error.withMessage(error.message) : error;
    }
  }

  /** True if no other secret would help. A refused secret is forgotten, unless a newer one has replaced it. */
  #isTrusted(key: string, secret: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry || entry.text !== secret) return false;
    if (entry.trustedUntilMs > this.#now()) return true;
    this.#entries.delete(key);
    this.#refused.set(key, secret);
    return false;
  }

  #trust(sources: readonly RenewalSource[]): void {
    for (const { key, youngMs } of sources) {
      const entry = this.#entries.get(key);
      if (entry && youngMs === undefined) entry.trustedUntilMs = this.#now() + refusalMs;
    }
  }

  #request(source: RenewalSource): Entry {
    const { key, youngMs = 0 } = source;
    const request = source.request(this.#refused.get(key));
    const entry: Entry = { secret: request.then(({ text }) => text), expiresMs: Number.POSITIVE_INFINITY, trustedUntilMs: 0 };
    this.#entries.set(key, entry);
    const settled = request.then(
      ({ text, lifetimeMs }) => {
        source.came?.(text);
        entry.text = text;
        entry.expiresMs = this.#now() + lifetimeMs;
        entry.trustedUntilMs = this.#now() + youngMs;
      },
      (error) => {
        entry.expiresMs = error instanceof Failure && !error.retryable ? this.#now() + refusalMs : 0;
      },
    );
    this.#requests.add(settled);
    void settled.then(() => this.#requests.delete(settled));
    return entry;
  }
}
