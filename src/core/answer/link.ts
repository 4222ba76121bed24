import { isLoopback, targetOf, withoutParameter } from '../template/url.ts';
import { excerpt } from './response.ts';

/** What is said of links that a server's answer holds: redirects, and next pages. */
export interface LinkRules {
  /** Whether another origin may be asked, without credential, custom headers and body. */
  readonly followAny: boolean;
  readonly allowHttp: boolean;
  /** The query parameter that carries the credential: a server may repeat it in the link. */
  readonly secretParameter: string | undefined;
  /** Hosts inside the network that may be asked. */
  readonly allowHosts: readonly string[];
}

/** Where a link leads. */
export interface LinkTarget {
  readonly origin: string;
  readonly path: string;
  /** Set for another origin: hosts inside the network that may be asked there. */
  readonly elsewhere?: { readonly allowHosts: readonly string[] };
}

interface Address {
  readonly origin: string;
  readonly path: string;
}

/** Follows a link in the answer to a request. `base`: what answered it, behind its redirects. Throws an Error that says why it is refused. */
export function linkTarget(link: string, from: Address, rules: LinkRules, base = from): LinkTarget {
  const refuse = (reason: string) => new Error(`${excerpt(link)}, ${reason}`);
  if (!URL.canParse(link, base.origin + base.path)) throw refuse('which is no URL');
  const url = new URL(link, base.origin + base.path);
  if (rules.secretParameter !== undefined) url.search = withoutParameter(url.search, rules.secretParameter);
  // What is none may have our origin, too: a blob: URL has that of the page that made it.
  if (!/^https?:$/.test(url.protocol)) throw refuse('which is no web address');
  if (url.origin === from.origin) return { origin: from.origin, path: url.pathname + url.search };
  if (!rules.followAny) throw refuse('another origin (follow: any allows that, without the credential, headers and body)');
  try {
    return { ...targetOf(url.href, { allowHttp: rules.allowHttp }), elsewhere: { allowHosts: reachable(from.origin, url, rules) } };
  } catch (error) {
    throw refuse(`which is refused: ${(error as Error).message}`);
  }
}

/** A server of this machine may name another one here: the flow brought us inside already. */
function reachable(from: string, to: URL, { allowHosts }: LinkRules): readonly string[] {
  return isLoopback(new URL(from).hostname) && isLoopback(to.hostname) ? [...allowHosts, to.host] : allowHosts;
}
