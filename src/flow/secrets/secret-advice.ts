import { stringify } from 'yaml';
import type { CredentialNames } from './credential-names.ts';
import type { Carrier, LiteralSecret } from './secrets.ts';

/** The auth that carries a secret instead. */
interface Replacement {
  readonly kind: 'token' | 'login' | 'secret';
  /** The part of the value that is the secret, in words. Absent for the whole value. */
  readonly what?: string;
  readonly auth: Readonly<Record<string, string>>;
}

/** The way out for a literal secret: the command that stores it, and the YAML that names it. `masked` hides the parts that must not be printed. */
export function secretAdvice(secret: LiteralSecret, names: CredentialNames, masked: (text: string) => string): string {
  const { carrier, owner } = secret;
  if (carrier.in === 'auth') return adviceUnderAuth(carrier.name);
  if (carrier.in === 'elsewhere' && carrier.name === 'command') return adviceForCommand(names.of(secret, 'token'));
  const field = `take it from a field such as "{{${fieldFor(carrier, names)}}}"`;
  if (owner.hasCredential) {
    const leave = `a request carries one credential, and auth names it\nleave this one out`;
    return carrier.in === 'login' ? leave : `${leave}, or ${field}`;
  }
  const { kind, what = 'it', auth } = replacementFor(carrier, masked);
  const credential = names.of(secret, kind);
  const store = `store ${what}: automate credentials set ${credential}`;
  const written = `auth: ${stringify({ ...auth, credential }, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()}`;
  const place = withoutCredential(carrier.in);
  if (place === undefined) return `${store}\nand put in its place: ${written}`;
  return `${place} cannot carry a credential: send it with auth where the API allows, or ${field}\nto send it with auth, ${store}\nand write: ${written}`;
}

function adviceUnderAuth(name: string): string {
  if (name === 'username') return 'leave username out, and store username:password as the credential that auth names';
  if (name === 'client_id') return "write the client's public id, and store its secret as the credential that auth names";
  return 'leave it out, and store the secret as the credential that auth names';
}

/** The way out for a server on this machine: it gets its secrets from variables. */
function adviceForCommand(credential: string): string {
  return `store it: automate credentials set ${credential}\nand give it to the server as a variable: credentials: { API_KEY: ${credential} }`;
}

/** The name of a place that `auth` cannot fill. Absent for the others. */
function withoutCredential(place: Carrier['in']): string | undefined {
  if (place === 'body') return 'a body';
  if (place === 'path') return "a URL's path";
  return place === 'elsewhere' ? 'this place' : undefined;
}

/** The auth that can carry the secret of a header, a parameter, a URL or a body. `masked` hides the parts that must not be printed. */
export function replacementFor({ in: place, name, value }: Carrier, masked: (text: string) => string): Replacement {
  switch (place) {
    case 'query':
      return { kind: 'token', what: `it${decodingHint(value)}`, auth: { type: 'api_key', query: masked(name) } };
    case 'login':
      return { kind: 'login', what: `it as username:password${decodingHint(value)}`, auth: { type: 'basic' } };
    case 'header':
      return headerAuth(name, value, masked);
    default:
      return bodyAuth(name);
  }
}

/** A hint for an encoded secret in a URL: `auth` encodes it itself. */
function decodingHint(value: string): string {
  return /%[\da-f]{2}/i.test(value) ? ', percent-decoded' : '';
}

/** The auth for a header. Its scheme stays part of the secret, unless `auth` writes it itself. */
function headerAuth(name: string, value: string, masked: (text: string) => string): Replacement {
  const scheme = /^authorization$/i.test(name) ? /^\s*(\S+)\s/.exec(value)?.[1]?.toLowerCase() : undefined;
  if (scheme === 'bearer') return { kind: 'token', auth: { type: 'bearer' } };
  if (scheme === 'basic') return { kind: 'login', what: 'it as username:password', auth: { type: 'basic' } };
  const what = /\S\s+\S/.test(value) ? "the header's whole value" : 'it';
  return { kind: 'token', what, auth: { type: 'api_key', header: masked(name) } };
}

/** The auth for a member of a body, guessed from its name. */
function bodyAuth(name: string): Replacement {
  if (/client[-_]?secret/i.test(name)) {
    return { kind: 'secret', auth: { type: 'oauth2_client_credentials', token_url: 'URL', client_id: 'ID' } };
  }
  if (/pass|pwd/i.test(name)) return { kind: 'login', what: 'it as username:password', auth: { type: 'basic' } };
  return { kind: 'token', auth: { type: 'bearer' } };
}

/** A field for the secret, with the name that it has now. */
export function fieldFor({ name }: Carrier, { isFree }: CredentialNames): string {
  const field = name.replace(/[^\p{L}\p{N}_]+/gu, '_');
  return /^(?:|body|url|base_url|value)$/.test(field) || !isFree(field) ? 'token' : field;
}
