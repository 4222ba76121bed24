/** The tokens of a login to an HTTP API, as its credential stores them. */
export interface StoredLogin {
  /** The token server that gave them; undefined for a refresh token alone. No other server gets the refresh token. */
  readonly tokenUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly accessToken?: string | undefined;
  /** Time until which the access token is used, in ms since 1970. */
  readonly renewMs?: number | undefined;
  /** Undefined if the server gave none. */
  readonly refreshToken?: string | undefined;
}

/** The text of a login for its credential. */
export function loginText({ tokenUrl, clientId, accessToken, renewMs, refreshToken }: StoredLogin): string {
  return JSON.stringify({
    token_url: tokenUrl,
    client_id: clientId,
    access_token: accessToken,
    renew_at: renewMs === undefined ? undefined : new Date(renewMs).toISOString(),
    refresh_token: refreshToken,
  });
}

/** Reads the text of a credential. A text that is no JSON is a refresh token, as someone may set it by hand. Undefined for JSON that is no login. */
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
