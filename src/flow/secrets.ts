import { type Document, isPair, isScalar, visit } from 'yaml';
import { holdsToken, isRandomText } from '../core/token-text.ts';

/** A literal secret in a flow: where it stands, and what it looks like. */
export interface LiteralSecret {
  readonly range: readonly [number, number];
  readonly found: string;
  /** The value itself, to be kept out of messages. */
  readonly text: string;
}

const secretName =
  /^(?:(?:proxy-)?authorization|(?:x[-_])?(?:api|auth|access|secret|private|refresh|vault|subscription)[-_]?(?:key|token)|x-token|x-rapidapi-key|ocp-apim-subscription-key|client[-_]?secret|secret|password|passwd|pwd|passphrase)$/i;
const likelyName = /^(?!.*idempotency).*[-_](?:key|token|secret|password)$/i;
/** These may as well say something harmless, such as `auth: none`: their values have to look like a secret. */
const vagueName = /^(?:sig|signature|auth)$/i;
const vagueParameter = /[?&](sig|signature|auth)=([^&#\s]+)/gi;
const vagueMember = /("(?:sig|signature|auth)")\s*:\s*"([^"]+)"/gi;
const secretParameter =
  /[?&]((?:x-)?(?:api|subscription)[-_]?key|(?:access|auth)[-_]?token|client[-_]?secret|secret|password|passwd|pwd|token)=(?!\{\{|&|#|$)[^&#\s]+/gi;
const secretMember =
  /("(?:(?:x-)?api[-_]?key|(?:access|refresh|auth)[-_]?token|client[-_]?secret|authorization|secret|password|passwd|pwd)")\s*:\s*(?!"\{\{)(?:"[^"]+"|\d+)/gi;
const schemeAndToken = /^\s*(?:bearer|basic|token|digest|apikey)\s+(?=\S*\d)\S{8,}\s*$/i;
const signedValue = /(?:^|["'=])\s*(bearer|basic)(?:\s|\+|%20)+([^\s"'&#]{8,})\s*(?:$|["'&#])/gi;

/** Literal secrets in the headers, URLs and bodies of a flow. Such a value would stand in a file that people share. */
export function literalSecrets(document: Document): LiteralSecret[] {
  const secrets: LiteralSecret[] = [];
  visit(document, {
    Scalar(key, scalar, ancestors) {
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (key === 'key' || !scalar.range || isUnderAuth(names)) return;
      if (typeof scalar.value !== 'string' && typeof scalar.value !== 'number') return;
      const text = typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value));
      const [start, end] = scalar.range;
      for (const found of foundIn(names, text)) secrets.push({ range: [start, end], found, text });
    },
  });
  return secrets;
}

/** Whether a place stands under `auth`; a body may have a member of that name. */
export function isUnderAuth(names: readonly string[]): boolean {
  const auth = names.indexOf('auth');
  return auth >= 0 && !names.slice(0, auth).includes('body');
}

/** What of a value is a literal secret, each in words. */
function foundIn(names: readonly string[], text: string): string[] {
  const found = namedIn(names, text);
  if (found.length > 0) return found;
  const name = names.at(-1) ?? '';
  const isSent = names.includes('body') || name === 'url' || name === 'base_url';
  return holdsToken(text) || (isSent && isSigned(text)) ? [`the value of "${name}"`] : [];
}

/** What a name beside the value tells. */
function namedIn(names: readonly string[], text: string): string[] {
  const name = names.at(-1) ?? '';
  if (names.includes('headers')) {
    return isSecretHeader(name, text) ? [name === 'headers' ? 'the value of "headers"' : `the header "${name}"`] : [];
  }
  if (names.includes('body')) {
    if ((secretName.test(name) && hasLiteral(text)) || (vagueName.test(name) && isLikely(text))) return [`"${name}" in the body`];
    return name === 'body' ? named(text, secretMember, vagueMember).map((member) => `the body's member ${member}`) : [];
  }
  if (name !== 'url' && name !== 'base_url') return [];
  const parameters = named(text, secretParameter, vagueParameter).map((parameter) => `the query parameter "${parameter}"`);
  return /^[a-z]+:\/\/[^/?#]*:[^/?#@]+@/i.test(text) ? [...parameters, 'the user name and password in the URL'] : parameters;
}

/** The names of secrets inside a text, each once. */
function named(text: string, certain: RegExp, vague: RegExp): string[] {
  const likely = [...text.matchAll(vague)].filter(([, , value = '']) => isLikely(value));
  return [...new Set([...text.matchAll(certain), ...likely].map(([, name = '']) => name))];
}

function isSecretHeader(name: string, text: string): boolean {
  if (!hasLiteral(text)) return false;
  return (
    secretName.test(name) ||
    schemeAndToken.test(literalOf(text)) ||
    isSigned(text) ||
    (/^cookie$/i.test(name) && text.split(';').some((cookie) => isLikely(cookie.slice(cookie.indexOf('=') + 1).trim()))) ||
    (likelyName.test(name) &&
      literalOf(text)
        .split(/[;=\s]+/)
        .some(isRandomText))
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
