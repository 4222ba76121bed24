import { isLoopback, isUpgraded, targetOf, withoutParameter } from '../template/url.ts';
import { isObject, type JsonObject, type Value } from '../value/value.ts';
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
  readonly allowHosts: readonly string[];
  /** The method of a request that would lose its body on the way to another origin; undefined if it has no body. */
  readonly withBody?: string;
}

interface Address {
  readonly origin: string;
  readonly path: string;
}

interface LinkTarget extends Address {
  /** Set if the link leads to another origin. It lists the private-network hosts to which that origin's links may lead. */
  readonly elsewhere?: { readonly allowHosts: readonly string[] };
}

/** `base` is the response's URL after redirects. Throws an Error with the reason if the link must not be followed. */
export function linkTarget(link: string, from: Address, rules: LinkRules, base = from): LinkTarget {
  const refusal = (reason: string) => new Error(`${excerpt(link)}, ${reason}`);
  if (!URL.canParse(link, base.origin + base.path)) throw refusal('which is not a URL');
  const url = new URL(link, base.origin + base.path);
  for (const name of rules.secretParameters ?? []) url.search = withoutParameter(url.search, name);
  // The scheme is checked first: a blob: URL has the origin of the page that created it, so the next line alone would accept it.
  if (!/^https?:$/.test(url.protocol)) throw refusal('which is not a web address');
  if (url.origin === from.origin || isUpgraded(url, from.origin)) return { origin: from.origin, path: url.pathname + url.search };
  if (!rules.followAny && rules.withBody) throw refusal(`a different origin\n${sendDirectly(rules.withBody)}`);
  if (!rules.followAny) throw refusal('a different origin (follow: any allows that, without the credential, headers and body)');
  try {
    return { ...targetOf(url.href, { allowHttp: rules.allowHttp }), elsewhere: { allowHosts: reachableHosts(from.origin, url, rules) } };
  } catch (error) {
    throw refusal(`which is refused: ${(error as Error).message}`);
  }
}

/** Returns the message for a link to another origin that is not followed because the server there would get an empty request. */
export function lostBody(link: string, origin: string, method: string): string {
  return `${link} another origin (${origin}) would lose the body\n${sendDirectly(method)}`;
}

function sendDirectly(method: string): string {
  return `if that is the right server, send the ${method} to it directly: write its address as url`;
}

/** If the request went to this machine, links may also lead to another server on this machine. */
function reachableHosts(from: string, to: URL, { allowHosts }: LinkRules): readonly string[] {
  return isLoopback(new URL(from).hostname) && isLoopback(to.hostname) ? [...allowHosts, to.host] : allowHosts;
}

/** RFC 8288, 3. Some servers write the value in single quotes, which count as quotes only if they enclose the whole value. */
const parameter = /\s*;\s*([^\s=;,]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'(?=\s*(?:[;,]|$))|([^\s;,]*)))?/;

const links = new RegExp(`<([^<>]*)>((?:${parameter.source})*)`, 'g');
const parameters = new RegExp(parameter.source, 'g');

/** Returns the first `rel="next"`. A link with `anchor` is left out: it says what follows another page (RFC 8288, 3.2). */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, written = ''] of header?.matchAll(links) ?? []) {
    const values = new Map<string, string>();
    for (const [, name = '', quoted, single, plain] of written.matchAll(parameters)) {
      // Only the first parameter of a name counts (RFC 8288, 3.3).
      const key = name.toLowerCase();
      if (!values.has(key)) values.set(key, quoted ?? single ?? plain ?? '');
    }
    // A value of rel can list several relations.
    const relations = values.get('rel')?.toLowerCase().split(/\s+/);
    if (relations?.includes('next') && !values.has('anchor')) return target;
  }
  return undefined;
}

/** True for a list of links as in FHIR, in Siren, and in the APIs of PayPal and Oracle. An empty list has no next page. */
export function isLinkList(value: Value | undefined): value is JsonObject[] {
  return Array.isArray(value) && value.every((link) => isObject(link) && ('rel' in link || 'relation' in link));
}

/** Returns the address of the link to the next page. */
export function nextOfLinks(list: readonly JsonObject[]): string | undefined {
  const next = list.find(({ rel, relation }) => [rel ?? relation].flat().some((name) => String(name).toLowerCase() === 'next'));
  const address = [next?.href, next?.url, next?.uri].find((one) => typeof one === 'string');
  return address as string | undefined;
}
