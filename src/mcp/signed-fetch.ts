import { retryAfterMs } from '../core/answer/rate-limit.ts';
import { excerpt } from '../core/answer/response.ts';
import { type Auth, signature } from '../core/auth/auth.ts';
import type { Signature } from '../core/auth/auth-type.ts';
import { Failure } from '../core/failure.ts';
import { isLoopback, withQuery } from '../core/template/url.ts';
import type { RemoteServer } from '../core/tools.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { refuseOtherHost, type Secret } from '../credentials/secret.ts';
import type { AccessTokens, TokenTools, WithSecret } from '../http/auth/oauth.ts';
import { type RequestSigner, type SignedRequest, sendSigned, signsRequests } from '../http/auth/request-signers.ts';
import type { RequestSigners } from '../http/auth/signer-types.ts';
import { hasToken, tokenSource } from '../http/auth/token-sources.ts';
import type { Fetch } from '../http/fetch.ts';
import { sendSingle } from '../http/single-request.ts';

interface SigningTools extends TokenTools {
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Secrets that commands have printed; undefined if no credential uses a command. */
  readonly commands?: CommandSecrets;
  readonly tokens: AccessTokens;
  readonly signers: RequestSigners;
  wallNow(): number;
}

interface Fetches {
  /** Sends requests to origins that the user has set in the connection. */
  readonly fetch: Fetch;
  /** For origins that only the server has named, such as its login server. Refuses the addresses of cloud metadata services. */
  readonly fetchNamed: Fetch;
}

/** Adds the credential only for the server's origin. Error responses become Failures with Retry-After, which the client would drop. */
export function signedFetch(fetches: Fetches, server: RemoteServer, signing: SigningTools): Fetch {
  const { origin } = new URL(server.url);
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== origin) return fetchForLogin(fetches, url, init, server);
    const send = ({ path, headers }: SignedRequest) => fetches.fetch(origin + path, { ...init, headers: { ...headers } });
    const response = await sendWithSecret(server, signing, (sign, signer) => {
      const headers = Object.fromEntries(withHeaders(init?.headers, server, sign));
      const path = withQuery(url.pathname + url.search, sign?.query);
      const body = typeof init?.body === 'string' ? init.body : undefined;
      return sendWithSigner({ method: init?.method ?? 'GET', origin, path, headers, body }, signer, signing, send);
    });
    return checkedResponse(response, init?.method, server, signing);
  };
}

/** Sends a login request to another origin, to discover how to log in or to obtain and refresh tokens. */
async function fetchForLogin({ fetchNamed }: Fetches, url: URL, init: RequestInit | undefined, server: RemoteServer): Promise<Response> {
  const { protocol, hostname, host } = url;
  if (protocol === 'https:' || isLoopback(hostname) || server.allowHttp) {
    return sendSingle(fetchNamed, url, { ...init, throwHttpErrors: false });
  }
  throw new Failure('request', `expected an https URL for the login, found http://${host}`, { sent: false });
}

/** Everything that is computed for a request is masked in all output, because the answer is a stream. */
async function sendWithSigner(
  request: SignedRequest,
  signer: RequestSigner | undefined,
  { secret }: SigningTools,
  send: (signed: SignedRequest) => Promise<Response>,
): Promise<Response> {
  if (!signer) return send(request);
  const { response } = await sendSigned(request, [signer], async (signed, derived) => {
    for (const text of derived) secret(text, `signature for ${request.origin}`);
    const response = await send(signed);
    return { response, status: response.status, header: (name: string) => response.headers.get(name) ?? undefined };
  });
  return response;
}

/** If the server rejects a credential or token that can be renewed, renews it and sends the request again. */
async function sendWithSecret(
  { auth, url }: RemoteServer,
  signing: SigningTools,
  send: (sign?: Signature, signer?: RequestSigner) => Promise<Response>,
): Promise<Response> {
  if (auth === undefined || auth.type === 'oauth2_authorization_code') return send();
  const { secrets, commands, tokens, signers } = signing;
  const { credential } = auth;
  const { origin } = new URL(url);
  const again = async (secret: string, refused?: Response) => {
    await refused?.body?.cancel().catch(() => undefined);
    if (!signsRequests(auth)) return send(signature(auth, secret));
    return send(undefined, await signers.of(auth, { credential, text: secret, origin }));
  };
  if (hasToken(auth)) {
    const tools = {
      ...signing,
      withText: (name: string) => withSecretOf(name, undefined, signing),
      refuseHost: (name: string, server: string) => refuseOtherHost(name, secrets.get(name) ?? commands?.commands.get(name), server),
      withSecret: (name: string, server: string) => withSecretOf(name, server, signing),
    };
    return tokens.sendWith<Response>([tokenSource(auth, origin, tools)], ([token = ''], refused) => again(token, refused));
  }
  if (!commands?.commands.has(credential)) return again(secretFor(auth, secrets, origin));
  return commands.sendWith([credential], (given, refused?: Response) => again(secretFor(auth, given, origin), refused));
}

function withSecretOf(credential: string, origin: string | undefined, { secrets, commands }: SigningTools): WithSecret {
  if (commands?.commands.has(credential)) {
    return (use) => commands.use(credential, (secret) => use(secretFor({ credential }, new Map([[credential, secret]]), origin)));
  }
  const text = secretFor({ credential }, secrets, origin);
  return (use) => use(text);
}

/** Throws a Failure for errors for which the MCP client would wait without effect, or start a login that does not help. */
async function checkedResponse(
  response: Response,
  method: string | undefined,
  { auth }: RemoteServer,
  signing: SigningTools,
): Promise<Response> {
  const { status } = response;
  if (response.ok && auth && (auth.type === 'oauth2_authorization_code' || !hasToken(auth))) signing.used(auth.credential);
  // In the authorization code flow, the client must get the 401 or 403, because it then starts the login.
  const isRefusal = auth?.type !== 'oauth2_authorization_code' && (status === 401 || status === 403);
  const isOverload = method === 'POST' && (status === 429 || status >= 500);
  if (isRefusal || isOverload) throw await serverRefusal(response, signing.wallNow());
  return response;
}

/** The credential's headers take precedence over the connection's, and the connection's over the request's. */
function withHeaders(written: RequestInit['headers'], server: RemoteServer, sign: Signature | undefined): Headers {
  const headers = new Headers(written);
  for (const [name, value] of [...Object.entries(server.headers), ...Object.entries(sign?.headers ?? {})]) headers.set(name, value);
  return headers;
}

/** Throws a Failure if the credential is missing or may not be sent to the host. */
function secretFor({ credential }: Pick<Auth, 'credential'>, secrets: SigningTools['secrets'], origin: string | undefined): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new Failure('request', `there is no credential "${credential}"`, { sent: false });
  if (origin !== undefined) refuseOtherHost(credential, secret, origin);
  return secret.text;
}

async function serverRefusal(response: Response, nowMs: number): Promise<Failure> {
  const { status } = response;
  // The header comes first because it may mention an expired token. At the end of a long message, it would be cut off.
  const reasons = [response.headers.get('www-authenticate') ?? '', await response.text().catch(() => '')];
  const text = excerpt(reasons.filter((reason) => reason !== '').join('; '));
  const header = (name: string) => response.headers.get(name) ?? undefined;
  const waitMs = retryAfterMs(status, header, nowMs);
  const message = `the server answered ${status}${text === '' ? '' : `: ${text}`}`;
  return new Failure('http', message, { status, retryable: status === 429 || status >= 500, retryAfterMs: waitMs });
}
