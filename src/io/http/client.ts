import ky from 'ky';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { Auth, Http, HttpRequest, HttpResponse } from '../../core/ports.ts';
import { createTokens, type Tokens } from '../auth/oauth.ts';
import { type Signature, signature, withQuery } from '../auth/sign.ts';
import { nextTarget } from './redirect.ts';
import type { Hop, Transport } from './transport.ts';

/** What the HTTP port is made of. */
export interface HttpTools {
  readonly transport: Transport;
  /** The flow's secrets by credential name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly allowHttp: boolean;
  now(): number;
  /** A new secret that must never be written, such as an access token. */
  secret(text: string): void;
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
  });
  return {
    abort: tools.transport.abort,
    async send(request) {
      const response = await follow(request, tools, tokens, send);
      if (response.status !== 401 || request.auth?.type !== 'oauth2_client_credentials') return response;
      tokens.forget(request.auth);
      return follow(request, tools, tokens, send);
    },
  };
}

type Send = (hop: Hop) => Promise<HttpResponse>;

/**
 * ky is the client; the fetch it is given sends on our own transport, which answers with what we need of a response.
 * Retries, deadlines and statuses are the engine's and the transport's.
 */
function createSender(transport: Transport): Send {
  const fixed = { retry: 0, timeout: false, throwHttpErrors: false } as const;
  return (hop) => {
    const fetch = () => transport.send(hop) as unknown as Promise<Response>;
    return ky(hop.origin, { ...fixed, fetch }) as unknown as Promise<HttpResponse>;
  };
}

function tokenHop(url: string, headers: Record<string, string>, form: string, now: number): Hop {
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

/** Sends a request and follows its redirects, all within one deadline. */
async function follow(request: HttpRequest, tools: HttpTools, tokens: Tokens, send: Send): Promise<HttpResponse> {
  const deadlineMs = tools.now() + request.timeoutMs;
  let hop = firstHop(request, deadlineMs);
  let isHome = true;
  for (let redirects = 0; ; redirects++) {
    // Once away, never signed again: another origin must not choose where the credential goes.
    isHome &&= hop.origin === request.origin;
    const signed = isHome && request.auth ? signedHop(hop, await signatureOf(request.auth, tools, tokens)) : hop;
    const response = await send(signed);
    const next = nextTarget(response, hop, { followAny: request.followAny, allowHttp: tools.allowHttp });
    if (!next) return response;
    if (redirects === mostRedirects) {
      throw new Failure('http', `more than ${mostRedirects} redirects, the last to ${next.origin}${next.path}`, {
        status: response.status,
      });
    }
    hop = next;
  }
}

function firstHop(request: HttpRequest, deadlineMs: number): Hop {
  const { method, origin, path, headers, body, timeoutMs, maxBodyBytes } = request;
  return { method, origin, path, headers, body, deadlineMs, timeoutMs, maxBodyBytes, allowHosts: request.hostFromData?.allowHosts };
}

function signedHop(hop: Hop, { headers, query }: Signature): Hop {
  return { ...hop, path: withQuery(hop.path, query), headers: { ...hop.headers, ...headers } };
}

async function signatureOf(auth: Auth, tools: HttpTools, tokens: Tokens): Promise<Signature> {
  const secret = tools.secrets.get(auth.credential);
  if (secret === undefined) throw new AutomateError('credential', `there is no credential "${auth.credential}"`);
  return signature(auth, auth.type === 'oauth2_client_credentials' ? await tokens.token(auth, secret) : secret);
}
