import { bytesOfBase64 } from '../text/base64.ts';
import { secretShapes } from '../text/secret-shapes.ts';
import { isObject, type Value } from '../value/value.ts';

/** The pattern of a private key with all of its lines (RFC 7468). It does not match if a reference such as `{{key}}` replaces the lines. */
const privateKey = '-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?!(?:\\s|\\\\[nr])*\\{\\{)(?:[^]*?-----END [A-Z0-9 ]+-----|[^]*)';

const knownTokens = new RegExp(`\\b(?:${tokenPatterns().join('|')})[\\w.-]*|${privateKey}`, 'g');

function tokenPatterns(): string[] {
  return secretShapes.flatMap((shape) => ('begins' in shape ? [shape.begins.replaceAll('.', '\\.') + (shape.rest ?? '[\\w.-]{8,}')] : []));
}

export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
}

/** Returns the first secret token or private key in the text; undefined if there is none. */
export function tokenIn(text: string): string | undefined {
  return text.match(knownTokens)?.[0];
}

/** Returns the text with every secret token and private key replaced by the result of `hide`. */
export function withoutTokens(text: string, hide: (token: string) => string): string {
  return text.replace(knownTokens, hide);
}

/** True if the text is long and mixes several kinds of characters. */
export function isRandomText(text: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(text)) return true;
  return /^[\w.~+/=-]{24,}$/.test(text) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text)) && digitChanges(text) > 3;
}

/** True if the text is one word that looks generated. Base64 of plain text does not count, because page cursors look like that. */
export function isGeneratedWord(text: string, shortest = 16): boolean {
  if (/^(?=.*\d)(?=.*[a-f])[\da-f]{32,}$/i.test(text)) return true;
  if (text.length < shortest || !/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w~+/=-]+$/.test(text) || isEncodedText(text)) return false;
  const turns = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const ofDigits = turns(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g);
  return ofDigits > 3 && ofDigits + turns(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g) >= 0.4 * (text.length - 1);
}

/** True if a word of at least 16 characters often changes between letters and digits, or upper and lower case. UUIDs count, too. */
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

/** Ordinary names have few changes, because their digits are together. */
function digitChanges(text: string): number {
  return text.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0;
}

export type SecretOf = (credential: string) => string;

export interface BodyCredential {
  readonly name: string;
  readonly at: readonly (string | number)[];
}

/** Returns the credential's name if the value is `{ credential: NAME }`; undefined for any other value. */
export function credentialIn(value: Value | undefined): string | undefined {
  if (!isObject(value) || typeof value.credential !== 'string') return undefined;
  return Object.keys(value).length === 1 ? value.credential : undefined;
}

/** If the body itself is an object with the member `credential`, that is an ordinary member. */
export function credentialsWithin(body: Value | undefined, at: readonly (string | number)[]): BodyCredential[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => {
    const name = credentialIn(value);
    return name === undefined ? credentialsWithin(value, [...at, key]) : [{ name, at: [...at, key, 'credential'] }];
  });
}
