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
