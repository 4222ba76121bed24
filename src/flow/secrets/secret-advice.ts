import { stringify } from 'yaml';
import type { CredentialNames } from './credential-names.ts';
import type { Carrier, LiteralSecret } from './secrets.ts';

/** How a request is to carry a secret instead. */
interface Way {
  readonly kind: 'token' | 'login' | 'secret';
  /** What of the value is the secret, where that is not plain. */
  readonly what?: string;
  readonly auth: Readonly<Record<string, string>>;
}

/** What to do about a literal secret: the command that keeps it, and the YAML that stands for it. `said` hides what must not be printed. */
export function secretAdvice(secret: LiteralSecret, names: CredentialNames, said: (text: string) => string): string {
  const { carrier, owner } = secret;
  if (carrier.in === 'auth') return adviceUnderAuth(carrier.name);
  if (carrier.in === 'elsewhere' && carrier.name === 'command') return adviceForCommand(names.of(secret, 'token'));
  const field = `take it from a field such as "{{${fieldFor(carrier, names)}}}"`;
  if (owner.hasCredential) {
    const leave = `a request carries one credential, and auth names it\nleave this one out`;
    return carrier.in === 'login' ? leave : `${leave}, or ${field}`;
  }
  const { kind, what = 'it', auth } = wayOf(carrier, said);
  const credential = names.of(secret, kind);
  const keep = `keep ${what}: automate credentials set ${credential}`;
  const written = `auth: ${stringify({ ...auth, credential }, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()}`;
  const place = withoutCredential(carrier.in);
  if (place === undefined) return `${keep}\nand put in its place: ${written}`;
  return `${place} cannot carry a credential: send it with auth where the API allows, or ${field}\nto send it with auth, ${keep}\nand write: ${written}`;
}

function adviceUnderAuth(name: string): string {
  if (name === 'username') return 'leave username out, and keep username:password as the credential that auth names';
  if (name === 'client_id') return "write the client's public id; its secret is kept as the credential that auth names";
  return 'leave it out; the secret is kept as the credential that auth names';
}

/** A server that is started here takes its secrets from variables. */
function adviceForCommand(credential: string): string {
  return `keep it: automate credentials set ${credential}\nand give it to the server as a variable: credentials: { API_KEY: ${credential} }`;
}

/** The place in words, where `auth` cannot put anything. */
function withoutCredential(place: Carrier['in']): string | undefined {
  if (place === 'body') return 'a body';
  if (place === 'path') return "a URL's path";
  return place === 'elsewhere' ? 'this place' : undefined;
}

/** How the secret of a header, a parameter, a URL or a body can be carried by `auth`. `said` hides what must not be printed. */
export function wayOf({ in: place, name, value }: Carrier, said: (text: string) => string): Way {
  switch (place) {
    case 'query':
      return { kind: 'token', what: `it${decoded(value)}`, auth: { type: 'api_key', query: said(name) } };
    case 'login':
      return { kind: 'login', what: `it as username:password${decoded(value)}`, auth: { type: 'basic' } };
    case 'header':
      return headerWay(name, value, said);
    default:
      return memberWay(name);
  }
}

/** What stands in a URL is written as URLs are; `auth` encodes it itself. */
function decoded(value: string): string {
  return /%[\da-f]{2}/i.test(value) ? ', percent-decoded' : '';
}

/** The scheme stays part of the secret, unless it is one that `auth` writes itself. */
function headerWay(name: string, value: string, said: (text: string) => string): Way {
  const scheme = /^authorization$/i.test(name) ? /^\s*(\S+)\s/.exec(value)?.[1]?.toLowerCase() : undefined;
  if (scheme === 'bearer') return { kind: 'token', auth: { type: 'bearer' } };
  if (scheme === 'basic') return { kind: 'login', what: 'it as username:password', auth: { type: 'basic' } };
  const what = /\S\s+\S/.test(value) ? "the header's whole value" : 'it';
  return { kind: 'token', what, auth: { type: 'api_key', header: said(name) } };
}

/** What a body says of a secret tells how else an API may take it. */
function memberWay(name: string): Way {
  if (/client[-_]?secret/i.test(name)) {
    return { kind: 'secret', auth: { type: 'oauth2_client_credentials', token_url: 'URL', client_id: 'ID' } };
  }
  if (/pass|pwd/i.test(name)) return { kind: 'login', what: 'it as username:password', auth: { type: 'basic' } };
  return { kind: 'token', auth: { type: 'bearer' } };
}

/** The field that could hold the secret: called as it is now. */
export function fieldFor({ name }: Carrier, { isFree }: CredentialNames): string {
  const field = name.replace(/[^\p{L}\p{N}_]+/gu, '_');
  return /^(?:|body|url|base_url|value)$/.test(field) || !isFree(field) ? 'token' : field;
}
