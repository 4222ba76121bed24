import type { Auth } from '../../core/auth/auth.ts';
import { type RenewalSource, Renewals, type Renewed } from './renewals.ts';
import { type RequestTools, requestToken } from './token-request.ts';

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
export interface TokenSource extends RenewalSource {
  /** The credential that is used for it. */
  readonly credential: string;
}

/** A token is not used in the last 30 s of its life, or in the last tenth of a short life. */
const marginMs = 30_000;

/** The time for which a token is used, from the time for which it lives. */
export function usableMs(lifetimeMs: number): number {
  return lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
}

/** A token with the time for which it is used. */
export function usable({ text, lifetimeMs }: Renewed): Renewed {
  return { text, lifetimeMs: usableMs(lifetimeMs) };
}

/** Uses the secret of a client, which may have to be asked for first. */
export type WithSecret = <Result>(use: (clientSecret: string) => Promise<Result>) => Promise<Result>;

/** Access tokens. Each is used until shortly before it expires, and requested once, however many records wait for it. */
export class Tokens {
  readonly #tools: TokenTools;
  readonly #renewals: Renewals;

  constructor(tools: TokenTools) {
    this.#tools = tools;
    this.#renewals = new Renewals(() => tools.now());
  }

  /** Sends with a token of the client credentials grant (RFC 6749, 4.4), as `sendWith` does. */
  send<Answer extends { readonly status: number }>(
    auth: OAuth,
    withSecret: WithSecret,
    send: (token: string, refused?: Answer) => Promise<Answer>,
    fetch = this.#tools.fetch,
  ): Promise<Answer> {
    return this.sendWith(clientTokens(auth, withSecret, { ...this.#tools, fetch }), send);
  }

  /** Sends with a token, as `Renewals` does. Throws a Failure if the token server refuses. */
  sendWith<Answer extends { readonly status: number }>(
    source: TokenSource,
    send: (token: string, refused?: Answer) => Promise<Answer>,
  ): Promise<Answer> {
    const { key, credential } = source;
    const came = (text: string) => {
      this.#tools.secret(text, key);
      this.#tools.used(credential);
    };
    return this.#renewals.sendWith<Answer>([{ ...source, came }], ([token = ''], refused) => send(token, refused));
  }

  /** Waits for the requests under way. */
  close(): Promise<void> {
    return this.#renewals.close();
  }
}

/** Tokens by the client credentials grant. */
function clientTokens(auth: OAuth, withSecret: WithSecret, tools: RequestTools): TokenSource {
  const { tokenUrl: url, clientId, credential, scopes, params, clientAuth } = auth;
  const grant = { grant_type: 'client_credentials', ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
  return {
    key: JSON.stringify([url, clientId, credential, scopes, params, clientAuth]),
    credential,
    request: () =>
      withSecret(async (clientSecret) => usable(await requestToken({ url, clientId, clientSecret, grant, params, clientAuth }, tools))),
  };
}
