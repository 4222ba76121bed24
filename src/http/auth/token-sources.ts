import { type Auth, type Login, signedFrom } from '../../core/auth/auth.ts';
import { AutomateError } from '../../core/failure.ts';
import type { LoginTools } from './login-tokens.ts';
import { loginTokens } from './login-tokens.ts';
import { clientTokens, type TokenSource, type TokenTools, type WithSecret } from './oauth.ts';

/** The secrets of the flow that signs. */
export interface SourceTools extends TokenTools {
  readonly logins?: Pick<LoginTools, 'keeper' | 'wallNow' | 'ended' | 'loginPlace'>;
  wallNow(): number;
  /** Throws a Failure if the secret may not be sent to the origin. */
  withSecret(credential: string, origin: string): WithSecret;
  /** The stored login. Throws a Failure if it may not be used for the origin. Undefined for MCP servers, whose client logs in itself. */
  loginText?(credential: string, origin: string): string;
}

export type TokenAuth = Extract<Auth, { type: 'oauth2_client_credentials' }> | Login;

export function hasToken(auth: Auth): auth is TokenAuth {
  return signedFrom(auth) === 'token';
}

/** `origin` is that of the API to which the token is sent. */
export function tokenSource(auth: TokenAuth, origin: string, tools: SourceTools): TokenSource {
  switch (auth.type) {
    case 'oauth2_client_credentials':
      return clientTokens(auth, tools.withSecret(auth.credential, new URL(auth.tokenUrl).origin), tools);
    case 'oauth2_authorization_code':
      return loginSource(auth, origin, tools);
  }
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
