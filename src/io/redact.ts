import { isObject, type Value } from '../core/value.ts';

/** Takes secrets out of everything that is written. */
export interface Redactor {
  /** From now on this is a secret, too. */
  add(secret: string): void;
  /** Whether a text holds a secret in any encoding, or the beginning of one before the dots that stand where a text was cut. */
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
  let hasPieces = false;
  let whole: readonly RegExp[] = [];
  let wholeOrCut: readonly RegExp[] = [];
  const redactor: Redactor = {
    add(secret) {
      if (secret.length < shortestSecret || secrets.has(secret)) return;
      secrets.add(secret);
      hasPieces ||= secret.length > longestPiece;
      // The longest first, so that no end of a longer secret is left over.
      const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
      const forms = longestFirst.flatMap(piecesOf).flatMap(secretForms);
      whole = expressionsOf(forms.map(wholePattern));
      wholeOrCut = expressionsOf(forms.flatMap((form) => [wholePattern(form), ...cutPatterns(form)]));
    },
    isIn(text) {
      return expressionsFor(text).some((expression) => text.search(expression) >= 0);
    },
    text(text) {
      const masked = expressionsFor(text).reduce((left, expression) => left.replace(expression, '***'), text);
      return hasPieces && masked !== text ? masked.replace(/\*{6,}/g, '***') : masked;
    },
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

  /** Most texts were not cut, and without that the search is faster. */
  function expressionsFor(text: string): readonly RegExp[] {
    return text.includes(cutMark) ? wholeOrCut : whole;
  }
}

/** A longer one makes an expression that is too large: it is sought piece by piece. */
const longestPiece = 500;

function piecesOf(secret: string): string[] {
  return secret.match(new RegExp(`[^]{1,${longestPiece}}`, 'gu')) ?? [];
}

/** The most characters of an expression; one of twice that many is refused by the engine. */
const largestExpression = 150_000;

/** Mostly one: as few as can hold all patterns. */
function expressionsOf(patterns: readonly string[]): RegExp[] {
  const groups: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const pattern of patterns) {
    size += pattern.length;
    if (size > largestExpression) {
      groups.push([]);
      size = pattern.length;
    }
    groups.at(-1)?.push(pattern);
  }
  return groups.map((group) => new RegExp(group.join('|'), 'g'));
}

/** One way in which a secret can be written. */
interface Form {
  readonly characters: readonly Characters[];
  /** A pattern for what may stand behind the last of them. */
  readonly end: string;
}

/** A character, or several that are taken together. */
interface Characters {
  readonly pattern: string;
  /** A pattern for the first few of them; absent for a single one. */
  readonly some?: string;
}

/** A secret as it is, in every way of escaping, and inside base64 at each of the three ways it can fall. */
function secretForms(secret: string): Form[] {
  // Quotes and backslashes that stand together: escaped, nobody can tell them apart, and trying would take for ever.
  const raw = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  const base64 = base64Forms(secret).map((text) => ({
    characters: [...text].map((one) => ({ pattern: anyBase64Form(one) })),
    end: base64End,
  }));
  return [{ characters: raw.map(anyForm), end: '' }, ...base64];
}

/** The last character may hold bits of the secret and bits of what follows, or of nothing. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

function wholePattern({ characters, end }: Form): string {
  return characters.map(({ pattern }) => pattern).join('') + end;
}

/** Whoever cuts a text puts this behind it. */
const cutMark = '...';

/** Texts are cut before so many characters; and a pattern that is nested too deep ends the process. */
const longestCut = 512;

/** What a cut may leave of an escaped character. */
const cutForm = '(?:[%&\\\\\ufffd\\x80-\\xff][\\w#%\\\\\\x80-\\xff]{0,24})?';

/** The beginning of a secret where a text was cut; none where the shortest beginning is all of it. */
function cutPatterns({ characters }: Form): string[] {
  if (characters.length <= shortestSecret) return [];
  const start = wholePattern({ characters: characters.slice(0, shortestSecret), end: '' });
  const rest = characters.slice(shortestSecret, longestCut).reduceRight((behind, { pattern, some }) => {
    return `(?:${pattern}${behind}${some === undefined ? '' : `|${some}`})?`;
  }, '');
  return [`${start}${rest}${cutForm}(?=${escaped(cutMark)})`];
}

/** A character however it is escaped: each may be on its own, as encoders differ in which ones they leave alone. */
function anyForm(characters: string): Characters {
  if (/^[A-Za-z0-9]$/.test(characters)) return { pattern: characters };
  if (/^[\\"]/.test(characters)) return severalOf([...formsOf('"'), ...formsOf('\\')], characters.length, mostEscapes * characters.length);
  // In a message on one line, a run of any spaces is one.
  if (/^\s/.test(characters)) return severalOf([...new Set(` ${characters}`)].flatMap(formsOf), 1, characters.length);
  return { pattern: anyOf(formsOf(characters)) };
}

function severalOf(forms: readonly string[], least: number, most: number): Characters {
  return { pattern: `${anyOf(forms)}{${least},${most}}`, some: `${anyOf(forms)}{1,${most}}` };
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
