import { type Document, isPair, isScalar, visit } from 'yaml';
import type { NamedPlace } from '../core/secret-shapes.ts';
import { holdsToken, isRandomText, tokenIn } from '../core/token-text.ts';
import { surenessOf } from './secret-names.ts';
import { type Owner, ownerOf } from './secret-owner.ts';

/** A literal secret in a flow: where it stands, and what it looks like. */
export interface LiteralSecret extends Carried {
  readonly range: readonly [number, number];
  /** The value itself, to be kept out of messages. */
  readonly text: string;
  readonly owner: Owner;
}

/** What holds a secret, in words, and what of a request would carry it. */
interface Carried {
  readonly found: string;
  readonly carrier: Carrier;
}

/** `login` stands before a URL's host, `path` is anywhere else in it but its query. */
export interface Carrier {
  readonly in: NamedPlace | 'login' | 'path' | 'elsewhere';
  /** Of the header, the parameter or the member. */
  readonly name: string;
  /** The secret, at most with what stands around it. */
  readonly value: string;
}

const schemeAndToken = /^\s*(?:bearer|basic|token|digest|apikey)\s+(?=\S*\d)\S{8,}\s*$/i;
const signedValue = /(?:^|["'=])\s*(bearer|basic)(?:\s|\+|%20)+([^\s"'&#]{8,})\s*(?:$|["'&#])/gi;
const parameter = /[?&]([\w-]+)=(?=([^&#\s]+))/g;
const member = /"([\w-]+)"\s*:\s*(?=(?:"([^"]+)"|(\d+)))/g;
const login = /^[a-z]+:\/\/([^/?#]*:[^/?#@]+)@/i;

/** Literal secrets in the headers, URLs and bodies of a flow. Such a value would stand in a file that people share. */
export function literalSecrets(document: Document): LiteralSecret[] {
  const secrets: LiteralSecret[] = [];
  visit(document, {
    Scalar(key, scalar, ancestors) {
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (key === 'key' || !scalar.range || (isUnderAuth(names) && names.at(-2) !== 'headers')) return;
      if (typeof scalar.value !== 'string' && typeof scalar.value !== 'number') return;
      const text = typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value));
      const [start, end] = scalar.range;
      for (const carried of foundIn(names, text)) secrets.push({ ...carried, range: [start, end], text, owner: ownerOf(ancestors) });
    },
  });
  return secrets;
}

/** Whether a place stands under `auth`; a body may have a member of that name. */
export function isUnderAuth(names: readonly string[]): boolean {
  const auth = names.indexOf('auth');
  return auth >= 0 && !names.slice(0, auth).includes('body');
}

/** What of a value is a literal secret. */
function foundIn(names: readonly string[], text: string): Carried[] {
  const found = namedIn(names, text);
  if (found.length > 0) return found;
  const name = names.at(-1) ?? '';
  const isSent = names.includes('body') || isUrl(name);
  if (!holdsToken(text) && !(isSent && isSigned(text))) return [];
  return [{ found: `the value of "${name}"`, carrier: carrierOf(names, text) }];
}

/** What a name beside the value tells. */
function namedIn(names: readonly string[], text: string): Carried[] {
  const name = names.at(-1) ?? '';
  if (names.includes('headers')) {
    const found = name === 'headers' ? 'the value of "headers"' : `the header "${name}"`;
    return isSecretHeader(name, text) ? [{ found, carrier: carrierOf(names, text) }] : [];
  }
  if (names.includes('body')) {
    if (isTold(name, 'body', text, hasLiteral(text))) return [{ found: `"${name}" in the body`, carrier: carrierOf(names, text) }];
    return name === 'body'
      ? namedMembers(text, member, 'body').map((carrier) => ({ found: `the body's member "${carrier.name}"`, carrier }))
      : [];
  }
  if (!isUrl(name)) return [];
  const parameters = namedMembers(text, parameter, 'query').map((carrier) => ({ found: `the query parameter "${carrier.name}"`, carrier }));
  const value = login.exec(text)?.[1];
  if (value === undefined) return parameters;
  return [...parameters, { found: 'the user name and password in the URL', carrier: { in: 'login', name: '', value } }];
}

function isUrl(name: string): boolean {
  return name === 'url' || name === 'base_url';
}

/** The secrets that have their names beside them inside a text, one of each name. */
function namedMembers(text: string, pattern: RegExp, place: NamedPlace): Carrier[] {
  const found = new Map<string, Carrier>();
  for (const [, name = '', quoted, bare] of text.matchAll(pattern)) {
    const value = quoted ?? bare ?? '';
    if (!found.has(name) && isTold(name, place, value, !value.startsWith('{{'))) found.set(name, { in: place, name, value });
  }
  return [...found.values()];
}

/** What would carry a value that is a secret, whatever its name. */
function carrierOf(names: readonly string[], text: string): Carrier {
  const name = names.at(-1) ?? '';
  const around = names.find((one) => /^(?:headers|body|fields|arguments)$/.test(one));
  if (around === 'headers') return { in: 'header', name: name === 'headers' ? 'Authorization' : name, value: text };
  const value = tokenIn(text) ?? text;
  if (around === 'body') return { in: 'body', name, value };
  if (around !== undefined || !isUrl(name)) return { in: 'elsewhere', name, value };
  for (const [, inQuery = '', sent = ''] of text.matchAll(parameter)) {
    if (holdsToken(sent) || isSigned(sent)) return { in: 'query', name: inQuery, value: sent };
  }
  const user = /^[a-z]+:\/\/([^/?#]*)@/i.exec(text)?.[1] ?? '';
  return { in: holdsToken(user) ? 'login' : 'path', name: '', value };
}

/** Whether the name, with its value, tells a secret. */
function isTold(name: string, place: NamedPlace, text: string, isLiteral: boolean): boolean {
  switch (surenessOf(name, place)) {
    case 'always':
      return isLiteral;
    case 'likely':
      return isLikely(text);
    case 'random':
      return literalOf(text)
        .split(/[;=\s]+/)
        .some(isRandomText);
    default:
      return false;
  }
}

function isSecretHeader(name: string, text: string): boolean {
  if (!hasLiteral(text)) return false;
  return (
    isTold(name, 'header', text, true) ||
    schemeAndToken.test(literalOf(text)) ||
    isSigned(text) ||
    (/^cookie$/i.test(name) && text.split(';').some((cookie) => isLikely(cookie.slice(cookie.indexOf('=') + 1).trim())))
  );
}

/** Whether a value looks like a secret: one word of eight characters or more, with digits among them. Names of versions have one. */
function isLikely(text: string): boolean {
  return /^(?=(?:\S*\d){2})\S{8,}$/.test(literalOf(text));
}

/** Whether a value signs as an `Authorization` header does (RFC 6750, RFC 7617). */
function isSigned(text: string): boolean {
  if (!hasLiteral(text)) return false;
  const signed = [...literalOf(text).matchAll(signedValue)];
  return signed.some(([, scheme = '', token = '']) => scheme.toLowerCase() === 'bearer' || isUserAndPassword(token));
}

/** Whether a text is `username:password` in base64. */
function isUserAndPassword(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && /^[^:]+:/.test(Buffer.from(text, 'base64').toString());
}

/** Whether a value says something of its own. Beside references that is a word of the scheme, unless it looks like a secret. */
export function hasLiteral(text: string): boolean {
  const literal = literalOf(text).replace(/\b(?:bearer|basic|token|digest|apikey)\b/gi, '');
  if (/\{\{[^{}]*\}\}/.test(text)) return /(?=[\w.~+/-]*\d)[\w.~+/-]{8,}/.test(literal);
  return /[A-Za-z0-9]/.test(literal);
}

/** A value without its references, and without what was meant to be one. */
function literalOf(text: string): string {
  return text.replace(/\{\{[^{}]*\}\}/g, '');
}
