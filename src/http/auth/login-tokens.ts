import type { Login } from '../../core/auth/auth.ts';
import type { LoginPlace } from '../../core/error-code.ts';
import { LimitReached } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { type TokenSource, usable, usableMs } from './oauth.ts';
import { type RequestTools, refusalIn, requestToken, type Token } from './token-request.ts';

/** A stored login that only this process can renew at the moment, because it has locked the login. */
export interface HeldLogin {
  /** The login as it is stored now; undefined if it has been deleted. */
  readonly text: string | undefined;
  store(text: string): Promise<void>;
}

export interface LoginKeeper {
  /** Locks the login, so that no other process can renew it, and runs `work`. */
  renewAlone<Result>(credential: string, work: (held: HeldLogin) => Promise<Result>): Promise<Result>;
}

export interface LoginTools extends RequestTools {
  readonly keeper: LoginKeeper;
  wallNow(): number;
  /** Refresh tokens that a token server has refused. They are not sent again. */
  readonly ended: Set<string>;
  /** Returns the connection to which the user has to log in again, for the error message. */
  loginPlace(credential: string): LoginPlace;
}

interface LoginInUse {
  readonly auth: Login;
  /** The secret of the login's credential, as it was when the run began. */
  readonly text: string;
  /** Undefined for a public client, which has no secret. Rejects with a Failure if the origin may not receive the secret. */
  clientSecret(origin: string): Promise<string | undefined>;
  /** The API's origin. The token server's URL is looked up there if neither the login nor the connection contains it. */
  readonly origin: string;
}

/** Error codes that token servers send when they refuse a refresh token. GitHub sends `bad_refresh_token`. */
const refusals: readonly (string | undefined)[] = ['invalid_grant', 'bad_refresh_token'];

/**
 * Renews a login with the refresh token when the stored token expires. Only one process renews it at a time, because some servers accept a
 * refresh token only once and treat a second use as theft. New tokens are stored before they are used.
 */
export function loginTokens(use: LoginInUse, tools: LoginTools): TokenSource {
  const { auth, text } = use;
  const { credential, clientId } = auth;
  let first: StoredLogin | undefined = readLogin(text);
  return {
    key: JSON.stringify(['login', credential, clientId, auth.tokenUrl]),
    credential,
    async request(refused) {
      const known = first && usableToken(ownLogin(first, use, tools), refused, tools);
      first = undefined;
      return usable(known ?? (await tools.keeper.renewAlone(credential, (held) => renewed(held, use, { ...tools, refused }))));
    },
  };
}

/** Returns the token that another process stored while this one waited for the lock. Otherwise requests a new one and stores it. */
async function renewed(held: HeldLogin, use: LoginInUse, tools: LoginTools & { readonly refused: string | undefined }): Promise<Token> {
  const { auth } = use;
  const { credential, clientId = '', params, clientAuth } = auth;
  const login = held.text === undefined ? undefined : readLogin(held.text);
  if (!login) throw loginNeeded(credential, 'is gone', tools);
  const stored = usableToken(ownLogin(login, use, tools), tools.refused, tools);
  if (stored) return stored;
  const { refreshToken } = login;
  if (refreshToken === undefined) throw loginNeeded(credential, 'has expired, and its server issued no refresh token', tools);
  if (tools.ended.has(refreshToken)) throw loginNeeded(credential, 'has ended', tools);
  const url = login.tokenUrl ?? auth.tokenUrl ?? (await foundTokenUrl(use.origin, tools));
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const token = await requestToken(
    { url, clientId, clientSecret: await use.clientSecret(new URL(url).origin), grant, params, clientAuth },
    tools,
  ).catch((error: unknown) => {
    if (!refusals.includes(refusalIn(error))) throw error;
    tools.ended.add(refreshToken);
    throw loginNeeded(credential, `is no longer valid: ${new URL(url).origin} refuses to renew it (${refusalIn(error)})`, tools);
  });
  await held.store(loginTextOf({ tokenUrl: url, clientId, refreshToken }, token, tools));
  return token;
}

async function foundTokenUrl(origin: string, { fetch }: LoginTools): Promise<string> {
  const { discover } = await import('./discovery.ts');
  return (await discover(origin, fetch)).tokenUrl;
}

/** Keeps the old refresh token if the server sent no new one. Masks the tokens in all output from now on. */
export function loginTextOf(
  before: Pick<StoredLogin, 'tokenUrl' | 'clientId' | 'refreshToken'>,
  { text: accessToken, lifetimeMs, refreshToken }: Token,
  tools: Pick<LoginTools, 'secret' | 'wallNow'>,
): string {
  const login = {
    ...before,
    accessToken,
    renewMs: tools.wallNow() + usableMs(lifetimeMs),
    refreshToken: refreshToken ?? before.refreshToken,
  };
  maskTokens(login, tools);
  const text = loginText(login);
  tools.secret(text);
  return text;
}

/** Masks the tokens in all output. Throws if the login belongs to a different token server or client. */
function ownLogin(login: StoredLogin, { auth }: LoginInUse, tools: LoginTools): StoredLogin {
  maskTokens(login, tools);
  const { tokenUrl, clientId } = login;
  const isOfOther = (tokenUrl !== undefined && tokenUrl !== (auth.tokenUrl ?? tokenUrl)) || (clientId ?? auth.clientId) !== auth.clientId;
  if (isOfOther) throw loginNeeded(auth.credential, 'was made for a different token_url or client_id', tools);
  return login;
}

function maskTokens({ accessToken, refreshToken }: StoredLogin, { secret }: Pick<LoginTools, 'secret'>): void {
  for (const token of [accessToken, refreshToken]) if (token !== undefined) secret(token);
}

/** Undefined if there is no token, or if the token has expired or was refused. */
function usableToken(
  { accessToken: text, renewMs = 0 }: StoredLogin,
  refused: string | undefined,
  { wallNow }: LoginTools,
): Token | undefined {
  const lifetimeMs = renewMs - wallNow();
  return text === undefined || text === refused || lifetimeMs <= 0 ? undefined : { text, lifetimeMs };
}

function loginNeeded(credential: string, reason: string, { loginPlace }: LoginTools): LimitReached {
  const details = loginPlace(credential);
  return new LimitReached(`the login for the connection "${details.connection}" ${reason}`, 'refused-credential', {
    code: 'login-needed',
    details,
  });
}

interface StoredLogin {
  /** The refresh token is sent only to this URL. Undefined if the user set the refresh token by hand. */
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly accessToken?: string;
  /** The time when the access token must be renewed, in ms since 1970. */
  readonly renewMs?: number;
  readonly refreshToken?: string;
}

function loginText({ tokenUrl, clientId, accessToken, renewMs, refreshToken }: StoredLogin): string {
  return JSON.stringify({
    token_url: tokenUrl,
    client_id: clientId,
    access_token: accessToken,
    renew_at: renewMs === undefined ? undefined : new Date(renewMs).toISOString(),
    refresh_token: refreshToken,
  });
}

/** Text that is not JSON is a refresh token that the user set by hand. Undefined for JSON without any token. */
function readLogin(text: string): StoredLogin | undefined {
  const found = orUndefined(() => JSON.parse(text) as unknown);
  if (typeof found !== 'object' || found === null) return { refreshToken: text.trim() };
  const part = (name: string) => {
    const value = (found as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
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
