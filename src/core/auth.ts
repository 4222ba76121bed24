/** How a request proves who sends it. Names a credential, never holds a secret. */
export type Auth =
  | { readonly type: 'bearer'; readonly credential: string }
  | { readonly type: 'api_key'; readonly credential: string; readonly header?: string; readonly query?: string }
  | { readonly type: 'basic'; readonly credential: string; readonly username?: string }
  | {
      readonly type: 'oauth2_client_credentials';
      readonly credential: string;
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scopes: readonly string[];
    };

/** A person has logged in with a browser (OAuth 2.1, authorization code). The credential holds the tokens that came of it. */
export interface Login {
  readonly type: 'oauth2_authorization_code';
  readonly credential: string;
  /** Absent where the server registers its clients by itself (RFC 7591). */
  readonly clientId: string | undefined;
  /** The credential of the client's own secret; absent for a client without one. */
  readonly clientCredential: string | undefined;
  readonly scopes: readonly string[];
}

/** What a secret has to be, and where it goes. */
export interface SecretUse {
  /** Whether it has to be `username:password`. */
  readonly isPair: boolean;
  /** As far as they are known before the first record. */
  readonly origins: readonly string[];
}

/** How requests to an origin use their secret. Of OAuth it goes to the token server alone. */
export function secretUse(auth: Auth, origin: string | undefined): SecretUse {
  const to = auth.type === 'oauth2_client_credentials' ? originOf(auth.tokenUrl) : origin;
  return { isPair: auth.type === 'basic' && auth.username === undefined, origins: to === undefined ? [] : [to] };
}

/** Absent for what is no URL. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
