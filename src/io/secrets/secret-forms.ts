/** A shorter text is no secret, and would take everyday words out of the data. */
export const shortestSecret = 4;

/** One way in which a secret can be written. */
export interface Form {
  readonly characters: readonly Characters[];
  /** A pattern for what may stand behind the last of them. */
  readonly end: string;
}

/** A character, or a run of several that cannot be told apart. */
export interface Characters {
  /** A pattern for one of them. */
  readonly unit: string;
  readonly least: number;
  readonly most: number;
}

/** A secret as it is, in every way of escaping, with all of it escaped, and inside base64 at each of the three ways it can fall. */
export function secretForms(secret: string): Form[] {
  // Quotes and backslashes that stand together: escaped, nobody can tell them apart, and trying would take for ever.
  const raw = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  // What stands behind `Basic` may be in base64 once more.
  const twice = /^[^:\s]+:./s.test(secret) ? base64Forms(Buffer.from(secret).toString('base64').replace(/=+$/, '')) : [];
  const base64 = [...base64Forms(secret), ...twice].map((text) => ({
    characters: [...text].map(base64Form),
    end: base64End,
  }));
  const escaped = [unitsOf(secret).map(jsonForm), [...Buffer.from(secret)].map(percentForm)].map((patterns) => patterns.map(single));
  return [raw.map(anyForm), ...escaped].map((characters): Form => ({ characters, end: '' })).concat(base64);
}

/** The last character may hold bits of the secret and bits of what follows, or of nothing. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

/** A pattern for so many of its first characters. */
export function startPattern({ characters, end }: Form, length: number): string {
  return wholePattern({ characters: characters.slice(0, length), end: characters.length > length ? '' : end });
}

/** A pattern for all of it. */
export function wholePattern({ characters, end }: Form): string {
  return characters.map(({ unit, least, most }) => (most === 1 ? unit : `${unit}{${least},${most}}`)).join('') + end;
}

/** A character however it is escaped: each may be on its own, as encoders differ in which ones they leave alone. */
const anyForm = once((characters: string): Characters => {
  if (/^[A-Za-z0-9]$/.test(characters)) return single(characters);
  if (/^[\\"]/.test(characters)) {
    return { unit: anyOf([...formsOf('"'), ...formsOf('\\')]), least: characters.length, most: mostEscapes * characters.length };
  }
  // In a message on one line, a run of any spaces is one.
  if (/^\s/.test(characters)) return { unit: anyOf([...new Set(` ${characters}`)].flatMap(formsOf)), least: 1, most: characters.length };
  return single(anyOf(formsOf(characters)));
});

function single(unit: string): Characters {
  return { unit, least: 1, most: 1 };
}

/** Base64 has a second alphabet, for URLs. */
const base64Form = once((character: string): Characters => {
  if (character !== '+' && character !== '/') return single(character);
  return single(anyOf([...formsOf(character), character === '+' ? '-' : '_']));
});

/** The same question, answered once. There are few characters, and a secret has many. */
function once<Answer>(ask: (text: string) => Answer): (text: string) => Answer {
  const answers = new Map<string, Answer>();
  return (text) => {
    let answer = answers.get(text);
    if (answer === undefined) {
      answer = ask(text);
      if (text.length <= 2) answers.set(text, answer);
    }
    return answer;
  };
}

/** A quote in JSON within JSON within CSV. */
export const mostEscapes = 8;

function anyOf(forms: readonly string[]): string {
  return `(?:${forms.join('|')})`;
}

/** Longer forms first. JSON within JSON doubles the backslashes. */
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
    // As bytes that are shown as characters.
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

/** The code units of a text: JSON escapes each of them. */
function unitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

const windows1252 = new TextDecoder('windows-1252');

/** A byte of UTF-8 as a character of ISO 8859-1 or Windows-1252. What is a control character there is taken out of messages. */
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
