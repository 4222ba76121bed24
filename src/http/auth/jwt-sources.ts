import { randomUUID } from 'node:crypto';
import type { Auth } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import { isLoopback } from '../../core/template/url.ts';
import type { Renewed } from '../../credentials/renewals.ts';
import { signedJwt, signingKey } from './jwt-key.ts';
import { usable } from './oauth.ts';
import { clockProblem, refusedCredential, unusableSecret } from './request-signers.ts';
import type { SourceTools } from './source-tools.ts';
import { requestToken } from './token-request.ts';

type Jwt = Extract<Auth, { type: 'jwt' }>;
type JwtBearer = Extract<Auth, { type: 'oauth2_jwt_bearer' }>;

/** A token that is signed with the secret. A tenth of its time is left when the next one is made. */
export function ownToken(auth: Jwt, origin: string, tools: SourceTools): Promise<Renewed> {
  const { credential, audience, lastsMs } = auth;
  return tools.withSecret(
    credential,
    origin,
  )(async (text) => {
    const key = signingKey(auth, { credential, text, passphrase: await passphraseOf(auth, tools) }, { allowsSecret: true });
    const facts = { audience, issuer: auth.issuer ?? key.issuer, keyId: auth.keyId ?? key.keyId };
    return { text: await signedJwt(key, auth, facts, tools.wallNow()), lifetimeMs: lastsMs * 0.9 };
  });
}

/** An access token for an assertion (RFC 7523, 2.1). Throws LimitReached if the server refuses the assertion. */
export function assertedToken(auth: JwtBearer, slot: string, tools: SourceTools): Promise<Renewed> {
  const { credential, tokenUrl } = auth;
  // Without token_url in the flow, the key file names the server, so the hosts of the credential are checked once the file is read.
  const withSecret = tokenUrl === undefined ? tools.withText(credential) : tools.withSecret(credential, new URL(tokenUrl).origin);
  return withSecret(async (text) => {
    const key = signingKey(auth, { credential, text, passphrase: await passphraseOf(auth, tools) }, { allowsSecret: false });
    const url = tokenUrl ?? serverOf(key.tokenUrl, credential);
    const { origin } = new URL(url);
    if (tokenUrl === undefined) tools.refuseHost(credential, origin);
    const issuer = auth.issuer ?? key.issuer;
    if (issuer === undefined) throw unusableSecret(credential, 'does not say the issuer, as a JSON key file does: add issuer to auth');
    const { scopes, scopesIn, clientId, params, clientAuth } = auth;
    const scope: Record<string, string> = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
    const more = { jti: randomUUID(), ...(scopesIn !== 'request' && scope) };
    const facts = { issuer, audience: auth.audience ?? url, keyId: auth.keyId ?? key.keyId, more };
    const assertion = await signedJwt(key, auth, facts, tools.wallNow());
    tools.secret(assertion, `assertion ${slot}`);
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion, ...(scopesIn !== 'assertion' && scope) };
    const clientSecret = auth.clientCredential && (await tools.withSecret(auth.clientCredential, origin)(async (secret) => secret));
    const hint = (date: string | undefined) => clockProblem(date, tools.wallNow());
    const request = requestToken({ url, clientId, clientSecret, grant, params, clientAuth, hint }, tools);
    return usable(await request.catch((error: unknown) => throwRefusal(error, credential)));
  });
}

async function passphraseOf({ passphrase }: { readonly passphrase?: string }, tools: SourceTools): Promise<string | undefined> {
  return passphrase === undefined ? undefined : tools.withText(passphrase)(async (text) => text);
}

/** A key file can name any server, so it must be one to which secrets may be sent. */
function serverOf(url: string | undefined, credential: string): string {
  if (url === undefined) throw unusableSecret(credential, 'does not say the token server, as a JSON key file does: add token_url to auth');
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return url;
  throw unusableSecret(credential, 'has a token_uri that is not an https URL');
}

/** No other request would have another result, so the run ends. Servers that cannot be reached, or have no time, are asked again. */
function throwRefusal(error: unknown, credential: string): never {
  if (!(error instanceof Failure) || error.retryable || error.kind === 'network') throw error;
  throw refusedCredential(
    credential,
    `${error.message}\ncheck the credential "${credential}", and issuer, subject, audience and scopes in auth`,
    false,
  );
}
