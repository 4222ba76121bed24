import { bytesOfBase64 } from '../../core/text/base64.ts';
import { isGeneratedWord, isRandomText, type NamedPlace, type SecretName, secretShapes } from '../../core/text/secret-shapes.ts';

const schemeAndToken = /^\s*(?:bearer|basic|token|digest|apikey)\s+(?=\S*\d)\S{8,}\s*$/i;
const signedValue = /(?:^|["'=])\s*(bearer|basic)(?:\s|\+|%20)+([^\s"'&#]{8,})\s*(?:$|["'&#])/gi;
const urlWithLogin = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@"'<>]*:([^\s/?#@"'<>]+)@(?=[\w[{])/gi;
const connectionPassword = /(?:^|[;\s"'])(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*([^;\s"']+)/gi;
const connectionPart =
  /(?:^|[;\s"'])(?:server|data source|host|address|user(?: ?id|name)?|uid|database|initial catalog|endpoint|accountname)\s*=\s*[^;\s]/i;

/** Judges by the name and the form of the value. */
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

/** Decides by a value's name, and in some cases also by its form, whether it is a secret. */
export type NameRule = (name: string, place: NamedPlace, text: string, isLiteral: boolean) => boolean;

/** Ignores what the value looks like. Used for requests that people have really sent, because these contain real secrets. */
export function isPossiblySecret(name: string, place: NamedPlace, text: string, isLiteral: boolean): boolean {
  if (!isLiteral || !hasLiteral(text)) return false;
  if (hasSecretName(name) || (place === 'header' && /^cookie2?$/i.test(name))) return true;
  const places: readonly NamedPlace[] = place === 'header' ? ['header'] : ['query', 'body'];
  return places.some((one) => surenessOf(name, one) !== undefined);
}

/** More names than those of `secretShapes`: with these, a request that somebody writes by hand often has a harmless value. */
export function hasSecretName(name: string): boolean {
  if (/[cx]srf|(?:^|[-_.])sid$/i.test(name)) return true;
  const plain = plainName(name);
  return wholeSecretName.test(plain) || (secretName.test(plain) && !pagingToken.test(plain));
}

/** As the end of longer names, these mean other things. */
const wholeSecretName = /^x?(?:authentication|bearer|creds|credentials|(?:user|card)?pin|cvv2?|cvc2?|appkey|securityanswer)$/;

const secretName =
  /(?:passw(?:or)?d|passwordconfirmation|passcode|passphrase|secret|token|jwt|apikey|session(?:id|key)?|(?:php|j)sess(?:ion)?id|clientassertion|codeverifier|authenticity\w*|otp|(?:mfa|totp|sms|2fa|twofactor|verification)code)$/;

const pagingToken = /(?:page|next|prev|previous|cursor|continue|continuation|sync|skip|change|resume|max|delta|start)\w*token$/;

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

/** One word of at least eight characters, with at least two digits, that does not begin with a date. */
function isLikely(text: string): boolean {
  return /^(?!\d{4}-\d\d-\d\d)(?=(?:\S*\d){2})\S{8,}$/.test(literalOf(text));
}

/** Looks like the value of an `Authorization` header (RFC 6750, RFC 7617). */
export function isSigned(text: string): boolean {
  if (!hasLiteral(text)) return false;
  const signed = [...literalOf(text).matchAll(signedValue)];
  return signed.some(([, scheme = '', token = '']) => scheme.toLowerCase() === 'bearer' || isUserAndPassword(token));
}

/** Finds credentials as in `scheme://user:password@host` or `Server=...;Password=...`. */
export function holdsLogin(text: string): boolean {
  const passwords = [...text.matchAll(urlWithLogin), ...(connectionPart.test(text) ? text.matchAll(connectionPassword) : [])];
  return passwords.some(([, password = '']) => hasLiteral(password));
}

/** Matches `username:password` encoded in base64. */
function isUserAndPassword(text: string): boolean {
  return /^[^:]+:/.test(bytesOfBase64(text) ?? '');
}

/** Ignores a scheme such as `Bearer`. Text around references counts only if it looks like a secret. */
export function hasLiteral(text: string): boolean {
  const literal = literalOf(text).replace(/^\s*(?:bearer|basic|token|digest|apikey)\b/i, '');
  if (/\{\{[^{}]*\}\}/.test(text)) return /(?=[\w.~+/-]*\d)[\w.~+/-]{8,}/.test(literal);
  return /[A-Za-z0-9]/.test(literal);
}

/** Leaves out references, and text in double braces that was meant as a reference. */
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

/** The name is about a secret, but its value is not the secret, such as `X-Secret-Version`. */
function isAboutSecret(name: string): boolean {
  return /secretar|secret.*[-_](?:id|name|version|type|hash)$/i.test(name);
}

/** The header's value can look random without being a secret. */
export function isRandomHeader(name: string): boolean {
  return randomHeader.test(name);
}

const randomHeader =
  /ids?$|uuid|guid|hash|sha-?\d|md5|checksum|digest|fingerprint|etag|trace|span|baggage|correlation|version|revision|commit|build|cursor|continuation|nonce|idempoten|agent|^(?:accept|content|if|sec)-|^(?:accept|range|referer|origin|prefer|signature)$/i;

/** Is the same for different spellings. */
function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
