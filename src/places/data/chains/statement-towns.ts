import { readDataNow } from '../data.ts';

/**
 * The names of towns with at least 2,000 inhabitants, as sorted 32-bit hashes. At most one in 50,000 other strings has the same hash as a
 * town and is therefore mistaken for a town.
 */
export class StatementTowns {
  readonly #hashes: Uint32Array;

  /** `folder` contains the embedded data. */
  constructor(folder: string) {
    const steps = readDataNow<number[]>(folder, 'chain-towns');
    let hash = 0;
    this.#hashes = Uint32Array.from(steps, (step) => (hash += step));
  }

  /** Returns true if the words are the name of a town. They must be in lower case without accents. */
  has(words: readonly string[]): boolean {
    const hash = townHash(words.map((word) => shortForms[word] ?? word).join(''));
    let [low, high] = [0, this.#hashes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#hashes[middle] as number) < hash) low = middle + 1;
      else high = middle;
    }
    return this.#hashes[low] === hash;
  }
}

/** Words in the names of towns, and their abbreviations on statements. */
const shortForms: Readonly<Record<string, string>> = { saint: 'st', fort: 'ft', mount: 'mt' };

/** Returns the 32-bit FNV-1a hash of text. */
function townHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
