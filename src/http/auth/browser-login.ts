import { randomBytes } from 'node:crypto';
import { startAuthorization, validateAuthorizationResponseIssuer } from '@modelcontextprotocol/client';
import { excerpt } from '../../core/answer/response.ts';
import type { Login } from '../../core/auth/auth.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import { isLoopback } from '../../core/template/url.ts';
import type { LoginPerson } from './browser.ts';
import { discover, type LoginServer } from './discovery.ts';
import { type LoginTools, loginTextOf } from './login-tokens.ts';
import { requestToken } from './token-request.ts';

interface BrowserLogin {
  readonly auth: Login;
  /** The origin (scheme, host and port) of the API that the login is for. */
  readonly origin: string;
  readonly allowHttp: boolean;
  /** Undefined for a public client, which has no secret. Rejects with a Failure if the origin may not receive the secret. */
  clientSecret(origin: string): Promise<string | undefined>;
  readonly person: LoginPerson;
}

interface NewLogin {
  /** The tokens as a string, which is stored as the secret of the login's credential. */
  readonly text: string;
  /** False if the server issued no refresh token. The user then has to log in again when the access token expires. */
  readonly isRenewable: boolean;
}

/**
 * Logs a person in to an API with the OAuth authorization code flow, PKCE (S256) and `state`. The authorization server then redirects the
 * browser to this machine (RFC 8252). Throws an AutomateError (`credential`) if no usable login URL is found, or a Failure if the login
 * fails.
 */
export async function logInWithBrowser(request: BrowserLogin, tools: Pick<LoginTools, 'fetch' | 'secret' | 'wallNow'>): Promise<NewLogin> {
  const { auth, person } = request;
  const { clientId = '', scopes, params, clientAuth } = auth;
  const server = await loginServerOf(request, tools.fetch);
  const state = randomBytes(16).toString('base64url');
  const { authorizationUrl, codeVerifier } = await startAuthorization(server.authorizeUrl, {
    metadata: serverMetadata(server),
    clientInformation: { client_id: clientId },
    redirectUrl: person.redirectUrl,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state,
  });
  for (const [name, value] of Object.entries(params ?? {})) authorizationUrl.searchParams.set(name, value);
  const answered = person.answer(state);
  await person.visit(authorizationUrl);
  const code = codeOfAnswer(await answered, server);
  tools.secret(code);
  const grant = { grant_type: 'authorization_code', code, redirect_uri: person.redirectUrl, code_verifier: codeVerifier };
  const { tokenUrl: url } = server;
  const clientSecret = await request.clientSecret(new URL(url).origin);
  const token = await requestToken({ url, clientId, clientSecret, grant, params, clientAuth }, tools);
  const text = loginTextOf({ tokenUrl: url, clientId, refreshToken: undefined }, token, tools);
  return { text, isRenewable: token.refreshToken !== undefined };
}

async function loginServerOf({ auth, origin, allowHttp }: BrowserLogin, fetch: LoginTools['fetch']): Promise<LoginServer> {
  const { authorizeUrl, tokenUrl } = auth;
  if (authorizeUrl !== undefined && tokenUrl !== undefined) return { issuer: undefined, authorizeUrl, tokenUrl, namesItself: false };
  const found = await discover(origin, fetch);
  for (const url of [found.authorizeUrl, found.tokenUrl]) {
    const { protocol, hostname, host } = new URL(url);
    if (protocol !== 'https:' && !isLoopback(hostname) && !allowHttp)
      throw new AutomateError('credential', `expected an https URL for the login, found ${protocol}//${host}`);
  }
  return found;
}

function serverMetadata({ issuer, authorizeUrl, tokenUrl }: LoginServer) {
  return {
    issuer: issuer ?? new URL(authorizeUrl).origin,
    authorization_endpoint: authorizeUrl,
    token_endpoint: tokenUrl,
    response_types_supported: ['code'],
  };
}

/** The caller has checked `state`. Throws a Failure if the server refused the login or the redirect came from a different server. */
function codeOfAnswer(answer: URLSearchParams, { issuer, namesItself }: LoginServer): string {
  try {
    if (issuer !== undefined) {
      validateAuthorizationResponseIssuer({
        iss: answer.get('iss') ?? undefined,
        expectedIssuer: issuer,
        issParameterSupported: namesItself,
      });
    }
  } catch {
    throw new Failure('http', 'the login was answered by a different server than expected', { sent: false });
  }
  const code = answer.get('code');
  if (code !== null && code !== '') return code;
  const reasons = [answer.get('error'), answer.get('error_description')].filter((reason) => reason !== null);
  throw new Failure('http', `the server refuses the login${reasons.length === 0 ? '' : `: ${excerpt(reasons.join(': '), 300)}`}`);
}
