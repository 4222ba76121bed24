import { editDistance } from '../../core/text/suggest.ts';

/** Shortest text in which a mistake is looked for. */
const minLength = 5;

/** Length from which on two mistakes are. */
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

  /** The texts near one, with the number of mistakes. */
  near(text: string): Map<string, number> {
    const near = new Map<string, number>();
    if (text.length < minLength) return near;
    const most = maxMistakes(text.length);
    for (let length = Math.max(minLength, text.length - most); length <= text.length + most; length++) {
      for (const key of this.#sharing(text, length, most)) {
        if (near.has(key)) continue;
        const distance = editDistance(text, key);
        if (distance <= most) near.set(key, distance);
      }
    }
    return near;
  }

  /** The texts of a length that share a piece with one. */
  *#sharing(text: string, length: number, most: number): Generator<string> {
    const count = piecesIn(length);
    for (let index = 0; index < count; index++) {
      const [from, to] = [cut(length, count, index), cut(length, count, index + 1)];
      for (let shift = -most; shift <= most; shift++) {
        if (from + shift < 0 || to + shift > text.length) continue;
        yield* this.#pieces.get(`${length} ${index} ${text.slice(from + shift, to + shift)}`) ?? [];
      }
    }
  }
}

function maxMistakes(length: number): number {
  return length >= lengthForTwo ? 2 : 1;
}

function piecesIn(length: number): number {
  return length >= lengthForTwo - 2 ? 3 : 2;
}

/** The place of a cut between pieces. */
function cut(length: number, count: number, index: number): number {
  return Math.floor((length * index) / count);
}

function piecesOf(key: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => key.slice(cut(key.length, count, index), cut(key.length, count, index + 1)));
}
