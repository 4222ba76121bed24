import type { Auth } from '../../core/auth/auth.ts';
import { type RenewalSource, Renewals, type Renewed } from '../../credentials/renewals.ts';
import { type RequestTools, requestToken } from './token-request.ts';

/** Settings for a client credentials grant (RFC 6749, 4.4), which needs no person to log in. */
export type OAuth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

export interface TokenTools extends RequestTools {
  /** Monotonic time in ms. */
  now(): number;
  /** Called after a client secret has worked, so that its last use can be stored. */
  used(credential: string): void;
}

export interface TokenSource extends RenewalSource {
  /** Name of the stored credential that the access tokens are requested with. */
  readonly credential: string;
}

/** An access token is renewed this many ms before it expires. A token with a short lifetime is renewed after 90 % of its lifetime. */
const marginMs = 30_000;

/** The lifetime minus a safety margin. */
export function usableMs(lifetimeMs: number): number {
  return lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
}

export function usable({ text, lifetimeMs }: Renewed): Renewed {
  return { text, lifetimeMs: usableMs(lifetimeMs) };
}

/** Obtains the client secret, if necessary, and calls `use` with it. */
export type WithSecret = <Result>(use: (clientSecret: string) => Promise<Result>) => Promise<Result>;

/** Renews access tokens shortly before they expire. Records that need the same new token at the same time share one token request. */
export class AccessTokens {
  readonly #tools: TokenTools;
  readonly #renewals: Renewals;

  constructor(tools: TokenTools) {
    this.#tools = tools;
    this.#renewals = new Renewals(() => tools.now());
  }

  /** Calls `send` with the sources' access tokens, and after a 401 once more with new ones. Throws a Failure if one cannot be obtained. */
  sendWith<Answer extends { readonly status: number }>(
    sources: readonly TokenSource[],
    send: (tokens: readonly string[], refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#renewals.sendWith<Answer>(
      sources.map((source) => ({
        ...source,
        came: (text: string) => {
          this.#tools.secret(text, source.key);
          this.#tools.used(source.credential);
        },
      })),
      send,
    );
  }

  close(): Promise<void> {
    return this.#renewals.close();
  }
}

export function clientTokens(auth: OAuth, withSecret: WithSecret, tools: RequestTools): TokenSource {
  const { tokenUrl: url, clientId, credential, scopes, params, clientAuth } = auth;
  const grant = { grant_type: 'client_credentials', ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
  return {
    key: JSON.stringify([url, clientId, credential, scopes, params, clientAuth]),
    credential,
    request: () =>
      withSecret(async (clientSecret) => usable(await requestToken({ url, clientId, clientSecret, grant, params, clientAuth }, tools))),
  };
}
