import { isBlank, isNoValue, placeKey } from '../../../country-names.ts';
import type { AddressParts } from '../../../lookup.ts';
import { minDigits, overlaps, type Postcode, postcodesIn, type Span } from './postcodes.ts';
import {
  certainUnits,
  directions,
  streetEnds,
  wordsAfterBuilding,
  wordsAfterStreet,
  wordsBeforeStreet,
  wordsOfUnits,
} from './street-words.ts';

export interface Word extends Span {
  /** The word in the normalized form that `placeKey` returns, which is used to compare names. */
  readonly key: string;
}

/** A segment of an address: the text between two commas or similar separators. */
export interface Segment {
  /** The words of the segment, without numbers, postcodes, and parts of a building such as `Apt 5`. */
  readonly words: readonly Word[];
  /** The words of the segment that may be a town, because they do not belong to a street. */
  readonly town: readonly Word[];
  readonly hasNumber: boolean;
  readonly hasStreet: boolean;
  /** The whole segment can then not be the name of a town. */
  readonly hasHouse: boolean;
  /** The numbers in the segment, except numbers that are certainly postcodes. */
  readonly numbers: readonly Span[];
  /** Index in the address at which the street's name ends; 0 if the segment contains no street. */
  readonly streetEnd: number;
}

export interface AddressText {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly postcodes: readonly Postcode[];
  /** Parts of the address that do not help to find the place, such as a P.O. box, an email address, or `c/o` with a name. */
  readonly ignored: readonly Span[];
}

/** An address in separate parts, such as street and city, each of which has been split into segments. `text` is the text of all parts. */
export interface PartTexts {
  readonly text: string;
  readonly parts: Readonly<Record<keyof AddressParts, AddressText>>;
}

/** Splits an address into segments, and finds the postcodes and the parts to ignore. `offset` is added to all positions in the result. */
export function addressTextOf(text: string, offset = 0): AddressText {
  const ignored: Span[] = [];
  const clean = withoutNoise(text, ignored);
  const postcodes = postcodesIn(clean);
  const segments: Segment[] = [];
  for (const tokens of tokensOf(clean, postcodes)) {
    const segment = segmentOf(tokens, clean, offset);
    if (segment.words.length > 0) segments.push(segment);
  }
  const moved = <Part extends Span>(span: Part) => ({ ...span, start: span.start + offset, end: span.end + offset });
  const [codes, spans] = offset === 0 ? [postcodes, ignored] : [postcodes.map(moved), ignored.map(moved)];
  return { text, segments, postcodes: codes.filter((code) => code.isMarked || !isHouseNumber(code, segments)), ignored: spans };
}

/** Returns true if a number that looks like a postcode belongs to a street, and is therefore a house number. */
function isHouseNumber({ start }: Postcode, segments: readonly Segment[]): boolean {
  return segments.some(({ numbers, streetEnd }) => start < streetEnd && numbers.some((number) => number.start === start));
}

const partNames = ['street', 'city', 'state', 'postcode', 'country'] as const;

/** Splits each part of an address into segments. A part that means that there is no value, such as `n/a`, is treated as empty. */
export function partTextsOf(address: AddressParts): PartTexts {
  let text = '';
  const parts = {} as Record<keyof AddressParts, AddressText>;
  for (const name of partNames) {
    const written = address[name] ?? '';
    const part = isBlank(written) ? '' : written;
    if (text !== '' && part !== '') text += ', ';
    parts[name] = addressTextOf(part, text.length);
    text += part;
  }
  return { text, parts };
}

const noiseHint =
  /@|:\/\/|www\.|c\/o|\b(?:att|z\. ?h|zh|fao|p\.? ?o\b|b\.?p\b|box|gpo|bo[iî]te|post|apartado|casilla|caixa|skr|а\/я|private)/i;

const noises = [
  /\S+@\S+/g,
  /\b(?:https?:\/\/|www\.)\S+/gi,
  /(?:\bc\/o|\battn\.?|\battention|\batt\.|\bz\. ?hd\.?|\bfao)(?![\p{L}])[^,;|\n]*/giu,
  /(?:\bp\.? ?o\.? ?box|\bpost office box|\bpostfach|\bpostbus|\bapartado(?: postal| de correos)?|\bcasilla(?: postal| de correo)?|\bcaixa postal|\bbo[iî]te postale|\bb\.?p\.?|а\/я|\bskr\. poczt\.|\bgpo box|\bprivate bag|\bbox)\s*[:#]?\s*(?:[a-z]-?)?\d+(?: \d\d(?!\d))*(?![\d])/gi,
  /\b(?:p\.? ?o\.? ?box|post office box)\b/gi,
];

/** Replaces the parts of an address that do not help to find the place by spaces, and adds their positions to `ignored`. */
function withoutNoise(text: string, ignored: Span[]): string {
  if (!noiseHint.test(text)) return text;
  let clean = text;
  for (const noise of noises) {
    clean = clean.replace(noise, (found, ...more) => {
      const start = more.find((argument) => typeof argument === 'number') as number;
      ignored.push({ start, end: start + found.trimEnd().length });
      return ' '.repeat(found.length);
    });
  }
  return clean;
}

interface AddressToken extends Word {
  readonly isNumber: boolean;
}

const isAscii = /^[\0-\x7f]*$/;

/** Splits an address into segments of words. Words that belong to a postcode are left out, unless the postcode may be a house number. */
function tokensOf(text: string, postcodes: readonly Postcode[]): AddressToken[][] {
  const marked = postcodes.filter(({ isMarked }) => isMarked);
  const segments: AddressToken[][] = [];
  let tokens: AddressToken[] = [];
  const addWord = (start: number, end: number) => {
    const raw = text.slice(start, end);
    if (marked.length > 0 && !isUnspaced(raw) && overlaps({ start, end }, marked)) return;
    // Most words consist of ASCII letters and only have to be converted to lower case.
    const key = raw.length > 3 && latinWord.test(raw) ? raw.toLowerCase() : placeKey(raw);
    if (key.includes(' ')) for (const word of key.split(' ')) pushToken(tokens, { key: word, start, end, isNumber: false });
    else if (key !== '') pushToken(tokens, { key, start, end, isNumber: false });
  };
  const addBreak = () => {
    if (tokens.length > 0) segments.push(tokens);
    tokens = [];
  };
  scan(text, addWord, addBreak);
  segments.push(tokens);
  return segments;
}

const latinWord = /^[A-Za-z]+$/;

/** 1 for a part of a word, 2 for a separator of segments, and 3 for a separator only between spaces. */
function kindOf(character: string): number {
  if (/[\p{L}\p{M}\p{N}'`’‘ʻʼ´]/u.test(character)) return 1;
  return /[,;|、，\t\r\n]/.test(character) ? 2 : /[-–—/]/.test(character) ? 3 : 0;
}

const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => kindOf(String.fromCharCode(code)));

/** Uses no regular expression for ASCII characters, which takes a third of the time. */
function scan(text: string, addWord: (start: number, end: number) => void, addBreak: () => void): void {
  let start = -1;
  for (let at = 0; at <= text.length; at++) {
    const code = text.codePointAt(at) ?? 0;
    const kind = code < 128 ? asciiKinds[code] : kindOf(String.fromCodePoint(code));
    if (kind === 1) {
      if (start < 0) start = at;
    } else {
      if (start >= 0) addWord(start, at);
      start = -1;
      if (kind === 2 || (kind === 3 && /\s.\s/.test(text.slice(at - 1, at + 2)))) addBreak();
    }
    if (code > 0xffff) at++;
  }
}

/** A word with digits counts as a number. In a script without spaces, only the text before the digits is added, as in `渋谷区道玄坂1`. */
function pushToken(tokens: AddressToken[], token: AddressToken): void {
  if (!/\d/.test(token.key)) tokens.push(token);
  else if (!isUnspaced(token.key)) tokens.push({ ...token, isNumber: true });
  else {
    const start = /^\d*\D+/.exec(token.key)?.[0].replace(/^\d+/, '');
    if (start) tokens.push({ ...token, key: start });
  }
}

/** Returns true for text in Chinese or Japanese characters, which are written without spaces between words. */
function isUnspaced(text: string): boolean {
  return !isAscii.test(text) && /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
}

/** Addresses in Chinese, Japanese or Korean begin with the country and end with the house. */
export function isEastAsian(text: string): boolean {
  return isUnspaced(text) || (!isAscii.test(text) && /\p{Script=Hangul}/u.test(text));
}

/** Empty if the words mean "no value", such as `n/a`. */
function segmentOf(all: readonly AddressToken[], text: string, offset: number): Segment {
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last || isNoValue(text.slice(first.start, last.end))) return nothing;
  const tokens = withoutUnits(all, text);
  const street = streetIn(tokens, text);
  // For an address in separate parts, the positions within a part are converted to positions in the text of all parts.
  const moved = offset === 0 ? tokens : tokens.map((token) => ({ ...token, start: token.start + offset, end: token.end + offset }));
  const numbers = moved.filter(({ isNumber }) => isNumber);
  const words = numbers.length > 0 ? moved.filter(({ isNumber }) => !isNumber) : moved;
  return {
    words,
    town: street ? moved.filter((token, index) => !token.isNumber && (index < street[0] || index >= street[1])) : words,
    hasNumber: numbers.length > 0,
    hasStreet: street !== undefined,
    ...streetFacts(street ? moved.slice(street[0], street[1]) : []),
    numbers,
  };
}

const nothing: Segment = { words: [], town: [], hasNumber: false, hasStreet: false, hasHouse: false, numbers: [], streetEnd: 0 };

function streetFacts(street: readonly AddressToken[]): Pick<Segment, 'hasHouse' | 'streetEnd'> {
  const streetEnd = street.findLast(({ isNumber }) => !isNumber)?.end ?? 0;
  const isHouse = ({ isNumber, key, end }: AddressToken) => isNumber && (end < streetEnd || key.length < minDigits);
  const isCertain = street.some(
    ({ key }) => (wordsAfterStreet.has(key) && !wordsAfterBuilding.has(key)) || wordsBeforeStreet.has(key) || streetEnds.test(key),
  );
  return { streetEnd, hasHouse: isCertain && street.some(isHouse) };
}

/** Removes words for parts of a building, such as `Apt 5`, `Floor 3` or `Nr.` */
function withoutUnits(tokens: readonly AddressToken[], text: string): readonly AddressToken[] {
  if (tokens.length < 2 || !tokens.some((token) => isUnit(token, text))) return tokens;
  const kept: AddressToken[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as AddressToken;
    const next = tokens[index + 1];
    const isCounted = next !== undefined && (next.isNumber || next.key.length === 1);
    // If NO is the last word, it stands for Norway, not for `number`.
    const isDropped = isUnit(token, text) && (isCounted || (certainUnits.has(token.key) && (token.key !== 'no' || next !== undefined)));
    if (!isDropped) kept.push(token);
    else if (isCounted) index++;
  }
  return kept;
}

function isUnit({ key, start, end }: AddressToken, text: string): boolean {
  return wordsOfUnits.has(key) || (key === 'sainte' && text.slice(start, end).toLowerCase() === 'ste');
}

/** Finds the words of a street. Returns the index of its first word and the index after its last word; undefined if there is no street. */
function streetIn(tokens: readonly AddressToken[], text: string): readonly [number, number] | undefined {
  let isFirst = true;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as AddressToken;
    if (token.isNumber) continue;
    const { key } = token;
    const isAfter = endsStreet(tokens, index, text);
    const isBefore = wordsBeforeStreet.has(key) || (isAfter && isFirst && wordsAfterStreet.has(key) && index + 1 < tokens.length);
    if (isBefore) return [index, endOfStreet(tokens, index)];
    if (isAfter && !isFirst) return [0, withExtras(tokens, index + 1)];
    if (key.length > minStreetEnd && streetEnds.test(key)) return [isFirst ? 0 : index, withExtras(tokens, index + 1)];
    isFirst = false;
  }
  return undefined;
}

function endsStreet(tokens: readonly AddressToken[], index: number, text: string): boolean {
  const token = tokens[index] as AddressToken;
  return wordsAfterStreet.has(token.key) || wordsAfterBuilding.has(token.key) || (isSaint(token, text) && isStreet(tokens, index));
}

/** A single word such as `Hauptstraße` can be a whole street only if it has more letters than this. */
const minStreetEnd = 5;

/** Returns true for `St` and `St.`, which may mean `Saint` or `Street`. */
function isSaint({ key, start, end }: AddressToken, text: string): boolean {
  return key === 'saint' && text.slice(start, end).toLowerCase() === 'st';
}

/** Returns true if `St` means `Street`. This is the case if a name comes before it and the segment contains a number. */
function isStreet(tokens: readonly AddressToken[], index: number): boolean {
  return tokens.some(({ isNumber }) => isNumber) && tokens.slice(0, index).some(({ isNumber }) => !isNumber || index > 1);
}

/** Returns the index after a street that begins with a word such as `Rue`. The street ends after its house number. */
function endOfStreet(tokens: readonly AddressToken[], start: number): number {
  const number = tokens.findIndex(({ isNumber }, index) => index > start && isNumber);
  return number < 0 ? tokens.length : withExtras(tokens, number);
}

function withExtras(tokens: readonly AddressToken[], start: number): number {
  const isExtra = ({ isNumber, key }: AddressToken) => isNumber || wordsAfterStreet.has(key) || directions.has(key);
  const end = tokens.findIndex((token, index) => index >= start && !isExtra(token));
  return end < 0 ? tokens.length : end;
}
