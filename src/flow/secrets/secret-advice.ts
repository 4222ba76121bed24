import { stringify } from 'yaml';
import { credentialName } from '../../core/options/names.ts';
import type { LiteralSecret, SecretCarrier } from './secrets.ts';

/** The `auth` option that would send a secret in place of the literal text. */
interface Replacement {
  readonly kind: CredentialKind;
  /** The part of the value that is the secret; undefined if the whole value is the secret. */
  readonly what?: string;
  readonly auth: Readonly<Record<string, string>>;
}

/** Advises the command that stores the secret and the YAML that refers to it. `masked` hides the parts that must not be printed. */
export function secretAdvice(secret: LiteralSecret, names: CredentialNames, masked: (text: string) => string): string {
  const { carrier, owner } = secret;
  if (carrier.in === 'auth') return adviceUnderAuth(carrier.name);
  if (carrier.in === 'variable') {
    const name = names.of(secret, 'token');
    return `a variable must not contain a secret; store it: automate credentials set ${name}\nand refer to it in the auth of the node that sends it: credential: ${name}`;
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
  return `${store}\nand add it to auth, which can be a list: ${one}`;
}

function insteadOf({ in: place }: SecretCarrier): string {
  if (place === 'header') return 'remove the header, and write next to headers';
  return place === 'query' || place === 'login' ? 'remove it from the URL, and write next to the URL' : 'and put in its place';
}

/** For JSON text, also advises to write the body as a mapping. */
function adviceInBody({ carrier, text, isBodyText }: LiteralSecret, credential: string): string {
  const what = isBodyText || text === carrier.value ? 'it' : 'the whole value';
  const place = isBodyText ? 'and write the body as a mapping, with this in its place:' : 'and put in its place:';
  return `store ${what}: automate credentials set ${credential}\n${place} { credential: ${credential} }`;
}

function fillsAuthorization({ type, header }: Readonly<Record<string, string>>): boolean {
  return type === 'bearer' || type === 'basic' || /^authorization$/i.test(header ?? '');
}

function adviceUnderAuth(name: string): string {
  if (name === 'username') return 'leave username out, and store username:password as the credential that auth refers to';
  if (name === 'client_id') return "write the client's public id, and store its secret as the credential that auth refers to";
  return 'leave it out, and store the secret as the credential that auth refers to';
}

/** A local MCP server gets its secrets through environment variables. */
function adviceForCommand(credential: string): string {
  return `store it: automate credentials set ${credential}\nand give it to the server as a variable: credentials: { API_KEY: ${credential} }`;
}

/** The name of a place to which `auth` cannot add a secret. */
function withoutCredential(place: SecretCarrier['in']): string | undefined {
  if (place === 'path') return "a URL's path";
  return place === 'elsewhere' ? 'this place' : undefined;
}

/** The `auth` that can replace the secret. `masked` hides the parts that must not be printed. */
export function replacementFor({ in: place, name, value }: SecretCarrier, masked: (text: string) => string): Replacement {
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

/** Advises to decode a percent-encoded secret before storing it, because `auth` encodes it. Otherwise empty. */
function decodingHint(value: string): string {
  return /%[\da-f]{2}/i.test(value) ? ', percent-decoded' : '';
}

/** A scheme such as `Bearer` is part of the secret, unless `auth` adds it. */
function headerAuth(name: string, value: string, masked: (text: string) => string): Replacement {
  const scheme = /^authorization$/i.test(name) ? /^\s*(\S+)\s/.exec(value)?.[1]?.toLowerCase() : undefined;
  if (scheme === 'bearer') return { kind: 'token', auth: { type: 'bearer' } };
  if (scheme === 'basic') return { kind: 'login', what: 'it as username:password', auth: { type: 'basic' } };
  const what = /\S\s+\S/.test(value) ? "the header's whole value" : 'it';
  return { kind: 'token', what, auth: { type: 'api_key', header: masked(name) } };
}

/** Guesses a body secret's kind from the member's name. For places without credentials, also returns a bearer token's `auth`. */
function inBodyOrElsewhere(name: string): Replacement {
  const kind = /secret/i.test(name) ? 'secret' : /pass|pwd/i.test(name) ? 'password' : 'token';
  return { kind, auth: { type: 'bearer' } };
}

/** A record field that can provide the secret, named similarly. */
export function fieldFor({ name }: SecretCarrier, { isFree }: CredentialNames): string {
  const field = name.replace(/[^\p{L}\p{N}_]+/gu, '_');
  return /^(?:|body|url|base_url|value)$/.test(field) || !isFree(field) ? 'token' : field;
}

/** The invented name of a credential ends with this word. */
type CredentialKind = 'token' | 'login' | 'secret' | 'password';

/** Invents names that can be printed, because they contain no part of a secret. */
interface CredentialNames {
  /** For example `crm-token`. Different secrets always get different names. */
  of(secret: LiteralSecret, kind: CredentialKind): string;
  isFree(word: string): boolean;
}

/** `taken` lists the names that other credentials already have. No name fulfils `isSecret`. */
export function credentialNames(
  secrets: readonly LiteralSecret[],
  taken: readonly string[] = [],
  isSecret: (name: string) => boolean = () => false,
): CredentialNames {
  const values = secrets.map(({ carrier }) => carrier.value.toLowerCase());
  const pieces = values.flatMap((value) => value.match(/[\p{L}\p{N}_-]{4,}/gu) ?? []);
  const given = new Map<string, string | undefined>(taken.map((name) => [name, undefined]));
  return { of: nameOf, isFree };

  function nameOf({ owner, carrier }: LiteralSecret, kind: string): string {
    const secret = carrier.value.replace(/^\s*bearer\s+/i, '').trim();
    const named = `${owner.names.find((name) => isFree(name) && isName(`${name}-${kind}`)) ?? 'my'}-${kind}`;
    for (let count = 1; ; count++) {
      const name = count === 1 ? named : `${named}-${count}`;
      if (isSecret(name) || (given.has(name) && given.get(name) !== secret)) continue;
      given.set(name, secret);
      return name;
    }
  }

  function isFree(word: string): boolean {
    const lower = word.toLowerCase();
    if (pieces.some((piece) => lower.includes(piece))) return false;
    return isName(word) && !(/\d/.test(word) && values.some((value) => value.includes(lower)));
  }
}

function isName(text: string): boolean {
  return credentialName.safeParse(text).success;
}
