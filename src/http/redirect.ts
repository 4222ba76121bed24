import { type LinkRules, linkTarget, lostBody, redirectStatuses } from '../core/answer/link.ts';
import { Failure } from '../core/failure.ts';
import type { HttpResponse } from '../core/ports.ts';
import type { WireRequest } from './exchange.ts';

/**
 * Returns the request that follows a redirect (RFC 9110, 15.4); undefined if the response is not a redirect. The request contains no
 * credential. A redirect to a different origin is followed only if the flow allows it, and without custom headers and client certificate. It
 * must not need the body, because the server would take a request without its body for a complete one. `dataHosts` are the allowed hosts in
 * the internal network; undefined if the first request's host does not come from a record. Throws a Failure if the redirect must not be
 * followed.
 */
export function nextTarget(
  response: HttpResponse,
  request: WireRequest,
  rules: LinkRules,
  dataHosts: WireRequest['allowHosts'],
): WireRequest | undefined {
  if (!redirectStatuses.includes(response.status)) return undefined;
  const location = response.header('location');
  if (location === undefined) return undefined;
  const { status } = response;
  const after = afterRedirect(request, status);
  const withBody = after.body ? after.method : undefined;
  const { elsewhere, ...target } = redirectTarget(location, request, { ...rules, withBody }, status);
  const next = { ...after, ...target };
  if (!elsewhere) return next;
  if (withBody) throw new Failure('http', lostBody('a redirect to', next.origin, withBody), { status });
  return { ...next, headers: {}, clientCert: undefined, allowHosts: dataHosts ?? elsewhere.allowHosts };
}

function redirectTarget(location: string, request: WireRequest, rules: LinkRules, status: number): ReturnType<typeof linkTarget> {
  try {
    return linkTarget(location, request, rules);
  } catch (error) {
    throw new Failure('http', `the server redirects to ${(error as Error).message}`, { status });
  }
}

/** As all HTTP clients do: after a 303, every method becomes GET. After a 301 or 302, only POST becomes GET. */
function afterRedirect(request: WireRequest, status: number): WireRequest {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && request.method === 'POST');
  return becomesGet ? withoutBody({ ...request, method: 'GET' }) : request;
}

function withoutBody(request: WireRequest): WireRequest {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.toLowerCase() !== 'content-type'));
  return { ...request, headers, body: undefined };
}
