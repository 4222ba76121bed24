import { isBlank, isNoValue } from '../../../../core/lookups/blank.ts';
import type { AddressParts } from '../../../../core/lookups/geocode.ts';
import { placeKey } from '../../../../core/lookups/place-key.ts';
import { type Postcode, postcodesIn } from './postcodes.ts';
import {
  certainUnits,
  directions,
  streetEnds,
  wordsAfterBuilding,
  wordsAfterStreet,
  wordsBeforeStreet,
  wordsOfUnits,
} from './street-words.ts';

/** A word of an address. */
export interface Word {
  /** In the form of `placeKey`. */
  readonly key: string;
  /** Its first character in the text, and the one after its last. */
  readonly start: number;
  readonly end: number;
}

/** The words between two commas. */
export interface Segment {
  /** Without numbers, postcodes and parts of houses. */
  readonly words: readonly Word[];
  /** `words` without those of a street. */
  readonly town: readonly Word[];
  readonly hasNumber: boolean;
  readonly hasStreet: boolean;
  /** True if a house number stands by the name of its street: the whole is no town. */
  readonly hasHouse: boolean;
  /** The numbers that are no postcodes for certain. */
  readonly numbers: readonly Span[];
  /** The end of the name of its street in the text; 0 without a street. */
  readonly streetEnd: number;
}

/** A stretch of the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** An address, taken apart. */
export interface AddressText {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly postcodes: readonly Postcode[];
  /** Stretches that say nothing about the place: a P.O. box, a mail address, `c/o` and a name. */
  readonly ignored: readonly Span[];
}

/** An address in parts, each taken apart, with one text for all of them. */
export interface PartTexts {
  readonly text: string;
  readonly parts: Readonly<Record<keyof AddressParts, AddressText>>;
}

/** Takes an address apart. */
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

/** True for a number of a street, which has no marks of a postcode. */
function isHouseNumber({ start }: Postcode, segments: readonly Segment[]): boolean {
  return segments.some(({ numbers, streetEnd }) => start < streetEnd && numbers.some((number) => number.start === start));
}

const partNames = ['street', 'city', 'state', 'postcode', 'country'] as const;

/** Takes the parts of an address apart. Parts that stand for no value are empty. */
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

/** The text with blanks in the place of what says nothing about the place. */
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

interface Token extends Word {
  readonly isNumber: boolean;
}

const isAscii = /^[\0-\x7f]*$/;

/** The words of each segment; those of postcodes are left out. */
function tokensOf(text: string, postcodes: readonly Postcode[]): Token[][] {
  const segments: Token[][] = [];
  let tokens: Token[] = [];
  const addWord = (start: number, end: number) => {
    const raw = text.slice(start, end);
    if (postcodes.length > 0 && !isUnspaced(raw) && postcodes.some((code) => code.isMarked && start < code.end && code.start < end)) return;
    // Most words need no more.
    const key = raw.length > 3 && latinWord.test(raw) ? raw.toLowerCase() : placeKey(raw);
    if (key.includes(' ')) for (const word of key.split(' ')) pushToken(tokens, { key: word, start, end, isNumber: false });
    else if (key !== '') pushToken(tokens, { key, start, end, isNumber: false });
  };
  const addBreak = () => {
    if (tokens.length > 0) segments.push(tokens);
    tokens = [];
  };
  if (isAscii.test(text)) scanAscii(text, addWord, addBreak);
  else scan(text, addWord, addBreak);
  segments.push(tokens);
  return segments;
}

const latinWord = /^[A-Za-z]+$/;

type AddWord = (start: number, end: number) => void;

function scan(text: string, addWord: AddWord, addBreak: () => void): void {
  for (const match of text.matchAll(/([\p{L}\p{M}\p{N}'`’‘ʻʼ´]+)|[,;|、，\t\r\n]|\s[-–—/]\s/gu)) {
    if (match[1] === undefined) addBreak();
    else addWord(match.index, match.index + match[1].length);
  }
}

/** The kinds of ASCII characters: 1 for those of words, 2 for those between segments, 3 for those that are such between blanks. */
const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9'`]/.test(character) ? 1 : /[,;|\t\r\n]/.test(character) ? 2 : /[-/]/.test(character) ? 3 : 0;
});

/** Does the same as `scan`, in a third of the time. */
function scanAscii(text: string, addWord: AddWord, addBreak: () => void): void {
  let start = -1;
  for (let at = 0; at <= text.length; at++) {
    const kind = at === text.length ? 0 : asciiKinds[text.charCodeAt(at)];
    if (kind === 1) {
      if (start < 0) start = at;
      continue;
    }
    if (start >= 0) addWord(start, at);
    start = -1;
    if (kind === 2 || (kind === 3 && text[at - 1] === ' ' && text[at + 1] === ' ')) addBreak();
  }
}

/** Words with digits are house numbers and postcodes. In a script without spaces the text before them counts: `渋谷区道玄坂1`. */
function pushToken(tokens: Token[], token: Token): void {
  if (!/\d/.test(token.key)) tokens.push(token);
  else if (!isUnspaced(token.key)) tokens.push({ ...token, isNumber: true });
  else {
    const start = /^\d*\D+/.exec(token.key)?.[0].replace(/^\d+/, '');
    if (start) tokens.push({ ...token, key: start });
  }
}

/** True for text in a script that sets no spaces between words: Chinese and Japanese. */
export function isUnspaced(text: string): boolean {
  return !isAscii.test(text) && /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
}

/** True for text in a script whose addresses go from the country to the house: Chinese, Japanese and Korean. */
export function isEastAsian(text: string): boolean {
  return isUnspaced(text) || (!isAscii.test(text) && /\p{Script=Hangul}/u.test(text));
}

/** The segment that some words are; without words if they stand for no value. */
function segmentOf(all: readonly Token[], text: string, offset: number): Segment {
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last || isNoValue(text.slice(first.start, last.end))) return nothing;
  const tokens = withoutUnits(all, text);
  const street = streetIn(tokens, text);
  // The parts of an address in parts have one text.
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

/** Fewest digits of a postcode that no house number has. */
const minCode = 5;

function streetFacts(street: readonly Token[]): Pick<Segment, 'hasHouse' | 'streetEnd'> {
  const streetEnd = street.findLast(({ isNumber }) => !isNumber)?.end ?? 0;
  const isHouse = ({ isNumber, key, end }: Token) => isNumber && (end < streetEnd || key.length < minCode);
  const isCertain = street.some(
    ({ key }) => (wordsAfterStreet.has(key) && !wordsAfterBuilding.has(key)) || wordsBeforeStreet.has(key) || streetEnds.test(key),
  );
  return { streetEnd, hasHouse: isCertain && street.some(isHouse) };
}

/** The words without `Apt 5`, `Floor 3`, `Nr.`. */
function withoutUnits(tokens: readonly Token[], text: string): readonly Token[] {
  if (tokens.length < 2 || !tokens.some((token) => isUnit(token, text))) return tokens;
  const kept: Token[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as Token;
    const next = tokens[index + 1];
    const isCounted = next !== undefined && (next.isNumber || next.key.length === 1);
    // By itself NO is Norway.
    const isDropped = isUnit(token, text) && (isCounted || (certainUnits.has(token.key) && (token.key !== 'no' || next !== undefined)));
    if (!isDropped) kept.push(token);
    else if (isCounted) index++;
  }
  return kept;
}

function isUnit({ key, start, end }: Token, text: string): boolean {
  return wordsOfUnits.has(key) || (key === 'sainte' && text.slice(start, end).toLowerCase() === 'ste');
}

/** The first and the end of the words of a street; undefined without one. */
function streetIn(tokens: readonly Token[], text: string): readonly [number, number] | undefined {
  let isFirst = true;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as Token;
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

/** True for a word after the name of a street or a building, such as `Road`. */
function endsStreet(tokens: readonly Token[], index: number, text: string): boolean {
  const token = tokens[index] as Token;
  return wordsAfterStreet.has(token.key) || wordsAfterBuilding.has(token.key) || (isSaint(token, text) && isStreet(tokens, index));
}

/** Shortest word that can be a street as a whole. */
const minStreetEnd = 5;

/** True for `St` and `St.`, which may be a street. */
function isSaint({ key, start, end }: Token, text: string): boolean {
  return key === 'saint' && text.slice(start, end).toLowerCase() === 'st';
}

/** True if a name stands before `St`, and a number beside them. */
function isStreet(tokens: readonly Token[], index: number): boolean {
  return tokens.some(({ isNumber }) => isNumber) && tokens.slice(0, index).some(({ isNumber }) => !isNumber || index > 1);
}

/** A street whose name follows its word goes on up to the house number. */
function endOfStreet(tokens: readonly Token[], start: number): number {
  const number = tokens.findIndex(({ isNumber }, index) => index > start && isNumber);
  return number < 0 ? tokens.length : withExtras(tokens, number);
}

function withExtras(tokens: readonly Token[], start: number): number {
  const isExtra = ({ isNumber, key }: Token) => isNumber || wordsAfterStreet.has(key) || directions.has(key);
  const end = tokens.findIndex((token, index) => index >= start && !isExtra(token));
  return end < 0 ? tokens.length : end;
}
