import { Failure } from '../../core/failure.ts';
import type { Auth, HttpResponse } from '../../core/ports.ts';
import { answerMessage, excerpt } from '../../core/response.ts';

type OAuth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/** Gets access tokens. Each is kept until shortly before it expires, and asked for once however many wait for it. */
export interface Tokens {
  /** Throws a Failure when the token server refuses. */
  token(auth: OAuth, clientSecret: string): Promise<string>;
  /** The token was refused: the next one is asked for anew. */
  forget(auth: OAuth): void;
}

/** What a token server is asked with. */
export interface TokenTools {
  now(): number;
  /** POSTs a form and answers any status. */
  post(url: string, headers: Record<string, string>, form: string): Promise<HttpResponse>;
  /** A token is a secret like any other. */
  secret(token: string): void;
}

/** So long before its end a token is not used any more. */
const marginMs = 30_000;

/** Makes the tokens of the OAuth 2.0 client credentials grant (RFC 6749, 4.4). */
export function createTokens(tools: TokenTools): Tokens {
  const kept = new Map<string, { token: Promise<string>; untilMs: number }>();
  return {
    token(auth, clientSecret) {
      const known = kept.get(keyOf(auth));
      if (known && known.untilMs > tools.now()) return known.token;
      const entry = { token: request(auth, clientSecret), untilMs: Number.POSITIVE_INFINITY };
      kept.set(keyOf(auth), entry);
      entry.token.catch(() => kept.delete(keyOf(auth)));
      return entry.token;
    },
    forget: (auth) => void kept.delete(keyOf(auth)),
  };

  async function request(auth: OAuth, clientSecret: string): Promise<string> {
    const pair = `${encodeURIComponent(auth.clientId)}:${encodeURIComponent(clientSecret)}`;
    tools.secret(Buffer.from(pair).toString('base64'));
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (auth.scopes.length > 0) form.set('scope', auth.scopes.join(' '));
    const response = await tools.post(auth.tokenUrl, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }, String(form));
    const { token, lifetimeMs } = tokenOf(response);
    tools.secret(token);
    const entry = kept.get(keyOf(auth));
    if (entry) entry.untilMs = tools.now() + lifetimeMs - marginMs;
    return token;
  }
}

function keyOf(auth: OAuth): string {
  return JSON.stringify([auth.tokenUrl, auth.clientId, auth.credential, auth.scopes]);
}

function tokenOf(response: HttpResponse): { token: string; lifetimeMs: number } {
  const { status, retryAfterMs } = response;
  const retryable = status === 429 || status >= 500;
  if (status !== 200) throw new Failure('http', `no access token: ${answerMessage(response)}`, { status, retryable, retryAfterMs });
  const text = new TextDecoder().decode(response.body);
  try {
    const answer = JSON.parse(text) as { access_token?: unknown; expires_in?: unknown };
    if (typeof answer.access_token !== 'string' || answer.access_token === '') throw new Error('no access_token');
    // Without expires_in (RFC 6749, 5.1: recommended) an hour is usual; a 401 asks anew anyway.
    const lifetime = Number(answer.expires_in);
    return { token: answer.access_token, lifetimeMs: lifetime > 0 ? lifetime * 1000 : 3_600_000 };
  } catch {
    throw new Failure('parse', `no access token: expected JSON with access_token, found ${excerpt(text, 40)}`, { status });
  }
}
