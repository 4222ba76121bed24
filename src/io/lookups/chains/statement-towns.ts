import { readDataNow } from '../data.ts';

/** The names of towns of 2,000 inhabitants and more, as sorted 32-bit hashes: no text is taken for a town by chance more often than once in 50,000. */
export class StatementTowns {
  readonly #hashes: Uint32Array;

  /** `folder`: of the embedded data. */
  constructor(folder: string) {
    const steps = readDataNow<number[]>(folder, 'chain-towns');
    let hash = 0;
    this.#hashes = Uint32Array.from(steps, (step) => (hash += step));
  }

  /** True if folded words are the name of a town. */
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

/** Words of names of towns that statements write short. */
const shortForms: Readonly<Record<string, string>> = { saint: 'st', fort: 'ft', mount: 'mt' };

/** The hash FNV-1a of a text, 32 bits. */
function townHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
