import { answerMessage, excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { Auth, HttpResponse } from '../../core/ports.ts';

/** How to get an access token. */
export type OAuth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/** Gets access tokens. Each is kept until shortly before it expires, and asked for once however many wait for it. */
export interface Tokens {
  /**
   * Sends with a token. One that is answered with 401 may have been taken back before its end: then once more, with another;
   * `refused` is the answer to the first. Throws a Failure of its own for everybody who waits when the token server refuses.
   */
  send<Answer extends { readonly status: number }>(
    auth: OAuth,
    clientSecret: string,
    send: (token: string, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer>;
}

/** What a token server is asked with. */
export interface TokenTools {
  now(): number;
  /** POSTs a form and answers any status. */
  post(url: string, headers: Record<string, string>, form: string): Promise<HttpResponse>;
  /** A token is a secret like any other, and follows another one in its slot. */
  secret(token: string, slot?: string): void;
  /** The client secret was accepted. */
  used(auth: OAuth): void;
}

interface Kept {
  readonly token: Promise<string>;
  /** The token itself, once it is there. */
  text?: string;
  untilMs: number;
  /** Until then a 401 is not the token's fault. */
  trustedUntilMs: number;
}

/** So long before its end a token is not used any more; of a short life a tenth. */
const marginMs = 30_000;

/** For so long a token server's refusal, or an API's refusal of a new token, is taken to be final: no record would fare better. */
const refusalMs = 60_000;

/** A token that ends at once is good for the request that asked for it. */
const shortestLifetimeMs = 1000;

/** Without expires_in (RFC 6749, 5.1: recommended) an hour is usual; a 401 asks anew anyway. */
const usualLifetimeMs = 3_600_000;

/** Makes the tokens of the OAuth 2.0 client credentials grant (RFC 6749, 4.4). */
export function createTokens(tools: TokenTools): Tokens {
  const kept = new Map<string, Kept>();
  return {
    async send(auth, clientSecret, send) {
      const key = keyOf(auth);
      const token = await tokenFor(key, auth, clientSecret);
      const answer = await send(token);
      if (answer.status !== 401 || isTrusted(key, token)) return answer;
      const second = await send(await tokenFor(key, auth, clientSecret), answer);
      const entry = kept.get(key);
      if (second.status === 401 && entry) entry.trustedUntilMs = tools.now() + refusalMs;
      return second;
    },
  };

  async function tokenFor(key: string, auth: OAuth, clientSecret: string): Promise<string> {
    const known = kept.get(key);
    const entry = known && known.untilMs > tools.now() ? known : ask(key, auth, clientSecret);
    try {
      return await entry.token;
    } catch (error) {
      // Each record's failure is its own: it is told of its node and its tries.
      throw error instanceof Failure ? error.retold(error.message) : error;
    }
  }

  /** Whether no other token would help. One that was refused and is still kept is forgotten. */
  function isTrusted(key: string, token: string): boolean {
    const entry = kept.get(key);
    if (!entry || entry.text !== token) return false;
    if (entry.trustedUntilMs > tools.now()) return true;
    kept.delete(key);
    return false;
  }

  function ask(key: string, auth: OAuth, clientSecret: string): Kept {
    const entry: Kept = { token: request(auth, clientSecret), untilMs: Number.POSITIVE_INFINITY, trustedUntilMs: 0 };
    kept.set(key, entry);
    entry.token.then(
      () => undefined,
      (error) => {
        entry.untilMs = error instanceof Failure && !error.retryable ? tools.now() + refusalMs : 0;
      },
    );
    return entry;

    async function request(auth: OAuth, clientSecret: string): Promise<string> {
      try {
        const { token, lifetimeMs } = tokenOf(await asked(auth, clientSecret));
        tools.secret(token, key);
        tools.used(auth);
        entry.text = token;
        entry.untilMs = tools.now() + lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
        return token;
      } catch (error) {
        throw error instanceof Failure ? noToken(error, auth) : error;
      }
    }
  }

  /** RFC 6749, 2.3.1: id and secret are form-encoded before they are joined. Of a space we write %20, which is read like `+` everywhere. */
  function asked(auth: OAuth, clientSecret: string): Promise<HttpResponse> {
    const pair = Buffer.from(`${encodeURIComponent(auth.clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
    tools.secret(pair);
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (auth.scopes.length > 0) form.set('scope', auth.scopes.join(' '));
    return tools.post(auth.tokenUrl, { authorization: `Basic ${pair}` }, String(form));
  }
}

function keyOf(auth: OAuth): string {
  return JSON.stringify([auth.tokenUrl, auth.clientId, auth.credential, auth.scopes]);
}

/** Without a token the request itself was never sent. */
function noToken({ kind, message, status, retryable, retryAfterMs }: Failure, auth: OAuth): Failure {
  const { origin } = new URL(auth.tokenUrl);
  const reason = message.startsWith(`${origin}: `) ? message.slice(origin.length + 2) : message;
  return new Failure(kind, `no access token from ${origin}: ${reason}`, { status, retryable, retryAfterMs, sent: false });
}

function tokenOf(response: HttpResponse): { token: string; lifetimeMs: number } {
  const { status, retryAfterMs } = response;
  const retryable = status === 429 || status >= 500;
  if (status < 200 || status > 299) throw new Failure('http', answerMessage(response), { status, retryable, retryAfterMs });
  const text = new TextDecoder().decode(response.body);
  const answer = jsonOf(text);
  if (typeof answer?.access_token !== 'string' || answer.access_token === '') {
    const found = answer
      ? contentOf(answer)
      : text === ''
        ? 'nothing'
        : `${text.length} characters of ${response.header('content-type') ?? 'no content type'}`;
    throw new Failure('parse', `expected JSON with access_token, found ${found}`, { status });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
  if (/[\x00-\x20\x7f]/.test(answer.access_token))
    throw new Failure('parse', 'expected an access_token without blanks and control characters', { status });
  const seconds = answer.expires_in === undefined || answer.expires_in === null ? Number.NaN : Number(answer.expires_in);
  return { token: answer.access_token, lifetimeMs: Number.isNaN(seconds) ? usualLifetimeMs : Math.max(shortestLifetimeMs, seconds * 1000) };
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Names, and what RFC 6749, 5.2 says of errors; never another value: it may be the token by another name. What is no JSON may be the token as well. */
function contentOf(answer: Record<string, unknown>): string {
  const names = excerpt(Object.keys(answer).join(', ') || 'nothing', 100);
  const errors = [answer.error, answer.error_description].filter((text) => typeof text === 'string');
  return errors.length === 0 ? names : `${names} (${excerpt(errors.join(': '), 200)})`;
}
