import { withoutParameter } from '../template/query.ts';
import { isLoopback, targetOf } from '../template/target.ts';
import { excerpt } from './response.ts';

/** The redirect statuses that are followed (RFC 9110, 15.4). */
export const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];

/** The rules for following a link in a response: a redirect, or a link to the next page. */
export interface LinkRules {
  /** True if a link may lead to another origin. The request to that origin is then sent without the credential, custom headers or body. */
  readonly followAny: boolean;
  readonly allowHttp: boolean;
  /** The query parameters that contain credentials. They are removed from links, because a server might repeat them in a link. */
  readonly secretParameters: readonly string[] | undefined;
  /** Private-network hosts to which a link may lead. */
  readonly allowHosts: readonly string[];
}

interface Address {
  readonly origin: string;
  readonly path: string;
}

/** The URL to which a link leads, as origin and path. */
export interface LinkTarget extends Address {
  /** Set if the link leads to another origin. It lists the private-network hosts to which that origin's links may lead. */
  readonly elsewhere?: { readonly allowHosts: readonly string[] };
}

/**
 * Returns the URL to which a link in a response leads. `from` is the URL of the request, and `base` is the URL of the response after
 * redirects. Throws an Error with the reason if the link must not be followed.
 */
export function linkTarget(link: string, from: Address, rules: LinkRules, base = from): LinkTarget {
  const refusal = (reason: string) => new Error(`${excerpt(link)}, ${reason}`);
  if (!URL.canParse(link, base.origin + base.path)) throw refusal('which is not a URL');
  const url = new URL(link, base.origin + base.path);
  for (const name of rules.secretParameters ?? []) url.search = withoutParameter(url.search, name);
  // The scheme is checked first: a blob: URL has the origin of the page that created it, so the next line alone would accept it.
  if (!/^https?:$/.test(url.protocol)) throw refusal('which is not a web address');
  if (url.origin === from.origin) return { origin: from.origin, path: url.pathname + url.search };
  if (!rules.followAny) throw refusal('a different origin (follow: any allows that, without the credential, headers and body)');
  try {
    return { ...targetOf(url.href, { allowHttp: rules.allowHttp }), elsewhere: { allowHosts: reachableHosts(from.origin, url, rules) } };
  } catch (error) {
    throw refusal(`which is refused: ${(error as Error).message}`);
  }
}

/**
 * Returns the private-network hosts to which links may lead. If the request went to this machine, links may also lead to another server on
 * this machine.
 */
function reachableHosts(from: string, to: URL, { allowHosts }: LinkRules): readonly string[] {
  return isLoopback(new URL(from).hostname) && isLoopback(to.hostname) ? [...allowHosts, to.host] : allowHosts;
}

/** Returns the URL of the first link with `rel="next"` in a Link header (RFC 8288, 3); undefined if there is none. */
export function nextLink(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  for (const [, target, parameters] of header.matchAll(/<([^>]*)>((?:\s*;\s*[^\s=;,]*(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g)) {
    if (relations(parameters ?? '').includes('next')) return target;
  }
  return undefined;
}

/** Returns the relation types of a link, such as `next`. Only the first `rel` parameter counts; it can list several types. */
function relations(parameters: string): string[] {
  for (const [, name, quoted, plain] of parameters.matchAll(/;\s*([^\s=;,]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]*)))?/g)) {
    if (name?.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  }
  return [];
}
