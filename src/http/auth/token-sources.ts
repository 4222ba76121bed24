import { type Auth, authKey, type Login, signedFrom } from '../../core/auth/auth.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Renewed } from '../../credentials/renewals.ts';
import { loginTokens } from './login-tokens.ts';
import { clientTokens, type TokenSource } from './oauth.ts';
import type { SourceTools } from './source-tools.ts';

export type TokenAuth = Extract<Auth, { type: 'oauth2_client_credentials' | 'oauth2_jwt_bearer' | 'jwt' }> | Login;

export function hasToken(auth: Auth): auth is TokenAuth {
  return signedFrom(auth) === 'token';
}

/** `origin` is that of the API to which the token is sent. */
export function tokenSource(auth: TokenAuth, origin: string, tools: SourceTools): TokenSource {
  switch (auth.type) {
    case 'oauth2_client_credentials':
      return clientTokens(auth, tools.withSecret(auth.credential, new URL(auth.tokenUrl).origin), tools);
    case 'jwt':
      return sourceOf(auth, `${origin} `, async () => (await import('./jwt-sources.ts')).ownToken(auth, origin, tools));
    case 'oauth2_jwt_bearer':
      return sourceOf(auth, '', async (key) => (await import('./jwt-sources.ts')).assertedToken(auth, key, tools));
    case 'oauth2_authorization_code':
      return loginSource(auth, origin, tools);
  }
}

/** All nodes with the same settings share the token. */
function sourceOf(auth: TokenAuth, scope: string, request: (key: string) => Promise<Renewed>): TokenSource {
  const key = scope + authKey(auth);
  return { key, credential: auth.credential, request: () => request(key) };
}

/** A refresh token is sent only to the server that issued it, an access token only to the hosts that the login's credential allows. */
function loginSource(auth: Login, origin: string, tools: SourceTools): TokenSource {
  const { logins, fetch, secret } = tools;
  if (!logins || !tools.loginText) throw new AutomateError('credential', `there is no login "${auth.credential}"`);
  const { clientCredential } = auth;
  const clientSecret = async (server: string) =>
    clientCredential && tools.withSecret(clientCredential, server)((text) => Promise.resolve(text));
  return loginTokens({ auth, text: tools.loginText(auth.credential, origin), clientSecret, origin }, { ...logins, fetch, secret });
}
