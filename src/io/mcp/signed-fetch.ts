import { retryAfterMs } from '../../core/answer/rate-limit.ts';
import { excerpt } from '../../core/answer/response.ts';
import type { Auth } from '../../core/auth.ts';
import { Failure } from '../../core/failure.ts';
import { isLoopback } from '../../core/template/url.ts';
import type { RemoteServer } from '../../core/tools/tools.ts';
import type { Tokens } from '../auth/oauth.ts';
import { type Signature, signature, withQuery } from '../auth/sign.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import type { Fetch, Fetches } from './fetch.ts';

/** What signs requests to a server. */
export interface Signing {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly tokens: Tokens;
  /** A request that this credential signed has succeeded. */
  used(credential: string): void;
  wallNow(): number;
}

/**
 * A fetch that signs what goes to the server's own origin, and nothing that goes elsewhere.
 * A refusal is a Failure that knows the reason, and how long to stay away: the client would forget both.
 */
export function signedFetch({ fetch, fetchNamed }: Fetches, server: RemoteServer, signing: Signing): Fetch {
  const { origin } = new URL(server.url);
  const isLogin = server.auth?.type === 'oauth2_authorization_code';
  const auth = server.auth?.type === 'oauth2_authorization_code' ? undefined : server.auth;
  const elsewhere: Fetch = async (input, init) => {
    const { protocol, hostname, host } = new URL(input);
    if (protocol === 'https:' || isLoopback(hostname) || server.allowHttp) return fetchNamed(input, init);
    throw new Failure('request', `expected an https URL of whoever logs people in, found http://${host}`, { sent: false });
  };
  return async (input, init) => {
    const url = new URL(input);
    if (url.origin !== origin) return elsewhere(url, init);
    if (auth?.type !== 'oauth2_client_credentials') return checked(await sent(auth && signature(auth, secretOf(auth, signing, origin))));
    return checked(
      await signing.tokens.send(auth, secretOf(auth, signing, new URL(auth.tokenUrl).origin), async (token, refused?: Response) => {
        await refused?.body?.cancel().catch(() => undefined);
        return sent(signature(auth, token));
      }),
    );

    function sent(signed: Signature | undefined): Promise<Response> {
      return fetch(signed?.query === undefined ? url : origin + withQuery(url.pathname + url.search, signed.query), {
        ...init,
        headers: headersOf(init?.headers, server, signed),
      });
    }

    async function checked(response: Response): Promise<Response> {
      if (response.ok && server.auth && server.auth.type !== 'oauth2_client_credentials') signing.used(server.auth.credential);
      // Who logs in is told of it by the client, which knows what to do.
      if (!isLogin && (response.status === 401 || response.status === 403)) throw await refused(response, signing.wallNow());
      if (init?.method === 'POST' && (response.status === 429 || response.status >= 500)) throw await refused(response, signing.wallNow());
      return response;
    }
  };
}

/** The credential's header counts, not one of the same name that the connection sets. */
function headersOf(own: RequestInit['headers'], server: RemoteServer, signed: Signature | undefined): Headers {
  const headers = new Headers(own);
  for (const [name, value] of [...Object.entries(server.headers), ...Object.entries(signed?.headers ?? {})]) headers.set(name, value);
  return headers;
}

/** A secret is bound to its hosts, whatever a connection says. */
function secretOf({ credential }: Auth, { secrets }: Signing, origin: string): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new Failure('request', `there is no credential "${credential}"`, { sent: false });
  if (!isAllowedHost(origin, secret.hosts)) throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
  return secret.text;
}

async function refused(response: Response, nowMs: number): Promise<Failure> {
  const { status } = response;
  // A long page must not push the header out: it tells whether a token has expired.
  const reasons = [response.headers.get('www-authenticate') ?? '', await response.text().catch(() => '')];
  const text = excerpt(reasons.filter((reason) => reason !== '').join('; '));
  const header = (name: string) => response.headers.get(name) ?? undefined;
  const waitMs = retryAfterMs(status, header, nowMs);
  const message = `the server answered ${status}${text === '' ? '' : `: ${text}`}`;
  return new Failure('http', message, { status, retryable: status === 429 || status >= 500, retryAfterMs: waitMs });
}
