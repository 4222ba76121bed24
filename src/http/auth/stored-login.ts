/** The tokens from a login to an HTTP API, as stored in the login's credential. */
export interface StoredLogin {
  /**
   * URL of the token server that issued the tokens. The refresh token is sent only there. Undefined if the user set the refresh token by
   * hand.
   */
  readonly tokenUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly accessToken?: string | undefined;
  /** The time when the access token must be renewed, in ms since 1970. */
  readonly renewMs?: number | undefined;
  /** The token for requesting further access tokens; undefined if the server issued none. */
  readonly refreshToken?: string | undefined;
}

/** Returns a login as the JSON text in which it is stored. */
export function loginText({ tokenUrl, clientId, accessToken, renewMs, refreshToken }: StoredLogin): string {
  return JSON.stringify({
    token_url: tokenUrl,
    client_id: clientId,
    access_token: accessToken,
    renew_at: renewMs === undefined ? undefined : new Date(renewMs).toISOString(),
    refresh_token: refreshToken,
  });
}

/**
 * Reads a stored login. If the text is not JSON, it is a refresh token that the user set by hand. Returns undefined if it is JSON without
 * any token.
 */
export function readLogin(text: string): StoredLogin | undefined {
  const found = mappingIn(text);
  if (found === undefined) return { refreshToken: text.trim() };
  const part = (name: string) => (typeof found[name] === 'string' && found[name] !== '' ? (found[name] as string) : undefined);
  const renewMs = Date.parse(part('renew_at') ?? '');
  const login = {
    tokenUrl: part('token_url'),
    clientId: part('client_id'),
    accessToken: part('access_token'),
    refreshToken: part('refresh_token'),
    ...(!Number.isNaN(renewMs) && { renewMs }),
  };
  return login.accessToken === undefined && login.refreshToken === undefined ? undefined : login;
}

function mappingIn(text: string): Record<string, unknown> | undefined {
  try {
    const found = JSON.parse(text) as unknown;
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
