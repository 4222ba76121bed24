/** A shorter text is not masked: it would take everyday words out of the data. */
export const shortestSecret = 4;

/** A way in which a secret can be written. */
export interface Form {
  readonly characters: readonly Characters[];
  /** A pattern for the text that may follow the last character. */
  readonly end: string;
}

/** A character, or a run of characters that look alike once they are escaped. */
export interface Characters {
  /** A pattern for one character. */
  readonly unit: string;
  readonly min: number;
  readonly max: number;
}

/** The forms of a secret: plain with any characters escaped, all of it escaped, and in base64 at each of the three offsets. */
export function secretForms(secret: string): Form[] {
  // A run of quotes and backslashes counts as a whole: escaped, they look alike, and trying every split would take forever.
  const raw = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  // A user:password pair, which `Basic` sends in base64, may be encoded in base64 again.
  const twice = /^[^:\s]+:./s.test(secret) ? base64Forms(Buffer.from(secret).toString('base64').replace(/=+$/, '')) : [];
  const base64 = [...base64Forms(secret), ...twice].map((text) => ({
    characters: [...text].map(base64Form),
    end: base64End,
  }));
  const escaped = [unitsOf(secret).map(jsonForm), [...Buffer.from(secret)].map(percentForm)].map((patterns) => patterns.map(single));
  return [raw.map(anyForm), ...escaped].map((characters): Form => ({ characters, end: '' })).concat(base64);
}

/** The last character may hold bits of the secret and of the text after it. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

/** A pattern for the first `length` characters of a form. */
export function startPattern({ characters, end }: Form, length: number): string {
  return wholePattern({ characters: characters.slice(0, length), end: characters.length > length ? '' : end });
}

/** A pattern for a whole form. */
export function wholePattern({ characters, end }: Form): string {
  return characters.map(({ unit, min, max }) => (max === 1 ? unit : `${unit}{${min},${max}}`)).join('') + end;
}

/** A character, escaped or not: encoders differ in the characters they escape. */
const anyForm = memoized((characters: string): Characters => {
  if (/^[A-Za-z0-9]$/.test(characters)) return single(characters);
  if (/^[\\"]/.test(characters)) {
    return { unit: anyOf([...formsOf('"'), ...formsOf('\\')]), min: characters.length, max: maxEscapes * characters.length };
  }
  // A message on one line turns any run of spaces into one.
  if (/^\s/.test(characters)) return { unit: anyOf([...new Set(` ${characters}`)].flatMap(formsOf)), min: 1, max: characters.length };
  return single(anyOf(formsOf(characters)));
});

function single(unit: string): Characters {
  return { unit, min: 1, max: 1 };
}

/** Base64 has a second alphabet, for URLs. */
const base64Form = memoized((character: string): Characters => {
  if (character !== '+' && character !== '/') return single(character);
  return single(anyOf([...formsOf(character), character === '+' ? '-' : '_']));
});

/** Caches the results of a function for single characters: there are few different characters, and a secret has many. */
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

/** Escapes of a quote in JSON within JSON within CSV. */
export const maxEscapes = 8;

function anyOf(forms: readonly string[]): string {
  return `(?:${forms.join('|')})`;
}

/** Patterns of a character, longer ones first. JSON within JSON doubles the backslashes. */
function formsOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const json = JSON.stringify(character).slice(1, -1);
  return [
    // In URLs and forms, and in URLs within URLs.
    [...bytes].map(percentForm).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    // In JSON.
    unitsOf(character).map(jsonForm).join(''),
    ...(/^\\[bfnrt]$/.test(json) ? [`\\\\{1,8}${json.slice(1)}`] : []),
    ...(character === '/' ? ['\\\\{1,8}/'] : []),
    // In HTML and XML.
    `&#(?:0*${character.codePointAt(0)}|[xX]0*${anyCase(hex(character.codePointAt(0) as number, 1))});`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
    // UTF-8 bytes that were decoded as single characters.
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

/** The UTF-16 units of a text: JSON escapes each of them. */
function unitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

const windows1252 = new TextDecoder('windows-1252');

/** A byte of UTF-8 as a character of ISO 8859-1 or Windows-1252. Messages leave out bytes that are control characters there. */
function byteForm(byte: number): string {
  const character = String.fromCharCode(byte);
  return byte > 0x9f ? character : `[${character}${windows1252.decode(Uint8Array.of(byte))}]?`;
}

const entities: Record<string, string> = { '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' };

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The characters of base64 that depend on the secret alone, not on the text around it. */
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
