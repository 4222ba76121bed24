import { editDistance } from '../../core/text/suggest.ts';

/** Shortest text in which a mistake is looked for. */
const minLength = 5;

/** Length from which on two mistakes are looked for. */
const lengthForTwo = 12;

/**
 * Finds the texts that differ from another by one mistake, or two in long ones. If a text is cut into as many pieces as there may be
 * mistakes and one more, a piece without a mistake remains: only texts that share a piece, near its place, are compared.
 */
export class NearKeys {
  readonly #pieces = new Map<string, string[]>();

  constructor(keys: Iterable<string>) {
    for (const key of keys) {
      if (key.length < minLength) continue;
      for (const [index, piece] of piecesOf(key, piecesIn(key.length)).entries()) {
        const name = `${key.length} ${index} ${piece}`;
        const found = this.#pieces.get(name);
        if (found) found.push(key);
        else this.#pieces.set(name, [key]);
      }
    }
  }

  /** The texts near a text, with the number of mistakes. */
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

  /** The texts of a length that share a piece with a text. */
  *#sharing(text: string, length: number, most: number): Generator<string> {
    const count = piecesIn(length);
    for (let index = 0; index < count; index++) {
      const [from, to] = [cutBetween(length, count, index), cutBetween(length, count, index + 1)];
      // The first piece stands at the beginning, the last one at the end; one in the middle is moved by mistakes before it.
      const least = index === 0 ? 0 : index === count - 1 ? text.length - length : -most;
      const greatest = index === 0 || index === count - 1 ? least : most;
      for (let shift = least; shift <= greatest; shift++) {
        if (from + shift < 0 || to + shift > text.length) continue;
        yield* this.#pieces.get(`${length} ${index} ${text.slice(from + shift, to + shift)}`) ?? [];
      }
    }
  }
}

/** The mistakes between two texts; a number above `most` means more than `most`. For most pairs the ends alone show the difference. */
function mistakesBetween(one: string, other: string, most: number): number {
  const shortest = Math.min(one.length, other.length);
  let start = 0;
  while (start < shortest && one.charCodeAt(start) === other.charCodeAt(start)) start++;
  let end = 0;
  while (end < shortest - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) end++;
  const longest = Math.max(one.length, other.length) - start - end;
  // One mistake leaves one letter, or two that are swapped.
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

/** The place of a cut between pieces. */
function cutBetween(length: number, count: number, index: number): number {
  return Math.floor((length * index) / count);
}

function piecesOf(key: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    key.slice(cutBetween(key.length, count, index), cutBetween(key.length, count, index + 1)),
  );
}
