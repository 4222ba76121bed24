import { excerpt } from '../../core/answer/response.ts';
import type { Auth } from '../../core/auth/auth.ts';
import { detailsOf } from '../../core/error-code.ts';
import { Failure } from '../../core/failure.ts';
import type { Fetch } from '../http/fetch.ts';

/** Authentication with the client credentials grant. */
export type OAuth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/** The ports that tokens use. */
export interface TokenTools {
  /** The monotonic clock, in ms. */
  now(): number;
  readonly fetch: Fetch;
  /** Registers a token as a secret. It replaces the earlier token in its slot. */
  secret(token: string, slot?: string): void;
  /** Reports that a client secret was accepted. */
  used(credential: string): void;
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

/** A token that expires at once is used for the request that needed it. */
const minLifetimeMs = 1000;

/** Without expires_in (RFC 6749, 5.1: recommended). A 401 requests a new token anyway. */
const defaultLifetimeMs = 3_600_000;

/**
 * Gets access tokens by the OAuth 2.0 client credentials grant (RFC 6749, 4.4). Each token is used until shortly before it expires,
 * and requested once, however many records wait for it.
 */
export class Tokens {
  readonly #tools: TokenTools;
  readonly #entries = new Map<string, TokenEntry>();

  constructor(tools: TokenTools) {
    this.#tools = tools;
  }

  /**
   * Sends with a token. After a 401 it sends once more, with a new token: the first token may have been revoked.
   * `refused`: the answer to the first request. Throws a Failure if the token server refuses.
   */
  async send<Answer extends { readonly status: number }>(
    auth: OAuth,
    clientSecret: string,
    send: (token: string, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const key = JSON.stringify([auth.tokenUrl, auth.clientId, auth.credential, auth.scopes]);
    const token = await this.#tokenFor(key, auth, clientSecret);
    const first = await send(token);
    if (first.status !== 401 || this.#isTrusted(key, token)) return first;
    const second = await send(await this.#tokenFor(key, auth, clientSecret), first);
    const entry = this.#entries.get(key);
    if (second.status === 401 && entry) entry.trustedUntilMs = this.#tools.now() + refusalMs;
    return second;
  }

  async #tokenFor(key: string, auth: OAuth, clientSecret: string): Promise<string> {
    const known = this.#entries.get(key);
    const entry = known && known.expiresMs > this.#tools.now() ? known : this.#request(key, auth, clientSecret);
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
    return false;
  }

  #request(key: string, auth: OAuth, clientSecret: string): TokenEntry {
    const token = requestToken(auth, clientSecret, this.#tools);
    const entry: TokenEntry = {
      token: token.then(({ text }) => text),
      expiresMs: Number.POSITIVE_INFINITY,
      trustedUntilMs: 0,
    };
    this.#entries.set(key, entry);
    token.then(
      ({ text, lifetimeMs }) => {
        this.#tools.secret(text, key);
        this.#tools.used(auth.credential);
        entry.text = text;
        entry.expiresMs = this.#tools.now() + lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
      },
      (error) => {
        entry.expiresMs = error instanceof Failure && !error.retryable ? this.#tools.now() + refusalMs : 0;
      },
    );
    return entry;
  }
}

interface Token {
  readonly text: string;
  readonly lifetimeMs: number;
}

async function requestToken(auth: OAuth, clientSecret: string, tools: TokenTools): Promise<Token> {
  // RFC 6749, 2.3.1: id and secret are form-encoded before they are joined. A space becomes %20, which is read like `+` everywhere.
  const pair = Buffer.from(`${encodeURIComponent(auth.clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  tools.secret(pair);
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  if (auth.scopes.length > 0) body.set('scope', auth.scopes.join(' '));
  const headers = { authorization: `Basic ${pair}`, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
  try {
    // Loaded with the first token: ky loads Node's own fetch, which most runs do not need.
    const { readJson, sendSingle } = await import('../http/single-request.ts');
    const response = await sendSingle(tools.fetch, auth.tokenUrl, { method: 'post', headers, body });
    return toToken(await readJson(response, auth.tokenUrl), response.status);
  } catch (error) {
    throw error instanceof Failure ? withoutToken(error, auth) : error;
  }
}

/** Without a token the request itself was never sent. A failure of the network names its origin itself. */
function withoutToken(failure: Failure, auth: OAuth): Failure {
  const { kind, message, status, retryable, retryAfterMs } = failure;
  const { origin } = new URL(auth.tokenUrl);
  const tls = detailsOf(failure, 'tls');
  const facts = tls ? ({ code: 'tls', details: tls } as const) : ({ code: 'no-access-token', details: { server: origin } } as const);
  const from = kind === 'network' ? '' : ` from ${origin}`;
  return new Failure(kind, `no access token${from}: ${message}`, { status, retryable, retryAfterMs, sent: false, ...facts });
}

function toToken(answer: unknown, status: number): Token {
  const { access_token: text, expires_in: seconds } = Object(answer) as Record<string, unknown>;
  if (typeof text !== 'string' || text === '') {
    throw new Failure('parse', `expected JSON with access_token, found ${membersIn(answer)}`, { status });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
  if (/[\x00-\x20\x7f]/.test(text))
    throw new Failure('parse', 'expected an access_token without blanks and control characters', { status });
  const lifetimeMs = seconds === undefined || seconds === null ? Number.NaN : Number(seconds) * 1000;
  return { text, lifetimeMs: Number.isNaN(lifetimeMs) ? defaultLifetimeMs : Math.max(minLifetimeMs, lifetimeMs) };
}

/** The names in an answer, and the errors of RFC 6749, 5.2. Never another value: it may be the token under another name. */
function membersIn(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return `a ${typeof answer}`;
  const names = excerpt(Object.keys(answer).join(', ') || 'nothing', 100);
  const { error, error_description: description } = answer as Record<string, unknown>;
  const errors = [error, description].filter((text) => typeof text === 'string');
  return errors.length === 0 ? names : `${names} (${excerpt(errors.join(': '), 200)})`;
}
