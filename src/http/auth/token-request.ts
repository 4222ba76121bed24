import { excerpt } from '../../core/answer/response.ts';
import type { TokenSettings } from '../../core/auth/token-options.ts';
import { detailsOf } from '../../core/error-code.ts';
import { Failure } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import type { Fetch } from '../fetch.ts';

interface TokenQuestion extends TokenSettings {
  readonly url: string;
  /** Undefined if the grant says who asks. */
  readonly clientId: string | undefined;
  /** The client secret; undefined for a public client, which has none. */
  readonly clientSecret: string | undefined;
  /** The parameter `grant_type`, and the other parameters that this grant type requires. */
  readonly grant: Readonly<Record<string, string>>;
  /** Explains a refusal. `date` is the time of the server. */
  hint?(date: string | undefined): string | undefined;
}

export interface Token {
  readonly text: string;
  readonly lifetimeMs: number;
  readonly refreshToken?: string;
}

export interface RequestTools {
  readonly fetch: Fetch;
  /** Masks a token in all output from now on. It replaces the token that was masked earlier for the same `slot`. */
  secret(token: string, slot?: string): void;
}

/** Even a token that expires immediately can then be used for the request that needed it. */
const minLifetimeMs = 1000;

/** Used without `expires_in`, which is only recommended (RFC 6749, 5.1). If the token expires earlier, a 401 causes a renewal. */
const defaultLifetimeMs = 3_600_000;

/** In bytes. A token has a few thousand. */
const maxAnswerBytes = 1_000_000;

/** Throws a Failure, with the server's error code if the token server refused the request. */
export async function requestToken(question: TokenQuestion, tools: RequestTools): Promise<Token> {
  const { url, grant, params = {}, clientId, clientSecret, clientAuth } = question;
  const headers: Record<string, string> = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ ...params, ...grant });
  if (clientSecret === undefined || clientId === undefined) {
    if (clientId !== undefined) body.set('client_id', clientId);
  } else if (clientAuth === 'body') {
    body.set('client_id', clientId);
    body.set('client_secret', clientSecret);
    tools.secret(encodeURIComponent(clientSecret));
  } else {
    // RFC 6749, 2.3.1 requires that the client ID and the secret are form-encoded before they are joined. Servers decode both `%20` and `+`
    // as a space.
    const pair = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
    tools.secret(pair);
    headers.authorization = `Basic ${pair}`;
  }
  try {
    // Imported only when a token is requested, because this module loads Node's built-in fetch, which most runs do not need.
    const { bounded, readJson, statusFailure, sendSingle } = await import('../single-request.ts');
    const sent = await sendSingle(tools.fetch, url, { method: 'post', headers, body, throwHttpErrors: false });
    const response = await bounded(sent, url, maxAnswerBytes);
    if (!response.ok) {
      const bytes = new Uint8Array(await response.arrayBuffer());
      const failure = statusFailure(response, bytes);
      const hint = question.hint?.(response.headers.get('date') ?? undefined);
      throw withoutToken(hint === undefined ? failure : failure.withMessage(`${failure.message}; ${hint}`), url, refusalText(bytes));
    }
    return toToken(await readJson(response, url, formAnswer), response.status);
  } catch (error) {
    throw error instanceof Failure && error.code !== 'no-access-token' ? withoutToken(error, url) : error;
  }
}

/** The error code (RFC 6749, 5.2); undefined if `error` is not a token server's refusal. */
export function refusalIn(error: unknown): string | undefined {
  return detailsOf(error, 'no-access-token')?.error;
}

function refusalText(body: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(body);
  const { error } = Object(orUndefined(() => JSON.parse(text)) ?? formAnswer(text)) as { error?: unknown };
  return typeof error === 'string' ? error : undefined;
}

/** Some servers answer in the form of a request, such as GitHub and draft versions of OAuth 2. Undefined for other text. */
function formAnswer(text: string): Record<string, string> | undefined {
  const members = new URLSearchParams(text.trim());
  return members.has('access_token') || members.has('error') ? Object.fromEntries(members) : undefined;
}

/** The failure of an unsent API request. Adds the token server's origin to the message, which a network failure already contains. */
function withoutToken(failure: Failure, url: string, error?: string): Failure {
  const { kind, message, status, retryable, retryAfterMs } = failure;
  const { origin } = new URL(url);
  const tls = detailsOf(failure, 'tls');
  const details = { server: origin, error };
  const facts = tls ? ({ code: 'tls', details: tls } as const) : ({ code: 'no-access-token', details } as const);
  const from = kind === 'network' ? '' : ` from ${origin}`;
  return new Failure(kind, `no access token${from}: ${message}`, { status, retryable, retryAfterMs, sent: false, ...facts });
}

function toToken(answer: unknown, status: number): Token {
  const { access_token: text, expires_in: seconds, refresh_token: refreshToken } = Object(answer) as Record<string, unknown>;
  if (typeof text !== 'string' || text === '') {
    throw new Failure('parse', `expected JSON with access_token, found ${membersIn(answer)}`, { status });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot contain them
  if (/[\x00-\x20\x7f]/.test(text))
    throw new Failure('parse', 'expected an access_token without spaces and control characters', { status });
  const lifetimeMs = seconds === undefined || seconds === null ? Number.NaN : Number(seconds) * 1000;
  return {
    text,
    lifetimeMs: Number.isNaN(lifetimeMs) ? defaultLifetimeMs : Math.max(minLifetimeMs, lifetimeMs),
    ...(typeof refreshToken === 'string' && refreshToken !== '' && { refreshToken }),
  };
}

/** Names the fields and the error (RFC 6749, 5.2). Leaves out other values, because one of them could be the token. */
function membersIn(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return `a ${typeof answer}`;
  const names = excerpt(Object.keys(answer).join(', ') || 'nothing', 100);
  const { error, error_description: description } = answer as Record<string, unknown>;
  const errors = [error, description].filter((text) => typeof text === 'string');
  return errors.length === 0 ? names : `${names} (${excerpt(errors.join(': '), 200)})`;
}
