import { retryAfterMs } from '../../core/answer/rate-limit.ts';
import { excerpt } from '../../core/answer/response.ts';
import { type Auth, signature } from '../../core/auth/auth.ts';
import type { Signature } from '../../core/auth/auth-type.ts';
import { Failure } from '../../core/failure.ts';
import { withQuery } from '../../core/template/query.ts';
import { isLoopback } from '../../core/template/target.ts';
import type { RemoteServer } from '../../core/tools/tools.ts';
import type { Tokens, WithSecret } from '../auth/oauth.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import type { Fetch } from '../http/fetch.ts';
import { sendSingle } from '../http/single-request.ts';

/** Signs the requests to a server. */
export interface Signing {
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The secrets that commands give; undefined if there is no command. */
  readonly commands?: CommandSecrets | undefined;
  readonly tokens: Tokens;
  /** Reports that a request signed with this credential has succeeded. */
  used(credential: string): void;
  wallNow(): number;
}

/** The fetches with which a signed fetch sends. */
export interface Fetches {
  /** Sends to an origin that the connection names. */
  readonly fetch: Fetch;
  /** To an origin that only the server names, such as its login server: never to metadata addresses. */
  readonly fetchNamed: Fetch;
}

/**
 * Makes a fetch that signs requests to the server's own origin, and no other requests.
 * A refusal is a Failure with its reason and its Retry-After: the MCP client would drop both.
 */
export function signedFetch(fetches: Fetches, server: RemoteServer, signing: Signing): Fetch {
  const { origin } = new URL(server.url);
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== origin) return fetchForLogin(fetches, url, init, server);
    const response = await sendSigned(server, signing, (sign) => {
      const target = sign?.query === undefined ? url : url.origin + withQuery(url.pathname + url.search, sign.query);
      return fetches.fetch(target, { ...init, headers: withHeaders(init?.headers, server, sign) });
    });
    return checkedResponse(response, init?.method, server, signing);
  };
}

/** Requests to other origins look up how to log in, and get and renew the tokens of a login: single and rare. */
async function fetchForLogin({ fetchNamed }: Fetches, url: URL, init: RequestInit | undefined, server: RemoteServer): Promise<Response> {
  const { protocol, hostname, host } = url;
  if (protocol === 'https:' || isLoopback(hostname) || server.allowHttp) {
    return sendSingle(fetchNamed, url, { ...init, throwHttpErrors: false });
  }
  throw new Failure('request', `expected an https URL for the login, found http://${host}`, { sent: false });
}

/** Sends a request with the credential of its server. `send` adds the signature. */
async function sendSigned(
  { auth, url }: RemoteServer,
  { secrets, commands, tokens }: Signing,
  send: (sign?: Signature) => Promise<Response>,
): Promise<Response> {
  if (auth === undefined || auth.type === 'oauth2_authorization_code') return send();
  const { credential } = auth;
  const isOAuth = auth.type === 'oauth2_client_credentials';
  const { origin } = new URL(isOAuth ? auth.tokenUrl : url);
  const again = async (secret: string, refused?: Response) => {
    await refused?.body?.cancel().catch(() => undefined);
    return send(signature(auth, secret));
  };
  if (commands?.commands.has(credential)) {
    if (!isOAuth) return commands.sendWith([credential], (given, refused?: Response) => again(secretFor(auth, given, origin), refused));
    const withSecret: WithSecret = (use) =>
      commands.use(credential, (secret) => use(secretFor(auth, new Map([[credential, secret]]), origin)));
    return tokens.send(auth, withSecret, again);
  }
  const secret = secretFor(auth, secrets, origin);
  return isOAuth ? tokens.send(auth, (use) => use(secret), again) : again(secret);
}

/**
 * Throws a Failure for a refusal that the MCP client must not handle itself: it would wait in vain, or ask for a login that cannot help.
 */
async function checkedResponse(
  response: Response,
  method: string | undefined,
  { auth }: RemoteServer,
  signing: Signing,
): Promise<Response> {
  const { status } = response;
  if (response.ok && auth && auth.type !== 'oauth2_client_credentials') signing.used(auth.credential);
  // With a login the client itself needs the refusal: it asks the person to log in.
  const isRefusal = auth?.type !== 'oauth2_authorization_code' && (status === 401 || status === 403);
  const isOverload = method === 'POST' && (status === 429 || status >= 500);
  if (isRefusal || isOverload) throw await serverRefusal(response, signing.wallNow());
  return response;
}

/** The credential's header replaces a header of the connection with the same name. */
function withHeaders(written: RequestInit['headers'], server: RemoteServer, sign: Signature | undefined): Headers {
  const headers = new Headers(written);
  for (const [name, value] of [...Object.entries(server.headers), ...Object.entries(sign?.headers ?? {})]) headers.set(name, value);
  return headers;
}

/** The secret of a credential, bound to its hosts. A connection cannot remove that limit. */
function secretFor({ credential }: Auth, secrets: Signing['secrets'], origin: string): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new Failure('request', `there is no credential "${credential}"`, { sent: false });
  if (!isAllowedHost(origin, secret.hosts)) throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
  return secret.text;
}

async function serverRefusal(response: Response, nowMs: number): Promise<Failure> {
  const { status } = response;
  // The header comes first, so that a long page does not push it out: it shows an expired token.
  const reasons = [response.headers.get('www-authenticate') ?? '', await response.text().catch(() => '')];
  const text = excerpt(reasons.filter((reason) => reason !== '').join('; '));
  const header = (name: string) => response.headers.get(name) ?? undefined;
  const waitMs = retryAfterMs(status, header, nowMs);
  const message = `the server answered ${status}${text === '' ? '' : `: ${text}`}`;
  return new Failure('http', message, { status, retryable: status === 429 || status >= 500, retryAfterMs: waitMs });
}
