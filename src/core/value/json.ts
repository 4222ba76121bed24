import { ExactNumber, isObject, type Value } from './value.ts';

/** Matches JSON text that might contain a number that a double would change. A false match only costs time. */
const mayChangeDigits = /(?:^|[\s:,[])-?(?:\d+(?:\.\d+)?[eE]|[\d.]{16}|\d+\.\d*0(?!\d)|0\.0{6})|-0(?![.\d])/;

/** Maximum nesting depth. A deeper value could be read, but writing it would overflow the stack. */
export const maxDepth = 1000;

export const tooDeep = `nested more than ${maxDepth} deep`;

export class TooDeep extends SyntaxError {
  override readonly name = 'TooDeep';
}

/** Keeps the digits of numbers that a double would change. Throws JSON.parse's SyntaxError, or TooDeep if nested too deep. */
export function parseJson(text: string): Value {
  // The depth is checked before JSON.parse, which would use up all memory for millions of brackets.
  if (isTooDeep(text)) throw new TooDeep(tooDeep);
  const value = JSON.parse(text) as Value;
  if (!mayChangeDigits.test(text)) return value;
  return unmarked(JSON.parse(marked(text)) as Value);
}

/** True if a value is nested more than `left` levels deep. The default is the limit of parseJson. */
export function isNestedTooDeep(value: unknown, left = maxDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left <= 0 || Object.values(value).some((member) => isNestedTooDeep(member, left - 1));
}

/** Returns the names as they are ordered in the text. A JavaScript object would put names such as "2024" first. */
export function writtenNames(text: string): string[] {
  const names = new Set<string>();
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      const end = stringEnd(text, at);
      if (depth === 1 && isName(text, end)) names.add(JSON.parse(text.slice(at, end)));
      at = end - 1;
    } else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return [...names];
}

/**
 * Prepares JSON text for the second parse, which keeps the digits of numbers. A number that a double would change becomes a string that
 * begins with `n`. To tell the two apart, every other string value is made to begin with `s`.
 */
function marked(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      const end = stringEnd(text, at);
      if (!isName(text, end)) {
        parts.push(text.slice(copied, at + 1), 's');
        copied = at + 1;
      }
      at = end;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = numberEnd(text, at);
      const digits = text.slice(at, end);
      if (String(Number(digits)) !== digits) {
        parts.push(text.slice(copied, at), `"n${digits}"`);
        copied = end;
      }
      at = end;
    } else at++;
  }
  parts.push(text.slice(copied));
  return parts.join('');
}

/** Replaces the marked strings in a value. Changes the value itself, which takes half as long as a reviver of JSON.parse. */
function unmarked(value: Value): Value {
  if (typeof value === 'string') return value.startsWith('n') ? new ExactNumber(value.slice(1)) : value.slice(1);
  if (Array.isArray(value)) for (const [index, element] of value.entries()) value[index] = unmarked(element);
  else if (isObject(value)) for (const name of Object.keys(value)) value[name] = unmarked(value[name] as Value);
  return value;
}

/** Returns the offset after the closing quote of a string; 0 if there is no closing quote. */
export function stringEnd(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

function isName(text: string, end: number): boolean {
  let at = end;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return text.charCodeAt(at) === 0x3a;
}

const numberText = /[-+.\deE]*/y;

function numberEnd(text: string, start: number): number {
  numberText.lastIndex = start;
  numberText.test(text);
  return numberText.lastIndex;
}

function isTooDeep(text: string): boolean {
  if (text.length < 2 * maxDepth || !holdsMore(text, maxDepth)) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at) - 1;
      if (at < 0) return false;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** Counting the opening brackets is faster than computing the depth. */
function holdsMore(text: string, count: number): boolean {
  let left = count;
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true;
  }
  return false;
}

/**
 * Returns a short string that identifies a long one: its length and two hashes of 53 bits (cyrb53, public domain). Among a million strings,
 * two collide with a probability of about 1 in 10^20. It does not protect against deliberate collisions.
 */
export function fingerprint(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text;
  return `${bytes.length} ${cyrb53(bytes, 0)} ${cyrb53(bytes, 0x9e3779b9)}`;
}

const encoder = new TextEncoder();

function cyrb53(bytes: Uint8Array, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  // An index is used because iterating with `for ... of` would take ten times as long, and bodies are long.
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    high = Math.imul(high ^ byte, 2654435761);
    low = Math.imul(low ^ byte, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
