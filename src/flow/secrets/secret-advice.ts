import { stringify } from 'yaml';
import type { CredentialKind, CredentialNames } from './credential-names.ts';
import type { Carrier, LiteralSecret } from './secrets.ts';

/** The auth that carries a secret instead. */
interface Replacement {
  readonly kind: CredentialKind;
  /** The part of the value that is the secret, in words. Absent for the whole value. */
  readonly what?: string;
  readonly auth: Readonly<Record<string, string>>;
}

/** The way out for a literal secret: the command that stores it, and the YAML that names it. `masked` hides the parts that must not be printed. */
export function secretAdvice(secret: LiteralSecret, names: CredentialNames, masked: (text: string) => string): string {
  const { carrier, owner } = secret;
  if (carrier.in === 'auth') return adviceUnderAuth(carrier.name);
  if (carrier.in === 'variable') {
    const name = names.of(secret, 'token');
    return `a variable is no place for secrets: store it: automate credentials set ${name}\nand name it in the auth of what sends it: credential: ${name}`;
  }
  if (carrier.in === 'elsewhere' && carrier.name === 'command') return adviceForCommand(names.of(secret, 'token'));
  const { kind, what = 'it', auth } = replacementFor(carrier, masked);
  const credential = names.of(secret, kind);
  const store = `store ${what}: automate credentials set ${credential}`;
  if (carrier.in === 'body') return adviceInBody(secret, credential);
  const one = stringify({ ...auth, credential }, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
  const place = withoutCredential(carrier.in);
  if (place !== undefined) {
    const field = `take it from a field such as "{{${fieldFor(carrier, names)}}}"`;
    return `${place} cannot carry a credential: send it with auth where the API allows, or ${field}\nto send it with auth, ${store}\nand write: auth: ${one}`;
  }
  if (!owner.hasCredential) return `${store}\n${insteadOf(carrier)}: auth: ${one}`;
  if (fillsAuthorization(auth)) return 'auth signs the request already\nleave this one out';
  return `${store}\nand add it to auth, which may be a list: ${one}`;
}

function insteadOf({ in: place }: Carrier): string {
  if (place === 'header') return 'remove the header, and write beside headers';
  return place === 'query' || place === 'login' ? 'remove it from the URL, and write beside the URL' : 'and put in its place';
}

/** The way out for a secret in a body. A body that is a text becomes a mapping for it. */
function adviceInBody({ carrier, text, isBodyText }: LiteralSecret, credential: string): string {
  const what = isBodyText || text === carrier.value ? 'it' : 'the whole value';
  const place = isBodyText ? 'and write the body as a mapping, with this in its place:' : 'and put in its place:';
  return `store ${what}: automate credentials set ${credential}\n${place} { credential: ${credential} }`;
}

function fillsAuthorization({ type, header }: Readonly<Record<string, string>>): boolean {
  return type === 'bearer' || type === 'basic' || /^authorization$/i.test(header ?? '');
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

/** The place in words, if `auth` cannot fill it; else `undefined`. */
function withoutCredential(place: Carrier['in']): string | undefined {
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
      return inBodyOrElsewhere(name);
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

/** The kind of a member of a body, guessed from its name. Without a place for it in a body, it may be sent as a bearer token. */
function inBodyOrElsewhere(name: string): Replacement {
  const kind = /secret/i.test(name) ? 'secret' : /pass|pwd/i.test(name) ? 'password' : 'token';
  return { kind, auth: { type: 'bearer' } };
}

/** A field for the secret, with the name that it has now. */
export function fieldFor({ name }: Carrier, { isFree }: CredentialNames): string {
  const field = name.replace(/[^\p{L}\p{N}_]+/gu, '_');
  return /^(?:|body|url|base_url|value)$/.test(field) || !isFree(field) ? 'token' : field;
}
