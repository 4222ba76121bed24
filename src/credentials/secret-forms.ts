import { decodeAll } from '../core/text/base64.ts';

/** If shorter secrets were masked, ordinary words would often be masked by mistake. */
export const shortestSecret = 4;

/** One of the encodings in which a secret may appear in text. */
export interface Form {
  readonly characters: readonly Characters[];
  /** Pattern for text after the last character that belongs to the encoding, such as base64 padding. */
  readonly end: string;
}

/** A character of a secret, or a run of characters that look the same in escaped text. */
export interface Characters {
  /** Pattern for a single character in this encoding. */
  readonly unit: string;
  readonly min: number;
  readonly max: number;
}

/** Escaped encodings, and base64 ones: base64 depends on the secret's offset in a group of three bytes, so there is one for each offset. */
export function secretForms(secret: string): Form[] {
  // A run of quotes and backslashes is treated as one unit, because both look the same when they are escaped. Trying all ways to divide the
  // run would take far too long.
  const raw = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  // Basic authentication sends `user:password` in base64. The result may be base64-encoded a second time.
  const twice = /^[^:\s]+:./s.test(secret) ? base64Forms(Buffer.from(secret).toString('base64').replace(/=+$/, '')) : [];
  const base64 = [...base64Forms(secret), ...twice].map((text) => ({
    characters: [...text].map(base64Form),
    end: base64End,
  }));
  const escaped = [unitsOf(secret).map(jsonForm), [...Buffer.from(secret)].map(percentForm)].map((patterns) => patterns.map(single));
  return [raw.map(anyForm), ...escaped].map((characters): Form => ({ characters, end: '' })).concat(base64);
}

/** Matches the last character and the padding of base64 text. The last character may also contain bits of the text after the secret. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

export function startPattern({ characters, end }: Form, length: number): string {
  return wholePattern({ characters: characters.slice(0, length), end: characters.length > length ? '' : end });
}

export function wholePattern({ characters, end }: Form): string {
  return characters.map(({ unit, min, max }) => (max === 1 ? unit : `${unit}{${min},${max}}`)).join('') + end;
}

/** Matches both the plain and the escaped form, because encoders differ in which characters they escape. */
const anyForm = memoized((characters: string): Characters => {
  if (/^[A-Za-z0-9]$/.test(characters)) return single(characters);
  if (/^[\\"]/.test(characters)) {
    return { unit: anyOf([...formsOf('"'), ...formsOf('\\')]), min: characters.length, max: maxEscapes * characters.length };
  }
  // A run of whitespace also matches a single space, because joining a message into one line replaces whitespace by a single space.
  if (/^\s/.test(characters)) return { unit: anyOf([...new Set(` ${characters}`)].flatMap(formsOf)), min: 1, max: characters.length };
  return single(anyOf(formsOf(characters)));
});

function single(unit: string): Characters {
  return { unit, min: 1, max: 1 };
}

/** Matches both the standard and the URL-safe alphabet. */
const base64Form = memoized((character: string): Characters => {
  if (character !== '+' && character !== '/') return single(character);
  return single(anyOf([...formsOf(character), character === '+' ? '-' : '_']));
});

/** For single characters only: secrets consist of few different characters, so this saves time. */
function memoized<Result>(compute: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>();
  return (text) => {
    let result = results.get(text);
    if (result === undefined) {
      result = compute(text);
      if (text.length <= 2) results.set(text, result);
    }
    return result;
  };
}

/** Maximum number of escape characters before a quote. There are several in JSON within JSON within CSV, for example. */
export const maxEscapes = 8;

function anyOf(forms: readonly string[]): string {
  return `(?:${forms.join('|')})`;
}

/** Longer forms come first. An escape may have several backslashes, because JSON within JSON doubles them. */
function formsOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const json = JSON.stringify(character).slice(1, -1);
  return [
    // The character as escaped in a URL or HTML form, or in a URL within a URL.
    [...bytes].map(percentForm).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    // The character as escaped in JSON.
    unitsOf(character).map(jsonForm).join(''),
    ...(/^\\[bfnrt]$/.test(json) ? [`\\\\{1,8}${json.slice(1)}`] : []),
    ...(character === '/' ? ['\\\\{1,8}/'] : []),
    // The character as escaped in HTML or XML.
    `&#(?:0*${character.codePointAt(0)}|[xX]0*${anyCase(hex(character.codePointAt(0) as number, 1))});`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
    // The character's UTF-8 bytes, each of them wrongly decoded as a separate character.
    ...(bytes.length > 1 ? [[...bytes].map(byteForm).join('')] : []),
    escaped(character),
  ];
}

function percentForm(byte: number): string {
  return `%(?:25)*${anyCase(hex(byte, 2))}`;
}

function jsonForm(unit: number): string {
  return `\\\\{1,8}u${anyCase(hex(unit, 4))}`;
}

/** UTF-16 code units. JSON escapes each of them separately. */
function unitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

const windows1252 = new TextDecoder('windows-1252');

/** Matches a UTF-8 byte decoded as ISO 8859-1 or Windows-1252. Control characters may be missing, because messages leave them out. */
function byteForm(byte: number): string {
  const character = String.fromCharCode(byte);
  return byte > 0x9f ? character : `[${character}${decodeAll(windows1252, Uint8Array.of(byte))}]?`;
}

const entities: Record<string, string> = { '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' };

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/**
 * For each of the three offsets, returns the characters that depend on the secret alone if it is encoded together with other text. The last
 * element is the secret encoded on its own.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const certain = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(offset === 0 ? 0 : offset + 1, certain);
  });
  const whole = bytes.toString('base64').replace(/=+$/, '');
  return [...inner, whole].filter((text) => text.length >= shortestSecret);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
