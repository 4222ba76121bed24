import type { Login } from '../../core/auth/auth.ts';
import type { LoginPlace } from '../../core/error-code.ts';
import { LimitReached } from '../../core/failure.ts';
import { type TokenSource, usable, usableMs } from './oauth.ts';
import { loginText, readLogin, type StoredLogin } from './stored-login.ts';
import { type RequestTools, refusalIn, requestToken, type Token } from './token-request.ts';

/** A login that nobody else can renew meanwhile. */
export interface HeldLogin {
  /** The text that is stored now; undefined if there is none. */
  readonly text: string | undefined;
  store(text: string): Promise<void>;
}

/** The place where logins are stored. */
export interface LoginKeeper {
  /** Works on a login alone: no other process and no other run renews it meanwhile. */
  renewAlone<Result>(credential: string, work: (held: HeldLogin) => Promise<Result>): Promise<Result>;
}

/** The ports that logins use. */
export interface LoginTools extends RequestTools {
  readonly keeper: LoginKeeper;
  wallNow(): number;
  /** The refresh tokens that were refused: they are not sent again. */
  readonly ended: Set<string>;
  /** The place where someone has to log in. */
  loginPlace(credential: string): LoginPlace;
}

/** A login as a request needs it. */
export interface LoginInUse {
  readonly auth: Login;
  /** The text of its credential when the run began. */
  readonly text: string;
  /** The client's secret, to be sent to an origin; undefined for a public client. Throws a Failure if that host may not have it. */
  clientSecret(origin: string): Promise<string | undefined>;
  /** The origin of the API, which knows the token server if nobody else does. */
  readonly origin: string;
}

/** The errors of token servers that refuse a refresh token. The second is GitHub's. */
const refusals: readonly (string | undefined)[] = ['invalid_grant', 'bad_refresh_token'];

/**
 * Access tokens of a login. The stored one is used until it expires; then the refresh token renews it, while no other process does: a server
 * that gives each refresh token once would take the second use for a theft. What comes back is stored before anybody uses it.
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

/** The token that another run has stored meanwhile, else a new one. */
async function renewed(held: HeldLogin, use: LoginInUse, tools: LoginTools & { readonly refused: string | undefined }): Promise<Token> {
  const { auth } = use;
  const { credential, clientId = '', params, clientAuth } = auth;
  const login = held.text === undefined ? undefined : readLogin(held.text);
  if (!login) throw loginNeeded(credential, 'is gone', tools);
  const stored = usableToken(ownLogin(login, use, tools), tools.refused, tools);
  if (stored) return stored;
  const { refreshToken } = login;
  if (refreshToken === undefined) throw loginNeeded(credential, 'has expired, and its server gave nothing to renew it with', tools);
  if (tools.ended.has(refreshToken)) throw loginNeeded(credential, 'has ended', tools);
  const url = login.tokenUrl ?? auth.tokenUrl ?? (await foundTokenUrl(use.origin, tools));
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const token = await requestToken(
    { url, clientId, clientSecret: await use.clientSecret(new URL(url).origin), grant, params, clientAuth },
    tools,
  ).catch((error: unknown) => {
    if (!refusals.includes(refusalIn(error))) throw error;
    tools.ended.add(refreshToken);
    throw loginNeeded(credential, `has ended: ${new URL(url).origin} refuses to renew it (${refusalIn(error)})`, tools);
  });
  await held.store(loginTextOf({ tokenUrl: url, clientId, refreshToken }, token, tools));
  return token;
}

async function foundTokenUrl(origin: string, { fetch }: LoginTools): Promise<string> {
  const { discover } = await import('./discovery.ts');
  return (await discover(origin, fetch)).tokenUrl;
}

/** The text to store for a token. A server that gives no new refresh token means the old one. Both are masked from now on. */
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

/** Refuses a login that another server or another client was given. Masks its tokens. */
function ownLogin(login: StoredLogin, { auth }: LoginInUse, tools: LoginTools): StoredLogin {
  maskTokens(login, tools);
  const { tokenUrl, clientId } = login;
  const isOfOther = (tokenUrl !== undefined && tokenUrl !== (auth.tokenUrl ?? tokenUrl)) || (clientId ?? auth.clientId) !== auth.clientId;
  if (isOfOther) throw loginNeeded(auth.credential, 'was made for another token_url or another client_id', tools);
  return login;
}

function maskTokens({ accessToken, refreshToken }: StoredLogin, { secret }: Pick<LoginTools, 'secret'>): void {
  for (const token of [accessToken, refreshToken]) if (token !== undefined) secret(token);
}

/** The access token of a login; undefined if it cannot be used. */
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
