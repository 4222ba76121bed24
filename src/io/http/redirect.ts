import { type LinkRules, linkTarget, redirectStatuses } from '../../core/answer/link.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Hop } from './wire-request.ts';

/**
 * The request that a redirect asks for (RFC 9110, 15.4), without credential; absent when the answer is none.
 * To another origin only where the flow says so, and then without custom headers and body. `dataHosts`: where the first request's
 * host, named by a record, may lead, and none behind it any further; absent where the flow names it. Throws a Failure.
 */
export function nextTarget(response: HttpResponse, hop: Hop, rules: LinkRules, dataHosts: Hop['allowHosts']): Hop | undefined {
  if (!redirectStatuses.includes(response.status)) return undefined;
  const location = response.header('location');
  if (location === undefined) return undefined;
  const { elsewhere, ...target } = targetOf(location, hop, rules, response.status);
  const next = { ...afterRedirect(hop, response.status), ...target };
  return elsewhere ? { ...withoutBody(next), headers: {}, allowHosts: dataHosts ?? elsewhere.allowHosts } : next;
}

function targetOf(location: string, hop: Hop, rules: LinkRules, status: number): ReturnType<typeof linkTarget> {
  try {
    return linkTarget(location, hop, rules);
  } catch (error) {
    throw new Failure('http', `the server redirects to ${(error as Error).message}`, { status });
  }
}

/** 303 asks for a GET, and so do all clients after a POST that was answered 301 or 302. */
function afterRedirect(hop: Hop, status: number): Hop {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && hop.method === 'POST');
  return becomesGet ? withoutBody({ ...hop, method: 'GET' }) : hop;
}

function withoutBody(hop: Hop): Hop {
  const headers = Object.fromEntries(Object.entries(hop.headers).filter(([name]) => name.toLowerCase() !== 'content-type'));
  return { ...hop, headers, body: undefined };
}
