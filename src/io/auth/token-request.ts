import { excerpt } from '../../core/answer/response.ts';
import type { TokenSettings } from '../../core/auth/token-options.ts';
import { detailsOf } from '../../core/error-code.ts';
import { Failure } from '../../core/failure.ts';
import type { Fetch } from '../http/fetch.ts';

/** A request for an access token. */
export interface TokenQuestion extends TokenSettings {
  readonly url: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** The type of the grant, and its own parameters. */
  readonly grant: Readonly<Record<string, string>>;
}

/** An access token. */
export interface Token {
  readonly text: string;
  readonly lifetimeMs: number;
  /** Undefined if the answer has none. */
  readonly refreshToken?: string | undefined;
}

/** The ports that a request for a token uses. */
export interface RequestTools {
  readonly fetch: Fetch;
  /** Registers a token as a secret. It replaces the earlier token in its slot. */
  secret(token: string, slot?: string): void;
}

/** A token that expires at once is used for the request that needed it. */
const minLifetimeMs = 1000;

/** Without expires_in (RFC 6749, 5.1: recommended). A 401 requests a new token anyway. */
const defaultLifetimeMs = 3_600_000;

/** Requests an access token. Throws a Failure if the token server refuses, with its error among the details. */
export async function requestToken(question: TokenQuestion, tools: RequestTools): Promise<Token> {
  const { url, grant, params = {}, clientId, clientSecret, clientAuth } = question;
  const headers: Record<string, string> = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ ...params, ...grant });
  if (clientSecret === undefined) body.set('client_id', clientId);
  else if (clientAuth === 'body') {
    body.set('client_id', clientId);
    body.set('client_secret', clientSecret);
    tools.secret(encodeURIComponent(clientSecret));
  } else {
    // RFC 6749, 2.3.1: id and secret are form-encoded before they are joined. A space becomes %20, which is read like `+` everywhere.
    const pair = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
    tools.secret(pair);
    headers.authorization = `Basic ${pair}`;
  }
  try {
    // Loaded with the first token: ky loads Node's own fetch, which most runs do not need.
    const { readJson, statusFailure, sendSingle } = await import('../http/single-request.ts');
    const response = await sendSingle(tools.fetch, url, { method: 'post', headers, body, throwHttpErrors: false });
    if (!response.ok) {
      const bytes = new Uint8Array(await response.arrayBuffer().catch(() => new ArrayBuffer(0)));
      throw withoutToken(statusFailure(response, bytes), url, refusalText(bytes));
    }
    return toToken(await readJson(response, url), response.status);
  } catch (error) {
    throw error instanceof Failure && error.code !== 'no-access-token' ? withoutToken(error, url) : error;
  }
}

/** The error of RFC 6749, 5.2, with which a token server has refused; undefined for any other reason. */
export function refusalIn(error: unknown): string | undefined {
  return detailsOf(error, 'no-access-token')?.error;
}

function refusalText(body: Uint8Array): string | undefined {
  try {
    const { error } = Object(JSON.parse(new TextDecoder().decode(body))) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Without a token the request itself was never sent. A failure of the network names its origin itself. */
function withoutToken(failure: Failure, url: string, error?: string): Failure {
  const { kind, message, status, retryable, retryAfterMs } = failure;
  const { origin } = new URL(url);
  const tls = detailsOf(failure, 'tls');
  const details = { server: origin, ...(error !== undefined && { error }) };
  const facts = tls ? ({ code: 'tls', details: tls } as const) : ({ code: 'no-access-token', details } as const);
  const from = kind === 'network' ? '' : ` from ${origin}`;
  return new Failure(kind, `no access token${from}: ${message}`, { status, retryable, retryAfterMs, sent: false, ...facts });
}

function toToken(answer: unknown, status: number): Token {
  const { access_token: text, expires_in: seconds, refresh_token: refreshToken } = Object(answer) as Record<string, unknown>;
  if (typeof text !== 'string' || text === '') {
    throw new Failure('parse', `expected JSON with access_token, found ${membersIn(answer)}`, { status });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
  if (/[\x00-\x20\x7f]/.test(text))
    throw new Failure('parse', 'expected an access_token without blanks and control characters', { status });
  const lifetimeMs = seconds === undefined || seconds === null ? Number.NaN : Number(seconds) * 1000;
  return {
    text,
    lifetimeMs: Number.isNaN(lifetimeMs) ? defaultLifetimeMs : Math.max(minLifetimeMs, lifetimeMs),
    ...(typeof refreshToken === 'string' && refreshToken !== '' && { refreshToken }),
  };
}

/** The names in an answer, and the errors of RFC 6749, 5.2. Never another value: it may be the token under another name. */
function membersIn(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return `a ${typeof answer}`;
  const names = excerpt(Object.keys(answer).join(', ') || 'nothing', 100);
  const { error, error_description: description } = answer as Record<string, unknown>;
  const errors = [error, description].filter((text) => typeof text === 'string');
  return errors.length === 0 ? names : `${names} (${excerpt(errors.join(': '), 200)})`;
}
