import { withoutParameter } from '../template/query.ts';
import { isLoopback, targetOf } from '../template/target.ts';
import { excerpt } from './response.ts';

/** The statuses of a redirect that is followed (RFC 9110, 15.4). */
export const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];

/** Rules for the links in a server's answer: redirects and next pages. */
export interface LinkRules {
  /** True if a link may lead to another origin. That request is sent without credential, custom headers and body. */
  readonly followAny: boolean;
  readonly allowHttp: boolean;
  /** The query parameters that carry credentials. They are removed: a server may repeat them in the link. */
  readonly secretParameters: readonly string[] | undefined;
  /** Hosts inside the network that a link may lead to. */
  readonly allowHosts: readonly string[];
}

interface Address {
  readonly origin: string;
  readonly path: string;
}

/** The request that a link leads to. */
export interface LinkTarget extends Address {
  /** Set for another origin: the hosts inside the network that its own links may lead to. */
  readonly elsewhere?: { readonly allowHosts: readonly string[] };
}

/** Follows a link in the answer to a request. `base`: the address that answered, after redirects. Throws an Error with the reason for a refusal. */
export function linkTarget(link: string, from: Address, rules: LinkRules, base = from): LinkTarget {
  const refusal = (reason: string) => new Error(`${excerpt(link)}, ${reason}`);
  if (!URL.canParse(link, base.origin + base.path)) throw refusal('which is not a URL');
  const url = new URL(link, base.origin + base.path);
  for (const name of rules.secretParameters ?? []) url.search = withoutParameter(url.search, name);
  // The scheme is checked first: a blob: URL has the origin of the page that made it.
  if (!/^https?:$/.test(url.protocol)) throw refusal('which is not a web address');
  if (url.origin === from.origin) return { origin: from.origin, path: url.pathname + url.search };
  if (!rules.followAny) throw refusal('another origin (follow: any allows that, without the credential, headers and body)');
  try {
    return { ...targetOf(url.href, { allowHttp: rules.allowHttp }), elsewhere: { allowHosts: reachableHosts(from.origin, url, rules) } };
  } catch (error) {
    throw refusal(`which is refused: ${(error as Error).message}`);
  }
}

/** A server on this machine may link to another one here: the flow itself named a host inside the network. */
function reachableHosts(from: string, to: URL, { allowHosts }: LinkRules): readonly string[] {
  return isLoopback(new URL(from).hostname) && isLoopback(to.hostname) ? [...allowHosts, to.host] : allowHosts;
}

/** The target of the first link with `rel="next"` in a Link header (RFC 8288, 3). Undefined if there is none. */
export function nextLink(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  for (const [, target, parameters] of header.matchAll(/<([^>]*)>((?:\s*;\s*[^\s=;,]*(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g)) {
    if (relations(parameters ?? '').includes('next')) return target;
  }
  return undefined;
}

/** The relations of a link. Only its first `rel` counts, which may name several. */
function relations(parameters: string): string[] {
  for (const [, name, quoted, plain] of parameters.matchAll(/;\s*([^\s=;,]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]*)))?/g)) {
    if (name?.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  }
  return [];
}
