import { bytesOfBase64 } from '../text/base64.ts';
import { secretShapes } from '../text/secret-shapes.ts';

/** A private key with all of its lines, but for one that a reference gives (RFC 7468). */
const privateKey = '-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?!(?:\\s|\\\\[nr])*\\{\\{)(?:[^]*?-----END [A-Z0-9 ]+-----|[^]*)';

/** The tokens of the table, each with all that belongs to it, and private keys. */
const knownTokens = new RegExp(`\\b(?:${tokenPatterns().join('|')})[\\w.-]*|${privateKey}`, 'g');

function tokenPatterns(): string[] {
  return secretShapes.flatMap((shape) => ('begins' in shape ? [shape.begins.replaceAll('.', '\\.') + (shape.rest ?? '[\\w.-]{8,}')] : []));
}

/** Whether a text holds what can only be a secret. */
export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
}

/** The first such secret of a text. */
export function tokenIn(text: string): string | undefined {
  return text.match(knownTokens)?.[0];
}

/** The text with every such secret replaced. */
export function withoutTokens(text: string, hide: (token: string) => string): string {
  return text.replace(knownTokens, hide);
}

/** Whether a text is long and mixed as only generated secrets are. */
export function isRandomText(text: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(text)) return true;
  return /^[\w.~+/=-]{24,}$/.test(text) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text)) && digitChanges(text) > 3;
}

/** Whether a text is one word that only a generator makes. Plain text in base64 is none: the cursors of pages are that. */
export function isGeneratedWord(text: string, shortest = 16): boolean {
  if (/^(?=.*\d)(?=.*[a-f])[\da-f]{32,}$/i.test(text)) return true;
  if (text.length < shortest || !/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w~+/=-]+$/.test(text) || isEncodedText(text)) return false;
  const turns = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const ofDigits = turns(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g);
  return ofDigits > 3 && ofDigits + turns(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g) >= 0.4 * (text.length - 1);
}

function isEncodedText(text: string): boolean {
  return /^[\x20-\x7e\s]+$/.test(bytesOfBase64(text) ?? '');
}

/** How often digits and other characters take turns: names have their digits together. */
function digitChanges(text: string): number {
  return text.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0;
}
