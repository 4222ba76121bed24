import ky, { type Options as KyOptions } from 'ky';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { Auth, Http, HttpRequest, HttpResponse } from '../../core/ports.ts';
import { createTokens, type OAuth } from '../auth/oauth.ts';
import { type Signature, signature, withQuery } from '../auth/sign.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import { nextTarget } from './redirect.ts';
import type { Transport } from './transport.ts';
import type { Hop } from './wire-request.ts';

/** What the HTTP port is made of. */
export interface HttpTools {
  readonly transport: Transport;
  /** The flow's secrets by credential name. */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly allowHttp: boolean;
  now(): number;
  /** A request that this credential signed has succeeded. */
  used(credential: string): void;
  /** A new secret that must never be written, such as an access token; it follows another one in its slot. */
  secret(text: string, slot?: string): void;
}

const mostRedirects = 10;
const tokenTimeoutMs = 30_000;

/** Makes the HTTP port: signs requests, follows redirects by hand, answers any status. */
export function createHttp(tools: HttpTools): Http {
  const send = createSender(tools.transport);
  const tokens = createTokens({
    now: tools.now,
    secret: tools.secret,
    post: (url, headers, form) => send(tokenHop(url, headers, form, tools.now())),
    used: (auth) => tools.used(auth.credential),
  });
  return {
    abort: tools.transport.abort,
    async send(request) {
      const { auth } = request;
      if (auth?.type === 'oauth2_client_credentials') return sendWithToken(request, auth);
      return follow(request, tools.now() + request.timeoutMs);
    },
  };

  /** The wait for a token is no part of the request's time. */
  function sendWithToken(request: HttpRequest, auth: OAuth): Promise<HttpResponse> {
    let leftMs = request.timeoutMs;
    return tokens.send(auth, secretOf(auth, new URL(auth.tokenUrl).origin), async (token) => {
      const startedMs = tools.now();
      const response = await follow(request, startedMs + leftMs, token);
      leftMs -= tools.now() - startedMs;
      return response;
    });
  }

  /** A secret is bound to its hosts, whatever a flow and its records say. */
  function secretOf({ credential }: Auth, origin: string): string {
    const secret = tools.secrets.get(credential);
    if (secret === undefined) throw new AutomateError('credential', `there is no credential "${credential}"`);
    if (!isAllowedHost(origin, secret.hosts)) throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
    return secret.text;
  }

  /** Behind a redirect something was sent in any case, even when the next request is refused. */
  async function sendOn(hop: Hop): Promise<HttpResponse> {
    try {
      return await send(hop);
    } catch (error) {
      throw error instanceof Failure ? error.asSent() : error;
    }
  }

  /** Sends a request and follows its redirects, all within one deadline. Signs with the token, or else with the secret itself. */
  async function follow(request: HttpRequest, deadlineMs: number, token?: string): Promise<HttpResponse> {
    const signed = request.auth && signature(request.auth, token ?? secretOf(request.auth, request.origin));
    const { followAny, redirectHosts: allowHosts = [] } = request;
    const rules = { followAny, allowHosts, allowHttp: tools.allowHttp, secretParameter: signed?.parameter };
    const first = firstHop(request, deadlineMs);
    let hop = first;
    let isHome = true;
    for (let redirects = 0; ; redirects++) {
      // Once away, never signed again: another origin must not choose where the credential goes.
      isHome &&= hop.origin === request.origin;
      const response =
        redirects === 0 ? await send(signed ? signedHop(hop, signed) : hop) : await sendOn(isHome && signed ? signedHop(hop, signed) : hop);
      const next = request.unfollowed?.includes(response.status) ? undefined : nextTarget(response, hop, rules, first.allowHosts);
      if (!next) {
        if (request.auth && token === undefined && isHome && isSuccess(response)) tools.used(request.auth.credential);
        return redirects === 0 ? response : { ...response, redirectedTo: { origin: hop.origin, path: hop.path } };
      }
      if (redirects === mostRedirects) {
        throw new Failure('http', `more than ${mostRedirects} redirects, the last to ${next.origin}${next.path}`, {
          status: response.status,
        });
      }
      hop = next;
    }
  }
}

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status <= 299;
}

type Send = (hop: Hop) => Promise<HttpResponse>;

/**
 * ky is the client; the fetch it is given sends on our own transport, which answers with what we need of a response.
 * Retries, deadlines and statuses are the engine's and the transport's.
 */
function createSender(transport: Transport): Send {
  return (hop) => {
    const fetch = () => transport.send(hop) as unknown as Promise<Response>;
    return ky(hop.origin, { ...kyOptions, fetch }) as unknown as Promise<HttpResponse>;
  };
}

/**
 * Only retry, throwHttpErrors and timeout need be named, and fetch. But ky adds to a copy of what it is given whatever is not there,
 * and in V8 of Node 20 such a copy has a new hidden class each time: that doubles what a call costs. `context` goes first, as ky adds it apart.
 */
const kyOptions = {
  context: undefined,
  fetch: undefined,
  retry: 0,
  throwHttpErrors: false,
  timeout: false,
  headers: undefined,
  hooks: undefined,
  method: 'GET',
  prefixUrl: '',
  signal: undefined,
} as unknown as KyOptions;

/** The request for an access token. */
export function tokenHop(url: string, headers: Record<string, string>, form: string, now: number): Hop {
  const { origin, pathname, search } = new URL(url);
  return {
    method: 'POST',
    origin,
    path: pathname + search,
    headers: { ...headers, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
    deadlineMs: now + tokenTimeoutMs,
    timeoutMs: tokenTimeoutMs,
    maxBodyBytes: 1_000_000,
  };
}

function firstHop(request: HttpRequest, deadlineMs: number): Hop {
  const { method, origin, path, headers, body, timeoutMs, maxBodyBytes } = request;
  return { method, origin, path, headers, body, deadlineMs, timeoutMs, maxBodyBytes, allowHosts: request.hostFromData?.allowHosts };
}

/** The credential's header counts, not one of the same name in another case that the flow set. */
function signedHop(hop: Hop, { headers, query }: Signature): Hop {
  return { ...hop, path: withQuery(hop.path, query), headers: Object.assign({}, hop.headers, headers) };
}
