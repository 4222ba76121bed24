import { type Document, isMap, isPair, isScalar, isSeq, visit } from 'yaml';
import { publicAuthOptions } from '../../core/auth/auth.ts';
import { isServerUrl } from '../../core/auth/token-options.ts';
import { percentDecoded } from '../../core/template/url.ts';
import { holdsToken, isGeneratedWord, type NamedPlace, tokenIn } from '../../core/text/secret-shapes.ts';
import {
  hasLiteral,
  holdsLogin,
  isNamedSecret,
  isRandomHeader,
  isSecretHeader,
  isSigned,
  type NameRule,
  surenessOf,
} from './secret-text.ts';

export interface LiteralSecret extends Carried {
  readonly range: readonly [number, number];
  /** The value that contains the secret. No message may contain this value. */
  readonly text: string;
  /** True if the value is a whole body, as JSON text. */
  readonly isBodyText: boolean;
  readonly owner: SecretOwner;
}

/** The place of a secret: a description for messages, and the part of the request that would contain it. */
interface Carried {
  readonly found: string;
  readonly carrier: SecretCarrier;
}

/**
 * `login` is the user name and password in a URL, and `path` is any other part of it except the query. `auth` is an option of `auth` other
 * than the credential, and `variable` is a value under `vars`.
 */
export interface SecretCarrier {
  readonly in: NamedPlace | 'login' | 'path' | 'auth' | 'variable' | 'elsewhere';
  /** The name of the header, query parameter or body member. */
  readonly name: string;
  /** The secret, with or without text around it. */
  readonly value: string;
}

const parameter = /[?&;#]([^?&;#=/\s]+)=(?=([^&;#\s]+))/g;
const member = /"([\w-]+)"\s*:\s*(?=(?:"([^"]+)"|(\d+)))/g;
const login = /^[a-z]+:\/\/([^/?#]*:[^/?#@]+)@/i;

/** Searches headers, URLs, bodies and fields. People share flow files, so a flow must not contain secrets. */
export function literalSecrets(document: Document, isNamed: NameRule = isNamedSecret): LiteralSecret[] {
  const secrets: LiteralSecret[] = [];
  visit(document, {
    Scalar(key, scalar, ancestors) {
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (key === 'key' || !scalar.range) return;
      if (typeof scalar.value !== 'string' && typeof scalar.value !== 'number') return;
      const text = typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value));
      const [start, end] = scalar.range;
      const inRequest = insideLogin(names);
      const isAuth = isUnderAuth(inRequest) && (names.at(-2) !== 'headers' || isComputed(text));
      const found = isAuth ? foundUnderAuth(names, text) : foundIn(inRequest, text, isNamed);
      const parent = ancestors.at(-1);
      const isBodyText = isPair(parent) && isScalar(parent.key) && parent.key.value === 'body';
      for (const carried of found) secrets.push({ ...carried, range: [start, end], text, isBodyText, owner: ownerOf(ancestors) });
    },
  });
  return secrets;
}

const dataNames = ['body', 'form', 'fields', 'arguments'];

/** True inside an option that contains data, such as a body. Names in there are not option names. */
export function isData(names: readonly unknown[]): boolean {
  return names.some(
    (name, index) =>
      dataNames.includes(name as string) ||
      (name === 'items' && names[index - 1] === 'batch') ||
      (name === 'default' && names[index - 2] === 'map'),
  );
}

/** A member named `auth` in a body or other data does not count. */
export function isUnderAuth(names: readonly string[]): boolean {
  const auth = names.indexOf('auth');
  return auth >= 0 && !isData(names.slice(0, auth));
}

/** A login of `auth` is a request of its own. Returns the names inside it; outside of a login, all names. */
function insideLogin(names: readonly string[]): readonly string[] {
  const login = names.findIndex((name, index) => name === 'login' && names[index - 1] === 'auth');
  return login > 0 && isUnderAuth(names.slice(0, login)) ? names.slice(login) : names;
}

/** True for a value such as `HMAC {signature}`, into which the auth type `hmac` inserts what it has computed. */
function isComputed(text: string): boolean {
  return /\{\w+\}/.test(text) && !holdsToken(text);
}

/** The options that contain a credential's name are not checked here. */
function foundUnderAuth(names: readonly string[], value: string): Carried[] {
  const name = names.at(-1) ?? '';
  if (['params', 'query', 'claims'].includes(names.at(-2) ?? '')) {
    return !isComputed(value) && isSecretParameter(name, value) ? [parameterUnderAuth(name, value)] : [];
  }
  if (!publicAuthOptions.has(name)) return [];
  const inUrl = isServerUrl(name) ? foundInUrl(value, isNamedSecret) : [];
  const found = inUrl.length > 0 || !holdsToken(value) ? inUrl.map((carried) => carried.found) : [`the value of "${name}"`];
  return found.map((text) => ({ found: text, carrier: { in: 'auth', name, value } }));
}

/** Judges a parameter of a token request by its name or its form. */
function isSecretParameter(name: string, text: string): boolean {
  if (isNamedSecret(name, 'body', text, hasLiteral(text)) || isNamedSecret(name, 'query', text, hasLiteral(text))) return true;
  return holdsToken(text) || isSigned(text) || holdsLogin(text) || foundInUrl(text, isNamedSecret).length > 0;
}

function parameterUnderAuth(name: string, value: string): Carried {
  return { found: `the parameter "${name}"`, carrier: { in: 'auth', name, value } };
}

/** `names` is the path of the value. */
function foundIn(names: readonly string[], text: string, isNamed: NameRule): Carried[] {
  const found = namedIn(names, text, isNamed);
  if (found.length > 0) return found;
  const name = names.at(-1) ?? '';
  if (names[0] === 'vars') {
    const variable = names[1] ?? '';
    return isSecretVariable(variable, text)
      ? [{ found: `the variable "${variable}"`, carrier: { in: 'variable', name: variable, value: text } }]
      : [];
  }
  // Not checked here: the option `credential` accepts only credential names, and its own check rejects secrets.
  if (name === 'credential' && !isData(names)) return [];
  const isSent = isUrl(name) || names.includes('headers') || isData(names);
  if (!holdsToken(text) && !(isSent && (isSigned(text) || holdsLogin(text)))) return [];
  return [{ found: `the value of "${name}"`, carrier: carrierOf(names, text) }];
}

/** Judges by the name or the form. */
export function isSecretVariable(name: string, text: string): boolean {
  if (isNamedSecret(name, 'body', text, hasLiteral(text)) || isSecretHeader(name, text)) return true;
  if (!isRandomHeader(name) && isGeneratedWord(text.trim())) return true;
  return holdsToken(text) || isSigned(text) || holdsLogin(text) || foundInUrl(text, isNamedSecret).length > 0;
}

/** Finds the secrets that can be recognized by their names. */
function namedIn(names: readonly string[], text: string, isNamed: NameRule): Carried[] {
  const name = names.at(-1) ?? '';
  if (names.includes('headers')) {
    const found = name === 'headers' ? 'the value of "headers"' : `the header "${name}"`;
    return isSecretHeader(name, text, isNamed) ? [{ found, carrier: carrierOf(names, text) }] : [];
  }
  if (names.includes('body') || names.includes('form')) {
    if (isNamed(name, 'body', text, hasLiteral(text))) return [{ found: `"${name}" in the body`, carrier: carrierOf(names, text) }];
    return name === 'body'
      ? namedMembers(textMembers(text), 'body', isNamed).map((carrier) => ({ found: `the body's member "${carrier.name}"`, carrier }))
      : [];
  }
  if (isData(names)) {
    // A field's name alone is not enough, because it can be about secrets without containing one. So the value must also look random.
    const isSecret = surenessOf(name, 'body') !== undefined && isGeneratedWord(text.trim());
    return isSecret ? [{ found: `the value of "${name}"`, carrier: carrierOf(names, text) }] : [];
  }
  return isUrl(name) ? foundInUrl(text, isNamed) : [];
}

/** Finds parameters with secret names, and the user name and password. */
function foundInUrl(text: string, isNamed: NameRule): Carried[] {
  const parameters = namedMembers(parametersOf(text), 'query', isNamed);
  const found = parameters.map((carrier) => ({ found: `the query parameter "${carrier.name}"`, carrier }));
  const value = login.exec(text)?.[1];
  if (value === undefined) return found;
  return [...found, { found: 'the user name and password in the URL', carrier: { in: 'login', name: '', value } }];
}

function isUrl(name: string): boolean {
  return name === 'url' || name === 'base_url';
}

type NameAndValue = readonly [name: string, value: string];

/** From the query, path or fragment. The names can be percent-encoded. */
function parametersOf(text: string): NameAndValue[] {
  return [...text.matchAll(parameter)].map(([, name = '', value = '']) => {
    const plainName = percentDecoded(name);
    return [/^[\w-]+$/.test(plainName) ? plainName : name, value];
  });
}

function textMembers(text: string): NameAndValue[] {
  return [...text.matchAll(member)].map(([, name = '', quoted, bare]) => [name, quoted ?? bare ?? '']);
}

/** At most one member for each name. */
function namedMembers(members: readonly NameAndValue[], place: NamedPlace, isNamed: NameRule): SecretCarrier[] {
  const found = new Map<string, SecretCarrier>();
  for (const [name, value] of members) {
    if (!found.has(name) && isNamed(name, place, value, !value.startsWith('{{'))) found.set(name, { in: place, name, value });
  }
  return [...found.values()];
}

/** For a value that has already been recognized as a secret, but not by its name. */
function carrierOf(names: readonly string[], text: string): SecretCarrier {
  const name = names.at(-1) ?? '';
  const around = names.find((one) => /^(?:headers|body|form|fields|arguments)$/.test(one));
  if (around === 'headers') return { in: 'header', name: name === 'headers' ? 'Authorization' : name, value: text };
  const value = tokenIn(text) ?? text;
  if (around === 'body' || around === 'form') return { in: 'body', name, value };
  if (around !== undefined || !isUrl(name)) return { in: 'elsewhere', name, value };
  for (const [inQuery, sent] of parametersOf(text)) {
    if (holdsToken(sent) || isSigned(sent)) return { in: 'query', name: inQuery, value: sent };
  }
  const user = /^[a-z]+:\/\/([^/?#]*)@/i.exec(text)?.[1] ?? '';
  return { in: holdsToken(user) ? 'login' : 'path', name: '', value };
}

interface SecretOwner {
  /** Possible names for the secret's credential, with the best one first. */
  readonly names: readonly string[];
  readonly hasCredential: boolean;
}

/** `ancestors` are the YAML nodes that contain the value, beginning at the top of the document. */
function ownerOf(ancestors: readonly unknown[]): SecretOwner {
  const isNode = (index: number) => isSeq(ancestors[index - 1]) && keyOfMember(ancestors[index - 2]) === 'nodes';
  const isConnection = (index: number) => index === 5 && keyOfMember(ancestors[2]) === 'connections';
  const data = ancestors.findIndex((ancestor) => /^(?:body|form|fields|arguments)$/.test(keyOfMember(ancestor) ?? ''));
  const at = ancestors.findLastIndex((_, index) => (data < 0 || index < data) && (isNode(index) || isConnection(index)));
  const map = ancestors[at];
  if (!isMap(map)) return { names: [], hasCredential: false };
  const candidates = isConnection(at) ? [keyOfMember(ancestors[at - 1])] : [hostName(map.get('url')), map.get('connection'), map.get('id')];
  return {
    names: candidates.filter((name) => typeof name === 'string'),
    hasCredential: isSeq(map.get('auth')) || map.getIn(['auth', 'credential']) !== undefined,
  };
}

function keyOfMember(node: unknown): string | undefined {
  return isPair(node) && isScalar(node.key) ? String(node.key.value) : undefined;
}

/** The label before the public suffix, such as `example` in api.example.com. Undefined for IP addresses, this machine and record data. */
export function hostName(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#@:]+)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (/^[\d.]*$|^localhost$/.test(host)) return undefined;
  const labels = host.replace(suffixOfTwo, '.suffix').split('.');
  return labels.at(-2) ?? labels[0];
}

/** A public suffix of two labels, such as `.co.uk`. */
const suffixOfTwo = /(?<=.)\.(?:co|com|org|net|gov|gob|gouv|ac|edu|ne|or|go)\.[a-z]{2}$/;
