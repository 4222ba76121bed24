import { type LinkRules, linkTarget, redirectStatuses } from '../../core/answer/link.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { WireRequest } from './exchange.ts';

/**
 * The request that a redirect asks for (RFC 9110, 15.4), without a credential. Absent if the answer is not a redirect.
 * It goes to another origin only if the flow allows other origins, and then without custom headers, body and client certificate.
 * `dataHosts`: where a request may lead whose host a record names, and every redirect after it; absent if the flow names the host.
 * Throws a Failure.
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
  const { elsewhere, ...target } = redirectTarget(location, request, rules, response.status);
  const next = { ...afterRedirect(request, response.status), ...target };
  return elsewhere ? { ...withoutBody(next), headers: {}, clientCert: undefined, allowHosts: dataHosts ?? elsewhere.allowHosts } : next;
}

function redirectTarget(location: string, request: WireRequest, rules: LinkRules, status: number): ReturnType<typeof linkTarget> {
  try {
    return linkTarget(location, request, rules);
  } catch (error) {
    throw new Failure('http', `the server redirects to ${(error as Error).message}`, { status });
  }
}

/** A 303 asks for a GET. After a POST, all clients send a GET after a 301 or 302 as well. */
function afterRedirect(request: WireRequest, status: number): WireRequest {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && request.method === 'POST');
  return becomesGet ? withoutBody({ ...request, method: 'GET' }) : request;
}

function withoutBody(request: WireRequest): WireRequest {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.toLowerCase() !== 'content-type'));
  return { ...request, headers, body: undefined };
}
