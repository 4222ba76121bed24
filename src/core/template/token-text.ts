import { bytesOfBase64 } from '../text/base64.ts';
import { secretShapes } from '../text/secret-shapes.ts';

/** A private key with all of its lines (RFC 7468), unless a reference gives them. */
const privateKey = '-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?!(?:\\s|\\\\[nr])*\\{\\{)(?:[^]*?-----END [A-Z0-9 ]+-----|[^]*)';

/** The tokens of the table, each with its rest, and private keys. */
const knownTokens = new RegExp(`\\b(?:${tokenPatterns().join('|')})[\\w.-]*|${privateKey}`, 'g');

function tokenPatterns(): string[] {
  return secretShapes.flatMap((shape) => ('begins' in shape ? [shape.begins.replaceAll('.', '\\.') + (shape.rest ?? '[\\w.-]{8,}')] : []));
}

/** True if a text holds a token or a private key. */
export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
}

/** The first token or private key in a text. */
export function tokenIn(text: string): string | undefined {
  return text.match(knownTokens)?.[0];
}

/** The text with every token and private key replaced. */
export function withoutTokens(text: string, hide: (token: string) => string): string {
  return text.replace(knownTokens, hide);
}

/** True if a text is as long and mixed as only generated secrets are. */
export function isRandomText(text: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(text)) return true;
  return /^[\w.~+/=-]{24,}$/.test(text) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text)) && digitChanges(text) > 3;
}

/** True if a text is one word that only a generator makes. Plain text in base64 does not count: cursors of pages look like that. */
export function isGeneratedWord(text: string, shortest = 16): boolean {
  if (/^(?=.*\d)(?=.*[a-f])[\da-f]{32,}$/i.test(text)) return true;
  if (text.length < shortest || !/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w~+/=-]+$/.test(text) || isEncodedText(text)) return false;
  const turns = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const ofDigits = turns(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g);
  return ofDigits > 3 && ofDigits + turns(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g) >= 0.4 * (text.length - 1);
}

/** True if a word of 16 characters or more may be generated: letters and digits by turns, or letters of both cases. UUIDs count. */
export function looksRandom(word: string): boolean {
  if (word.length < 16 || !/^[\w~+/=-]+$/.test(word) || new Set(word.toLowerCase()).size < 8) return false;
  const digits = digitTurns(word);
  const cases = word.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g)?.length ?? 0;
  return digits >= 4 || (digits >= 2 && digits + cases >= 0.25 * word.length) || cases >= 0.4 * word.length;
}

function digitTurns(text: string): number {
  return text.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g)?.length ?? 0;
}

function isEncodedText(text: string): boolean {
  return /^[\x20-\x7e\s]+$/.test(bytesOfBase64(text) ?? '');
}

/** The number of changes between digits and other characters. Names keep their digits together. */
function digitChanges(text: string): number {
  return text.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0;
}
