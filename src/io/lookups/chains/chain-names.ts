import { NearKeys } from '../near-keys.ts';
import { type ChainData, readChains } from './chain-data.ts';
import { companyWords } from './company-words.ts';

/** One name of a chain. */
export interface ChainName {
  /** Index of the chain. */
  readonly chain: number;
  readonly text: string;
  /** 0: the name that it goes by; 1: another name of its own; 2: an old, official or other one. */
  readonly rank: 0 | 1 | 2;
}

/** The names of all chains, by their letters and digits alone. */
export class ChainNames {
  readonly data: ChainData;
  readonly #names = new Map<string, ChainName | ChainName[]>();
  readonly #near: NearKeys;
  readonly #words = new Map<number, ReadonlySet<string>>();

  constructor(data: ChainData) {
    this.data = data;
    for (const [chain, [name, , , , , own, others]] of data.chains.entries()) {
      this.#add({ chain, text: name, rank: 0 });
      for (const text of own) this.#add({ chain, text, rank: 1 });
      for (const text of others) this.#add({ chain, text, rank: 2 });
    }
    this.#near = new NearKeys(this.#names.keys());
  }

  static async read(folder: string): Promise<ChainNames> {
    return new ChainNames(await readChains(folder));
  }

  /** The names that consist of these letters and digits. */
  named(key: string): readonly ChainName[] {
    const found = this.#names.get(key);
    return found === undefined ? [] : 'chain' in found ? [found] : found;
  }

  /** The letters and digits of names near these, with the number of mistakes. */
  near(key: string): Map<string, number> {
    return this.#near.near(key);
  }

  /** True if people use the word for one of the chain's categories. */
  isWordFor(chain: number, word: string): boolean {
    return (this.data.chains[chain]?.[2] ?? []).some((category) => this.#wordsOf(category).has(word));
  }

  #wordsOf(category: number): ReadonlySet<string> {
    const found = this.#words.get(category);
    if (found) return found;
    const words = new Set(companyWords(this.data.words[category] ?? '').flatMap((word) => [word, `${word}s`]));
    this.#words.set(category, words);
    return words;
  }

  #add(name: ChainName): void {
    const key = companyWords(name.text).join('');
    if (key === '') return;
    const found = this.#names.get(key);
    if (found === undefined) this.#names.set(key, name);
    else if ('chain' in found) this.#names.set(key, found.chain === name.chain ? found : [found, name]);
    else if (found.every(({ chain }) => chain !== name.chain)) found.push(name);
  }
}
