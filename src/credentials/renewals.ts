import { Failure } from '../core/failure.ts';

/** A new secret, such as an access token, and for how many ms it may be used. */
export interface Renewed {
  readonly text: string;
  readonly lifetimeMs: number;
}

/** A source of secrets that expire and can be requested again, such as access tokens. */
export interface RenewalSource {
  /** All requests whose sources have the same key share one secret. */
  readonly key: string;
  /** For this many ms after a secret was obtained, a 401 does not cause a renewal. If undefined, every 401 causes one. */
  readonly youngMs?: number;
  /** `refused` is the last secret that a server rejected before it expired. Throws a Failure if no secret can be obtained. */
  request(refused: string | undefined): Promise<Renewed>;
  /** Called as soon as a secret has been obtained. */
  came?(text: string): void;
}

interface Renewal {
  readonly secret: Promise<string>;
  text?: string;
  expiresMs: number;
  /** Until this time of the monotonic clock, a 401 does not cause a renewal. */
  trustedUntilMs: number;
}

/** Wait before the next request, if the last one failed for a reason that a retry cannot change, or if the new secret got a 401. */
const refusalMs = 60_000;

/** Renews secrets when they expire. Records that need the same new secret at the same time share one request for it. */
export class Renewals {
  readonly #now: () => number;
  readonly #entries = new Map<string, Renewal>();
  /** The last rejected secret of each source, by the source's key. */
  readonly #refused = new Map<string, string>();
  readonly #requests = new Set<Promise<unknown>>();

  /** `now` returns the time of the monotonic clock in ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * A 401 can mean that the secrets were revoked, so they are renewed and `send` is called once more, with that response as `refused`.
   * Throws a Failure if a secret cannot be obtained.
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

  /** Requests the secrets one after another, because two sources could prompt the user at the same time. */
  async current(sources: readonly RenewalSource[]): Promise<readonly string[]> {
    const secrets: string[] = [];
    for (const source of sources) secrets.push(await this.#secretOf(source));
    return secrets;
  }

  /** Waits for open requests. Aborting one could lose a secret that the server has already issued. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#requests);
  }

  async #secretOf(source: RenewalSource): Promise<string> {
    const known = this.#entries.get(source.key);
    const entry = known && known.expiresMs > this.#now() ? known : this.#request(source);
    try {
      return await entry.secret;
    } catch (error) {
      // Copies the failure for each waiting record, because each record adds its node and its number of attempts to the failure.
      throw error instanceof Failure ? error.withMessage(error.message) : error;
    }
  }

  /** True if the secret is too new for a renewal to help after a 401. Otherwise discards it, unless it has already been renewed. */
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

  #request(source: RenewalSource): Renewal {
    const { key, youngMs = 0 } = source;
    const request = source.request(this.#refused.get(key));
    const entry: Renewal = { secret: request.then(({ text }) => text), expiresMs: Number.POSITIVE_INFINITY, trustedUntilMs: 0 };
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
