import { isGeneratedWord, isRandomText } from '../../core/template/token-text.ts';
import { bytesOfBase64 } from '../../core/text/base64.ts';
import { type NamedPlace, type SecretName, secretShapes } from '../../core/text/secret-shapes.ts';

const schemeAndToken = /^\s*(?:bearer|basic|token|digest|apikey)\s+(?=\S*\d)\S{8,}\s*$/i;
const signedValue = /(?:^|["'=])\s*(bearer|basic)(?:\s|\+|%20)+([^\s"'&#]{8,})\s*(?:$|["'&#])/gi;
const urlWithLogin = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@"'<>]*:([^\s/?#@"'<>]+)@(?=[\w[{])/gi;
const connectionPassword = /(?:^|[;\s"'])(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*([^;\s"']+)/gi;
const connectionPart =
  /(?:^|[;\s"'])(?:server|data source|host|address|user(?: ?id|name)?|uid|database|initial catalog|endpoint|accountname)\s*=\s*[^;\s]/i;

/** True if a value is a secret according to its name and its form. */
export function isNamedSecret(name: string, place: NamedPlace, text: string, isLiteral: boolean): boolean {
  switch (surenessOf(name, place)) {
    case 'always':
      return isLiteral;
    case 'likely':
      return isLikely(text);
    case 'random':
      return literalOf(text)
        .split(/[;=\s]+/)
        .some(isRandomText);
    case 'generated':
      return isGeneratedWord(text.trim());
    default:
      return false;
  }
}

/** A rule that decides from the name of a value, and in some cases also from its form, whether the value is a secret. */
export type NameRule = (name: string, place: NamedPlace, text: string, isLiteral: boolean) => boolean;

/**
 * True if the name might belong to a secret, no matter what the value looks like. Used for requests that people have really sent, because
 * these contain real secrets.
 */
export function isPossiblySecret(name: string, place: NamedPlace, text: string, isLiteral: boolean): boolean {
  if (!isLiteral || !hasLiteral(text)) return false;
  if (/[cx]srf/i.test(name) || (place === 'header' && /^cookie2?$/i.test(name))) return true;
  const places: readonly NamedPlace[] = place === 'header' ? ['header'] : ['query', 'body'];
  return places.some((one) => surenessOf(name, one) !== undefined);
}

/** True if a header contains a secret. */
export function isSecretHeader(name: string, text: string, isNamed: NameRule = isNamedSecret): boolean {
  if (!hasLiteral(text)) return false;
  return (
    isNamed(name, 'header', text, true) ||
    schemeAndToken.test(literalOf(text)) ||
    isSigned(text) ||
    (!isRandomHeader(name) && isGeneratedWord(text.trim(), 24)) ||
    (/^cookie$/i.test(name) && text.split(';').some((cookie) => isLikely(cookie.slice(cookie.indexOf('=') + 1).trim())))
  );
}

/**
 * True if a value looks like a secret: one word of at least eight characters, with at least two digits, that does not begin with a date.
 */
function isLikely(text: string): boolean {
  return /^(?!\d{4}-\d\d-\d\d)(?=(?:\S*\d){2})\S{8,}$/.test(literalOf(text));
}

/** True if a value looks like the value of an `Authorization` header (RFC 6750, RFC 7617). */
export function isSigned(text: string): boolean {
  if (!hasLiteral(text)) return false;
  const signed = [...literalOf(text).matchAll(signedValue)];
  return signed.some(([, scheme = '', token = '']) => scheme.toLowerCase() === 'bearer' || isUserAndPassword(token));
}

/** True if a string contains database or server credentials, as in `scheme://user:password@host` or `Server=...;Password=...`. */
export function holdsLogin(text: string): boolean {
  const passwords = [...text.matchAll(urlWithLogin), ...(connectionPart.test(text) ? text.matchAll(connectionPassword) : [])];
  return passwords.some(([, password = '']) => hasLiteral(password));
}

/** True if a value is `username:password` encoded in base64. */
function isUserAndPassword(text: string): boolean {
  return /^[^:]+:/.test(bytesOfBase64(text) ?? '');
}

/**
 * True if a value has a literal part. Ignores a scheme such as `Bearer`. If the value has references, the text around them counts only if
 * it looks like a secret.
 */
export function hasLiteral(text: string): boolean {
  const literal = literalOf(text).replace(/^\s*(?:bearer|basic|token|digest|apikey)\b/i, '');
  if (/\{\{[^{}]*\}\}/.test(text)) return /(?=[\w.~+/-]*\d)[\w.~+/-]{8,}/.test(literal);
  return /[A-Za-z0-9]/.test(literal);
}

/** Returns a value without its references, and without text in double braces that was meant as a reference. */
function literalOf(text: string): string {
  return text.replace(/\{\{[^{}]*\}\}/g, '');
}

/** The certainty that a name belongs to a secret: `always`, or only if the value has a certain form. */
type Sureness = 'always' | NonNullable<SecretName['if']>;

const rows = secretShapes.filter((shape) => 'named' in shape);

const whole = new Map(
  rows.flatMap((row): [string, Sureness][] => row.in.map((place) => [`${place} ${plainName(row.named)}`, row.if ?? 'always'])),
);

const partial = rows.filter(({ named }) => named.startsWith('*'));

/** Returns how certain it is that the value with this name is a secret; `undefined` if the name does not suggest a secret. */
export function surenessOf(name: string, place: NamedPlace): Sureness | undefined {
  const named = whole.get(`${place} ${plainName(name)}`) ?? whole.get(`${place} ${plainName(name.replace(/^x[-_]/i, ''))}`);
  // `appid` can be a secret key, but `app_id` only identifies the client.
  if (named === 'generated' && /[-_]id$|[a-z]Id$/.test(name)) return undefined;
  if (named || /idempotency/i.test(name) || isAboutSecret(name)) return named;
  const row = partial.find((candidate) => candidate.in.includes(place) && isPartOf(name, candidate.named));
  return row && (row.if ?? 'always');
}

function isPartOf(name: string, pattern: string): boolean {
  const dashed = name.replaceAll('_', '-').toLowerCase();
  return pattern.endsWith('*') ? dashed.includes(pattern.slice(1, -1)) : dashed.endsWith(pattern.slice(1));
}

/** True for a name that is about a secret, but whose value is not the secret, such as `X-Secret-Version`. */
function isAboutSecret(name: string): boolean {
  return /secretar|secret.*[-_](?:id|name|version|type|hash)$/i.test(name);
}

/** True for a header whose value can look random without being a secret. */
export function isRandomHeader(name: string): boolean {
  return randomHeader.test(name);
}

const randomHeader =
  /ids?$|uuid|guid|hash|sha-?\d|md5|checksum|digest|fingerprint|etag|trace|span|baggage|correlation|version|revision|commit|build|cursor|continuation|nonce|idempoten|agent|^(?:accept|content|if|sec)-|^(?:accept|range|referer|origin|prefer|signature)$/i;

/** Returns a form of the name that is the same for different spellings. */
function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
