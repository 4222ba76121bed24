import { otherLetters, plainLetter } from '../../core/condition/texts.ts';
import { editDistance } from '../../core/text/suggest.ts';

const isAscii = /^[\0-\x7f]*$/;

/** Lower case without accents, for comparisons. Variants of the same character become equal (Unicode NFKD). */
export function foldedText(text: string): string {
  const lower = text.toLowerCase();
  // Most text contains only ASCII characters and needs no further conversion.
  if (isAscii.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(otherLetters, plainLetter);
}

/** Splits folded text into words at spaces and punctuation. Apostrophes are removed and do not split words. */
export function wordsOfFolded(folded: string): string[] {
  const joined = folded.replace(/['’‘`´]/g, '');
  return joined.match(isAscii.test(joined) ? /[a-z0-9]+/g : /[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** The words of a list, which may have several lines. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}

/** Minimum length of a string in which one spelling mistake is accepted. Shorter strings must be correct. */
const minLength = 5;

/** Minimum length of a string in which two spelling mistakes are accepted. */
const lengthForTwo = 12;

/** Cuts strings into one more piece than the accepted mistakes, so that one is correct. Only strings that share a piece are compared. */
export class NearKeys {
  readonly #pieces = new Map<string, string[]>();

  constructor(keys: Iterable<string>) {
    for (const key of keys) {
      if (key.length < minLength) continue;
      const count = piecesIn(key.length);
      for (let index = 0; index < count; index++) {
        const piece = key.slice(cutBetween(key.length, count, index), cutBetween(key.length, count, index + 1));
        const name = `${key.length} ${index} ${piece}`;
        const found = this.#pieces.get(name);
        if (found) found.push(key);
        else this.#pieces.set(name, [key]);
      }
    }
  }

  /** Returns the strings in the index that are similar to `text`, each with its number of spelling mistakes. */
  near(text: string): Map<string, number> {
    const near = new Map<string, number>();
    if (text.length < minLength) return near;
    const most = maxMistakes(text.length);
    for (let length = Math.max(minLength, text.length - most); length <= text.length + most; length++) {
      for (const key of this.#sharing(text, length, most)) {
        if (near.has(key)) continue;
        const distance = mistakesBetween(text, key, most);
        if (distance <= most) near.set(key, distance);
      }
    }
    return near;
  }

  /** Yields the strings of one length in the index that share a piece with `text`. */
  *#sharing(text: string, length: number, most: number): Generator<string> {
    const count = piecesIn(length);
    for (let index = 0; index < count; index++) {
      const [from, to] = [cutBetween(length, count, index), cutBetween(length, count, index + 1)];
      // The first piece is always at the beginning of the text, and the last piece at its end. Mistakes can shift only the pieces in
      // between.
      const least = index === 0 ? 0 : index === count - 1 ? text.length - length : -most;
      const greatest = index === 0 || index === count - 1 ? least : most;
      for (let shift = least; shift <= greatest; shift++) {
        if (from + shift < 0 || to + shift > text.length) continue;
        yield* this.#pieces.get(`${length} ${index} ${text.slice(from + shift, to + shift)}`) ?? [];
      }
    }
  }
}

/** May be inexact above `most`. Skips the common beginning and end first, because that alone decides most cases. */
function mistakesBetween(one: string, other: string, most: number): number {
  const shortest = Math.min(one.length, other.length);
  let start = 0;
  while (start < shortest && one.charCodeAt(start) === other.charCodeAt(start)) start++;
  let end = 0;
  while (end < shortest - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) end++;
  const longest = Math.max(one.length, other.length) - start - end;
  // A single mistake affects one letter or two swapped letters.
  if (longest <= 1) return longest;
  if (most === 1 && longest > 2) return 2;
  return editDistance(one.slice(start, one.length - end), other.slice(start, other.length - end));
}

function maxMistakes(length: number): number {
  return length >= lengthForTwo ? 2 : 1;
}

function piecesIn(length: number): number {
  return length >= lengthForTwo - 2 ? 3 : 2;
}

function cutBetween(length: number, count: number, index: number): number {
  return Math.floor((length * index) / count);
}
