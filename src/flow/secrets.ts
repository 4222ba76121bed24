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
  /^(?:(?:proxy-)?authorization|(?:x[-_])?(?:api|auth|access|secret|private|refresh|vault|subscription)[-_]?(?:key|token)|x-token|x-rapidapi-key|ocp-apim-subscription-key|client[-_]?secret|secret|password|passwd|passphrase)$/i;
const likelyName = /^(?:cookie|(?!.*idempotency).*[-_](?:key|token|secret|password))$/i;
const secretParameter =
  /[?&]((?:x-)?(?:api|subscription)[-_]?key|(?:access|auth)[-_]?token|client[-_]?secret|secret|password|token)=(?!\{\{|&|#|$)[^&#\s]+/i;
const secretMember =
  /("(?:(?:x-)?api[-_]?key|(?:access|refresh|auth)[-_]?token|client[-_]?secret|authorization|secret|password)")\s*:\s*(?!"\{\{)(?:"[^"]+"|\d+)/i;
const schemeAndToken = /^\s*(?:bearer|basic|token|digest|apikey)\s+(?=\S*\d)\S{8,}\s*$/i;

/** Literal secrets in the headers, URLs and bodies of a flow. Such a value would stand in a file that people share. */
export function literalSecrets(document: Document): LiteralSecret[] {
  const secrets: LiteralSecret[] = [];
  visit(document, {
    Scalar(key, scalar, ancestors) {
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (key === 'key' || !scalar.range || isUnderAuth(names)) return;
      if (typeof scalar.value !== 'string' && typeof scalar.value !== 'number') return;
      const text = typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value));
      const found = literalSecret(names, text);
      if (found !== undefined) secrets.push({ range: [scalar.range[0], scalar.range[1]], found, text });
    },
  });
  return secrets;
}

/** Whether a place stands under `auth`; a body may have a member of that name. */
export function isUnderAuth(names: readonly string[]): boolean {
  const auth = names.indexOf('auth');
  return auth >= 0 && !names.slice(0, auth).includes('body');
}

function literalSecret(names: readonly string[], text: string): string | undefined {
  const name = names.at(-1) ?? '';
  if (names.includes('headers')) {
    if (isSecretHeader(name, text)) return name === 'headers' ? 'the value of "headers"' : `the header "${name}"`;
  } else if (names.includes('body')) {
    if (secretName.test(name) && hasLiteral(text)) return `"${name}" in the body`;
    const member = name === 'body' ? secretMember.exec(text)?.[1] : undefined;
    if (member !== undefined) return `the body's member ${member}`;
  } else if (name === 'url' || name === 'base_url') {
    const parameter = secretParameter.exec(text)?.[1];
    if (parameter !== undefined) return `the query parameter "${parameter}"`;
    if (/^[a-z]+:\/\/[^/?#]*:[^/?#@]+@/i.test(text)) return 'the user name and password in the URL';
  }
  return holdsToken(text) ? `the value of "${name}"` : undefined;
}

function isSecretHeader(name: string, text: string): boolean {
  if (!hasLiteral(text)) return false;
  return (
    secretName.test(name) ||
    schemeAndToken.test(literalOf(text)) ||
    (likelyName.test(name) &&
      literalOf(text)
        .split(/[;=\s]+/)
        .some(isRandomText))
  );
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
