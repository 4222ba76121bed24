import { readDataNow } from '../data.ts';
import { NearKeys } from '../folded-text.ts';
import { type BrandRow, type ChainData, type ChainRow, commonWords, companyWords, readChains } from './company-words.ts';

export interface ChainName {
  readonly chain: number;
  readonly text: string;
  /** Kind of the name: 0 for the main name, 1 for a further current name, and 2 for an old, official or alternative name. */
  readonly rank: 0 | 1 | 2;
  /** A name without its possessive ending, such as `Sainsbury`. A longer name such as `Sainsbury Smith` is not the chain. */
  readonly isOwner?: true;
  /** Undefined for the chain's main brand. */
  readonly brand?: BrandRow;
}

type NameMap = Map<string, ChainName | ChainName[]>;

/** Minimum letters in a name without its possessive ending (`owner`), and in a shortened name of one or several words. */
const shortLetters = { owner: 5, single: 7, several: 9 };

/** Names of chains that occur only on bank statements, keyed by the chain's Wikidata ID. */
const lineNames: Readonly<Record<string, readonly string[]>> = {
  Q109675651: ['ExxonMobil'],
  Q37158: ['SBUX'],
  Q483551: ['WM Supercenter', 'WM SuperC'],
  Q1809448: ['WholeFds', 'WholeFds Mkt'],
};

/** Looked up by letters and digits without spaces. Indexes that are rarely needed are created on first use. */
export class ChainNames {
  readonly data: ChainData;
  readonly #names: NameMap = new Map();
  readonly #words = new Map<number, ReadonlySet<string>>();
  #near: NearKeys | undefined;
  #shortened: NameMap | undefined;
  #kindWords: ReadonlySet<string> | undefined;
  #towns: ReadonlySet<string> | undefined;
  readonly #folder: string;
  #anyTowns: StatementTowns | undefined;

  constructor(data: ChainData, folder: string) {
    this.data = data;
    this.#folder = folder;
    for (const [chain, [name, id, , , , own, others, brands = []]] of data.chains.entries()) {
      this.#add({ chain, text: name, rank: 0 });
      for (const text of own) this.#add({ chain, text, rank: 1 });
      for (const brand of brands) for (const text of [brand[0], ...brand[3]]) this.#add({ chain, text, rank: 1, brand });
      for (const text of [...others, ...(lineNames[id ?? ''] ?? [])]) this.#add({ chain, text, rank: 2 });
      for (const brand of brands) for (const text of brand[4]) this.#add({ chain, text, rank: 2, brand });
    }
  }

  static async read(folder: string): Promise<ChainNames> {
    return new ChainNames(await readChains(folder), folder);
  }

  named(key: string): readonly ChainName[] {
    return namesIn(this.#names, key);
  }

  /** The names of chains that equal `key` without the common words at their end. For `bunnings`, these include `Bunnings Warehouse`. */
  shortenedName(key: string): readonly ChainName[] {
    if (!this.#shortened) {
      this.#shortened = new Map();
      for (const [chain, [text]] of this.data.chains.entries()) this.#addShortened(this.#shortened, { chain, text, rank: 2 });
    }
    return namesIn(this.#shortened, key);
  }

  /** Similar names as letters and digits, each with its number of spelling mistakes. */
  near(key: string): Map<string, number> {
    this.#near ??= new NearKeys(this.#names.keys());
    return this.#near.near(key);
  }

  isWordFor(chain: number, word: string): boolean {
    return (this.data.chains[chain]?.[2] ?? []).some((category) => this.#wordsOf(category).has(word));
  }

  /** Returns true if a word means a kind of place, such as `museum`, or can be part of any chain's name, such as `warehouse`. */
  isKind(word: string): boolean {
    this.#kindWords ??= new Set(companyWords(this.data.kindWords));
    return commonWords.has(word) || this.#kindWords.has(word) || this.#kindWords.has(word.replace(/[aou]e/g, ([vowel = '']) => vowel));
  }

  isTown(key: string): boolean {
    this.#towns ??= new Set(this.data.towns.split(' '));
    return this.#towns.has(key);
  }

  /** The words must be in lower case without accents. */
  isAnyTown(words: readonly string[]): boolean {
    this.#anyTowns ??= new StatementTowns(this.#folder);
    return this.#anyTowns.has(words);
  }

  /** The main category comes first. */
  categoriesOfBrand(chain: number): string[] {
    return this.tagsOf(this.data.chains[chain]?.[2] ?? []);
  }

  tagsOf(categories: readonly number[]): string[] {
    return categories.map((index) => this.data.categories[index] as string);
  }

  isWorldwide(chain: number): boolean {
    return this.data.chains[chain]?.[3] === world;
  }

  /** Returns 2 if the chain's data lists the country, 1 if the chain is worldwide, and 0 if it has no branches in the country. */
  presence(chain: number, country: string): 0 | 1 | 2 {
    const [, , , countries, except] = this.data.chains[chain] as ChainRow;
    if (this.isWorldwide(chain)) return except.includes(country) ? 0 : 1;
    return countries.includes(country) ? 2 : 0;
  }

  #wordsOf(category: number): ReadonlySet<string> {
    const found = this.#words.get(category);
    if (found) return found;
    const words = new Set(companyWords(this.data.words[category] ?? '').flatMap((word) => [word, `${word}s`]));
    this.#words.set(category, words);
    return words;
  }

  #add(name: ChainName): void {
    addName(this.#names, companyWords(name.text).join(''), name);
    if (umlaut.test(name.text)) addName(this.#names, companyWords(withoutUmlauts(name.text)).join(''), name);
    const owner = ownerEnd.test(name.text) ? companyWords(name.text.replace(ownerEnd, '')).join('') : '';
    if (owner.length >= shortLetters.owner) addName(this.#names, owner, { ...name, isOwner: true });
  }

  /** Leaves out common words at the end and, if at least two words remain, words for the chain's category. */
  #addShortened(shortenedName: NameMap, name: ChainName): void {
    const words = name.text.includes(' ') ? companyWords(name.text) : [];
    let isCommonEnd = true;
    for (let count = words.length - 1; count > 0; count--) {
      const [before, word] = [words.slice(0, count), words[count] as string];
      isCommonEnd &&= commonWords.has(word);
      if (!isCommonEnd && !commonWords.has(word) && !this.isWordFor(name.chain, word)) return;
      const key = before.join('');
      const isTelling = count > 1 ? key.length >= shortLetters.several : isCommonEnd && key.length >= shortLetters.single;
      if (isTelling && !before.every((one) => this.isKind(one)) && !this.isTown(key)) addName(shortenedName, key, name);
    }
  }
}

const umlaut = /[äöü]/i;

/** Replaces umlauts as German speakers do if they cannot type them, so `Süd` becomes `sued`. */
function withoutUmlauts(text: string): string {
  return text.toLowerCase().replace(/[äöü]/g, (letter) => ({ ä: 'ae', ö: 'oe', ü: 'ue' })[letter] as string);
}

function namesIn(names: NameMap, key: string): readonly ChainName[] {
  const found = names.get(key);
  return found === undefined ? [] : 'chain' in found ? [found] : found;
}

function addName(names: NameMap, key: string, name: ChainName): void {
  if (key === '') return;
  const found = names.get(key);
  if (found === undefined) names.set(key, name);
  else if ('chain' in found) names.set(key, found.chain === name.chain ? found : [found, name]);
  else if (found.every(({ chain }) => chain !== name.chain)) found.push(name);
}

const ownerEnd = /['’]s\b/i;

export const world = '001';

/** Towns with at least 2,000 inhabitants, as sorted 32-bit hashes. At most one in 50,000 other strings is mistaken for a town. */
class StatementTowns {
  readonly #hashes: Uint32Array;

  constructor(folder: string) {
    const steps = readDataNow<number[]>(folder, 'chain-towns');
    let hash = 0;
    this.#hashes = Uint32Array.from(steps, (step) => (hash += step));
  }

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

const shortForms: Readonly<Record<string, string>> = { saint: 'st', fort: 'ft', mount: 'mt' };

/** Returns the 32-bit FNV-1a hash of text. */
function townHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
