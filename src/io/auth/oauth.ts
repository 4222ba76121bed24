import type { Auth } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import { type RequestTools, requestToken, type Token } from './token-request.ts';

/** Authentication with the client credentials grant. */
export type OAuth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/** The ports that tokens use. */
export interface TokenTools extends RequestTools {
  /** The monotonic clock, in ms. */
  now(): number;
  /** Reports that a client secret was accepted. */
  used(credential: string): void;
}

/** A way to get access tokens. */
export interface TokenSource {
  /** All requests with the same key share a token. */
  readonly key: string;
  /** The credential that is used for it. */
  readonly credential: string;
  /** Gets a token. `refused`: a token that a server has refused although it looks valid; undefined for none. Throws a Failure. */
  request(refused: string | undefined): Promise<Token>;
}

interface TokenEntry {
  readonly token: Promise<string>;
  /** The token itself, once it has come. */
  text?: string;
  expiresMs: number;
  /** The time from which on a 401 counts as a refusal of the token. */
  trustedUntilMs: number;
}

/** A token is not used in the last 30 s of its life, or in the last tenth of a short life. */
const marginMs = 30_000;

/** A refusal by the token server, or a 401 for a new token, counts for a minute: other records would be refused, too. */
const refusalMs = 60_000;

/** The time for which a token is used, from the time for which it lives. */
export function usableMs(lifetimeMs: number): number {
  return lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
}

/** Access tokens. Each is used until shortly before it expires, and requested once, however many records wait for it. */
export class Tokens {
  readonly #tools: TokenTools;
  readonly #entries = new Map<string, TokenEntry>();
  /** The last token of each key that a server has refused. */
  readonly #refused = new Map<string, string>();
  readonly #requests = new Set<Promise<unknown>>();

  constructor(tools: TokenTools) {
    this.#tools = tools;
  }

  /** Sends with a token of the client credentials grant (RFC 6749, 4.4), as `sendWith` does. */
  send<Answer extends { readonly status: number }>(
    auth: OAuth,
    clientSecret: string,
    send: (token: string, refused?: Answer) => Promise<Answer>,
    fetch = this.#tools.fetch,
  ): Promise<Answer> {
    return this.sendWith(clientTokens(auth, clientSecret, { ...this.#tools, fetch }), send);
  }

  /**
   * Sends with a token. After a 401 it sends once more, with a new token: the first token may have been revoked.
   * `refused`: the answer to the first request. Throws a Failure if the token server refuses.
   */
  async sendWith<Answer extends { readonly status: number }>(
    source: TokenSource,
    send: (token: string, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const { key } = source;
    const token = await this.#tokenFor(source);
    const first = await send(token);
    if (first.status !== 401 || this.#isTrusted(key, token)) return first;
    const second = await send(await this.#tokenFor(source), first);
    const entry = this.#entries.get(key);
    if (second.status === 401 && entry) entry.trustedUntilMs = this.#tools.now() + refusalMs;
    return second;
  }

  /** Waits for the requests under way: a token that only its server knows would be lost. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#requests);
  }

  async #tokenFor(source: TokenSource): Promise<string> {
    const known = this.#entries.get(source.key);
    const entry = known && known.expiresMs > this.#tools.now() ? known : this.#request(source);
    try {
      return await entry.token;
    } catch (error) {
      // Each record gets a failure of its own, with its node and attempts.
      throw error instanceof Failure ? error.withMessage(error.message) : error;
    }
  }

  /** True if no other token would help. A refused token is forgotten, unless a newer token has replaced it. */
  #isTrusted(key: string, token: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry || entry.text !== token) return false;
    if (entry.trustedUntilMs > this.#tools.now()) return true;
    this.#entries.delete(key);
    this.#refused.set(key, token);
    return false;
  }

  #request(source: TokenSource): TokenEntry {
    const { key, credential } = source;
    const token = source.request(this.#refused.get(key));
    const entry: TokenEntry = {
      token: token.then(({ text }) => text),
      expiresMs: Number.POSITIVE_INFINITY,
      trustedUntilMs: 0,
    };
    this.#entries.set(key, entry);
    const settled = token.then(
      ({ text, lifetimeMs }) => {
        this.#tools.secret(text, key);
        this.#tools.used(credential);
        entry.text = text;
        entry.expiresMs = this.#tools.now() + usableMs(lifetimeMs);
      },
      (error) => {
        entry.expiresMs = error instanceof Failure && !error.retryable ? this.#tools.now() + refusalMs : 0;
      },
    );
    this.#requests.add(settled);
    void settled.then(() => this.#requests.delete(settled));
    return entry;
  }
}

/** Tokens by the client credentials grant. */
function clientTokens(auth: OAuth, clientSecret: string, tools: RequestTools): TokenSource {
  const { tokenUrl: url, clientId, credential, scopes, params, clientAuth } = auth;
  const grant = { grant_type: 'client_credentials', ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
  return {
    key: JSON.stringify([url, clientId, credential, scopes, params, clientAuth]),
    credential,
    request: () => requestToken({ url, clientId, clientSecret, grant, params, clientAuth }, tools),
  };
}
