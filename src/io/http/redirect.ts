import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { excerpt } from '../../core/response.ts';
import { isLoopback, targetOf } from '../../core/url.ts';
import type { Hop } from './hop.ts';

/** What is said of redirects. */
export interface RedirectRules {
  readonly followAny: boolean;
  readonly allowHttp: boolean;
  /** The query parameter that carries the credential: a server may repeat it in the Location. */
  readonly secretParameter: string | undefined;
  /** Hosts inside the network that the flow lists. */
  readonly allowHosts: readonly string[];
}

const redirecting = new Set([301, 302, 303, 307, 308]);

/**
 * The request that a redirect asks for (RFC 9110, 15.4), without credential; absent when the answer is none.
 * To another origin only where the flow says so, and then without custom headers and body. Throws a Failure.
 */
export function nextTarget(response: HttpResponse, hop: Hop, rules: RedirectRules): Hop | undefined {
  if (!redirecting.has(response.status)) return undefined;
  const location = response.header('location');
  if (location === undefined) return undefined;
  const refuse = (reason: string) =>
    new Failure('http', `the server redirects to ${excerpt(location)}, ${reason}`, { status: response.status });
  if (!URL.canParse(location, hop.origin + hop.path)) throw refuse('which is no URL');
  const url = new URL(location, hop.origin + hop.path);
  url.hash = '';
  if (rules.secretParameter !== undefined) url.search = withoutParameter(url.search, rules.secretParameter);
  // A blob: URL has the origin of the page that made it.
  if (url.origin === hop.origin && url.protocol !== 'blob:') {
    return { ...afterRedirect(hop, response.status), path: url.pathname + url.search };
  }
  if (!rules.followAny) throw refuse('another origin (follow: any allows that, without the credential, headers and body)');
  try {
    const target = targetOf(url.href, { allowHttp: rules.allowHttp });
    return { ...withoutBody(afterRedirect(hop, response.status)), ...target, headers: {}, allowHosts: reachable(hop, url, rules) };
  } catch (error) {
    throw refuse(`which is refused: ${(error as Error).message}`);
  }
}

/** A server of this machine may name another one here: the flow brought us inside already. */
function reachable(hop: Hop, to: URL, rules: RedirectRules): readonly string[] {
  if (hop.allowHosts !== undefined) return hop.allowHosts;
  return isLoopback(new URL(hop.origin).hostname) && isLoopback(to.hostname) ? [...rules.allowHosts, to.host] : rules.allowHosts;
}

/** The rest of the query stays as it is, byte for byte. */
function withoutParameter(search: string, name: string): string {
  const pairs = search.slice(1).split('&');
  return pairs.filter((pair) => !new URLSearchParams(pair).has(name)).join('&');
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
