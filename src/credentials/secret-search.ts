import { decodeAll } from '../core/text/base64.ts';

/** If shorter secrets were masked, ordinary words would often be masked by mistake. */
export const shortestSecret = 4;

/** Maximum number of escape characters before a quote. There are several in JSON within JSON within CSV, for example. */
export const maxEscapes = 8;

/** The dots that programs put where they cut off text. */
const cutMark = '...';

/** Matches the rest of an escaped character or of a run of quotes that was cut off, if `...` follows. */
const cutEnd = `(?:[%&\\\\"\ufffd\\x80-\\xff][\\w#%&;\\\\"\\x80-\\xff]{0,24})?(?=\\.\\.\\.)`;

/** Matches the last character and the padding of base64 text. The last character may also contain bits of the text after the secret. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

/** Expressions for more characters would be slow, so a long secret is compared in pieces. */
const pieceLength = 64;

/** A backslash or percent sign at the end of a piece may belong to the next character, so a piece also looks at these many characters. */
const lookahead = 2;

/** Some programs cut off text without dots. A secret with this many matching pieces is masked even then. */
const maxUnmasked = 7;

interface SearchPiece {
  readonly whole: RegExp;
  /** Matches as many characters as there are. */
  readonly part: RegExp;
  /** Matches a part before `...`. */
  readonly cut: RegExp;
}

/** One of the encodings in which a secret may appear in text. */
export class Form {
  /** A pattern for each character, or for a run of characters that look the same in escaped text. */
  readonly #units: readonly string[];
  /** Pattern for text after the last character that belongs to the encoding, such as base64 padding. */
  readonly #end: string;
  #pieces: readonly SearchPiece[] | undefined;

  constructor(units: readonly string[], end: string) {
    this.#units = units;
    this.#end = end;
  }

  /** Pattern for the first `count` characters. */
  start(count: number): string {
    return this.#units.slice(0, count).join('') + (this.#units.length > count ? '' : this.#end);
  }

  /** Returns the end of the secret that begins at `start`, whole or cut off; undefined if there is none. */
  endIn(text: string, start: number): number | undefined {
    this.#pieces ??= this.#split();
    let at = start;
    for (const [index, { whole, part, cut }] of this.#pieces.entries()) {
      const end = matchEnd(whole, text, at);
      if (end === undefined) return matchEnd(cut, text, at) ?? (index < maxUnmasked ? undefined : matchEnd(part, text, at));
      at = end;
    }
    return at;
  }

  #split(): SearchPiece[] {
    const count = Math.ceil(this.#units.length / pieceLength);
    return Array.from({ length: count }, (_, index) => {
      const units = this.#units.slice(index * pieceLength, (index + 1) * pieceLength);
      const next = this.#units.slice((index + 1) * pieceLength).slice(0, lookahead);
      const certain = index === 0 ? shortestSecret : 0;
      const optional = [...units.slice(certain), ...next].reduceRight((after, unit) => `(?:${unit}${after})?`, '');
      const part = units.slice(0, certain).join('') + optional;
      const whole = units.join('') + (index === count - 1 ? this.#end : `(?=${next.join('')})`);
      return { whole: new RegExp(whole, 'y'), part: new RegExp(part, 'y'), cut: new RegExp(part + cutEnd, 'y') };
    });
  }
}

function matchEnd(expression: RegExp, text: string, start: number): number | undefined {
  expression.lastIndex = start;
  return expression.test(text) ? expression.lastIndex : undefined;
}

/** The first characters of a secret are searched with one expression for all secrets. Only where it matches, the forms are compared. */
const startLength = 16;

/** Returns a function that replaces each secret by `***`. If several forms begin at the same place, the first in the list counts. */
export function createSearch(forms: readonly Form[]): (text: string) => string {
  const whole = startsOf(forms, startLength);
  let cut: readonly Starts[] | undefined;
  return (text) => {
    if (!text.includes(cutMark)) return whole.reduce(maskStarts, text);
    cut ??= startsOf(forms, shortestSecret);
    return cut.reduce(maskStarts, text);
  };
}

interface Starts {
  readonly forms: readonly Form[];
  /** Matches the start of any form. Its n-th group belongs to the n-th form. */
  readonly expression: RegExp;
}

/** V8 does not optimize longer expressions, which makes them hundreds of times slower. */
const maxExpressionLength = 20_000;

function startsOf(forms: readonly Form[], count: number): Starts[] {
  const groups: { readonly forms: Form[]; pattern: string }[] = [];
  for (const form of forms) {
    const pattern = `(${form.start(count)})`;
    const last = groups.at(-1);
    if (last === undefined || last.pattern.length + pattern.length > maxExpressionLength) groups.push({ forms: [form], pattern });
    else {
      last.forms.push(form);
      last.pattern += `|${pattern}`;
    }
  }
  return groups.map((group) => ({ forms: group.forms, expression: new RegExp(group.pattern, 'g') }));
}

function maskStarts(text: string, { forms, expression }: Starts): string {
  let masked = '';
  let done = 0;
  expression.lastIndex = 0;
  for (let found = expression.exec(text); found; found = expression.exec(text)) {
    const end = endOfAny(forms, found.indexOf(found[0], 1) - 1, text, found.index);
    if (end !== undefined) {
      masked += `${text.slice(done, found.index)}***`;
      done = end;
    }
    expression.lastIndex = end ?? found.index + 1;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Tries the forms from `first` on. */
function endOfAny(forms: readonly Form[], first: number, text: string, start: number): number | undefined {
  for (let index = first; index < forms.length; index++) {
    const end = forms[index]?.endIn(text, start);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** The escaped form, and base64 forms: base64 depends on the secret's offset in a group of three bytes, so there is one for each offset. */
export function formsOf(secret: string): Form[] {
  // A run of quotes and backslashes is treated as one unit, because both look the same when they are escaped. Trying all ways to divide the
  // run would take far too long.
  const runs = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  // Basic authentication sends `user:password` in base64. The result may be base64-encoded a second time.
  const twice = /^[^:\s]+:./s.test(secret) ? base64Texts(unpadded(Buffer.from(secret))) : [];
  const base64 = [...base64Texts(secret), ...twice].map((text) => new Form([...text].map(base64Unit), base64End));
  // Some encoders escape even letters and digits. They have a form of their own, because they would slow down the search for the others.
  const escaped = [percentUnits(secret), jsonUnits(secret)].map((units) => new Form(units, ''));
  return [new Form(runs.map(unitOf), ''), ...escaped, ...base64];
}

function unitOf(characters: string): string {
  const count = characters.length;
  if (/^[\\"]/.test(characters)) return `${anyOf('"\\')}{${count},${maxEscapes * count}}`;
  // A run of whitespace also matches a single space, because joining a message into one line replaces whitespace by a single space.
  return /^\s/.test(characters) ? `${anyOf(` ${characters}`)}{1,${count}}` : anyOf(characters);
}

/** Matches both the standard and the URL-safe alphabet. */
function base64Unit(character: string): string {
  if (character === '+') return anyOf('+-');
  return character === '/' ? anyOf('/_') : character;
}

/** The patterns of single characters: secrets consist of few different characters, so this saves time. */
const escapes = new Map<string, string>();

/** Matches any of the characters, plain or escaped, because encoders differ in which characters they escape. */
function anyOf(characters: string): string {
  const patterns = [...new Set(characters)].map((character) => {
    if (/[A-Za-z0-9]/.test(character)) return character;
    const known = escapes.get(character) ?? escapesOf(character).join('|');
    escapes.set(character, known);
    return known;
  });
  return `(?:${patterns.join('|')})`;
}

/** Longer forms come first. An escape may have several backslashes, because JSON within JSON doubles them. */
function escapesOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const code = character.codePointAt(0) as number;
  const json = JSON.stringify(character).slice(1, -1);
  return [
    // The character as escaped in a URL or HTML form, or in a URL within a URL.
    percentUnits(character).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    // The character as escaped in JSON.
    jsonUnits(character).join(''),
    ...(/^\\[bfnrt]$/.test(json) ? [`\\\\{1,8}${json.slice(1)}`] : []),
    ...(character === '/' ? ['\\\\{1,8}/'] : []),
    // The character as escaped in HTML or XML.
    `&#(?:0*${code}|[xX]0*${hex(code, 1)});`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
    // The character's UTF-8 bytes, each of them wrongly decoded as a separate character.
    ...(bytes.length > 1 ? [[...bytes].map(byteForm).join('')] : []),
    character.replace(/[\\^$.*+?()[\]{}|]/, '\\$&'),
  ];
}

function percentUnits(text: string): string[] {
  return Array.from(Buffer.from(text), (byte) => `%(?:25)*${hex(byte, 2)}`);
}

/** JSON escapes each UTF-16 code unit separately. */
function jsonUnits(text: string): string[] {
  return Array.from({ length: text.length }, (_, index) => `\\\\{1,8}u${hex(text.charCodeAt(index), 4)}`);
}

const entities: Record<string, string> = { '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' };

const windows1252 = new TextDecoder('windows-1252');

/** Matches a UTF-8 byte decoded as ISO 8859-1 or Windows-1252. Control characters may be missing, because messages leave them out. */
function byteForm(byte: number): string {
  const character = String.fromCharCode(byte);
  return byte > 0x9f ? character : `[${character}${decodeAll(windows1252, Uint8Array.of(byte))}]?`;
}

/** Matches upper and lower case. */
function hex(number: number, digits: number): string {
  const text = number.toString(16).padStart(digits, '0');
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/**
 * For each of the three offsets, returns the characters that depend on the secret alone if it is encoded together with other text. The last
 * element is the secret encoded on its own.
 */
function base64Texts(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const inner = [0, 1, 2].map((offset) => {
    const certain = Math.floor(((offset + bytes.length) * 8) / 6);
    return unpadded(Buffer.concat([Buffer.alloc(offset), bytes])).slice(offset === 0 ? 0 : offset + 1, certain);
  });
  return [...inner, unpadded(bytes)].filter((text) => text.length >= shortestSecret);
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
