import { isObject, type Value } from '../core/value.ts';

/** Takes secrets out of everything that is written. */
export interface Redactor {
  /** From now on this is a secret, too. */
  add(secret: string): void;
  /** Whether a text holds a secret, in any encoding. */
  isIn(text: string): boolean;
  /** The text with `***` for every secret. */
  text(text: string): string;
  /** The value with `***` for every secret in its texts, names and numbers. */
  value(value: Value): Value;
}

/** A shorter text is no secret, and would take everyday words out of the data. */
const shortestSecret = 4;

/** Makes a redactor that knows no secret yet. */
export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  let pattern: RegExp | undefined;
  const redactor: Redactor = {
    add(secret) {
      if (secret.length < shortestSecret || secrets.has(secret)) return;
      secrets.add(secret);
      // The longest first, so that no end of a longer secret is left over.
      const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
      pattern = new RegExp(longestFirst.flatMap(secretPatterns).join('|'), 'g');
    },
    isIn: (text) => pattern !== undefined && text.search(pattern) >= 0,
    text: (text) => (pattern === undefined ? text : text.replace(pattern, '***')),
    value(value) {
      if (typeof value === 'string') return redactor.text(value);
      if (Array.isArray(value)) return value.map(redactor.value);
      if (isObject(value)) {
        return Object.fromEntries(Object.entries(value).map(([name, member]) => [redactor.text(name), redactor.value(member)]));
      }
      if (value === null || typeof value === 'boolean') return value;
      const digits = typeof value === 'number' ? String(value) : value.text;
      return redactor.isIn(digits) ? redactor.text(digits) : value;
    },
  };
  return redactor;
}

/** Patterns of a secret as it is, in every way of escaping, and inside base64 at each of the three ways it can fall. */
function secretPatterns(secret: string): string[] {
  return [pattern(secret, anyForm), ...base64Forms(secret).map((text) => pattern(text, anyBase64Form) + base64End)];
}

/** The last character may hold bits of the secret and bits of what follows, or of nothing. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

/** Quotes and backslashes that stand together are taken together: escaped, nobody can tell them apart, and trying would take for ever. */
function pattern(text: string, formOf: (characters: string) => string): string {
  return (text.match(/[\\"]+|[^\\"]/gsu) ?? []).map(formOf).join('');
}

/** A pattern for a character however it is escaped: each may be on its own, as encoders differ in which ones they leave alone. */
function anyForm(characters: string): string {
  if (/^[A-Za-z0-9]$/.test(characters)) return characters;
  if (!/^[\\"]/.test(characters)) return anyOf(formsOf(characters));
  const { length } = characters;
  return `${anyOf([...formsOf('"'), ...formsOf('\\')])}{${length},${mostEscapes * length}}`;
}

/** Base64 has a second alphabet, for URLs. */
function anyBase64Form(character: string): string {
  if (character !== '+' && character !== '/') return character;
  return anyOf([...formsOf(character), character === '+' ? '-' : '_']);
}

/** A quote in JSON within JSON within CSV. */
const mostEscapes = 8;

function anyOf(forms: readonly string[]): string {
  return `(?:${forms.join('|')})`;
}

/** Longer forms first. JSON within JSON doubles the backslashes. */
function formsOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const json = JSON.stringify(character).slice(1, -1);
  return [
    // In URLs and forms, and in URLs within URLs.
    [...bytes].map((byte) => `%(?:25)*${anyCase(hex(byte, 2))}`).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    // In JSON.
    Array.from({ length: character.length }, (_, unit) => `\\\\{1,8}u${anyCase(hex(character.charCodeAt(unit), 4))}`).join(''),
    ...(/^\\[bfnrt]$/.test(json) ? [`\\\\{1,8}${json.slice(1)}`] : []),
    ...(character === '/' ? ['\\\\{1,8}/'] : []),
    // In HTML and XML.
    `&#(?:0*${character.codePointAt(0)}|[xX]0*${anyCase(hex(character.codePointAt(0) as number, 1))});`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
    // As bytes that are shown as characters.
    ...(bytes.length > 1 ? [escaped(bytes.toString('latin1'))] : []),
    escaped(character),
  ];
}

const entities: Record<string, string> = { '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' };

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The characters of base64 that the secret alone decides, whatever stands around it. */
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
