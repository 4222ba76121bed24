import { NearKeys } from '../near-keys.ts';
import { type BrandRow, type ChainData, type ChainRow, readChains } from './chain-data.ts';
import { companyWords, isPlainCommon } from './company-words.ts';
import { StatementTowns } from './statement-towns.ts';

/** One name of a chain. */
export interface ChainName {
  /** Index of the chain. */
  readonly chain: number;
  readonly text: string;
  /** 0: the main name; 1: another name of the chain itself; 2: an old, official or other name. */
  readonly rank: 0 | 1 | 2;
  /** True for an owner's name, `Sainsbury` for `Sainsbury's`. It matches only a whole name. */
  readonly isOwner?: true;
  /** The brand that has the name; undefined for the chain's main brand. */
  readonly brand?: BrandRow;
}

/** Names by their letters and digits. */
type NameMap = Map<string, ChainName | ChainName[]>;

/** Fewest letters of an owner's name, of a short name of one word, and of a short name of several words. */
const shortLetters = { owner: 5, single: 7, several: 9 };

/** Names that some chains have only in lines of bank statements, by their Wikidata ids. */
const lineNames: Readonly<Record<string, readonly string[]>> = {
  Q37158: ['SBUX'],
  Q483551: ['WM Supercenter', 'WM SuperC'],
  Q1809448: ['WholeFds', 'WholeFds Mkt'],
};

/** The names of all chains, by their letters and digits alone. Indexes that few names need are made when they are first needed. */
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

  /** `folder`: of the embedded data. */
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

  /** The names that consist of these letters and digits. */
  named(key: string): readonly ChainName[] {
    return namesIn(this.#names, key);
  }

  /** The names that consist of these letters and digits once meaningless words at their end are left out: `Bunnings` for `Bunnings Warehouse`. */
  shortenedName(key: string): readonly ChainName[] {
    if (!this.#shortened) {
      this.#shortened = new Map();
      for (const [chain, [text]] of this.data.chains.entries()) this.#addShortened(this.#shortened, { chain, text, rank: 2 });
    }
    return namesIn(this.#shortened, key);
  }

  /** The letters and digits of names near these, with the number of mistakes. */
  near(key: string): Map<string, number> {
    this.#near ??= new NearKeys(this.#names.keys());
    return this.#near.near(key);
  }

  /** True if people use the word for one of the chain's categories. */
  isWordFor(chain: number, word: string): boolean {
    return (this.data.chains[chain]?.[2] ?? []).some((category) => this.#wordsOf(category).has(word));
  }

  /** True if the word stands for a kind of places, such as `museum`, or says nothing at all, such as `warehouse`. */
  isKind(word: string): boolean {
    this.#kindWords ??= new Set(companyWords(this.data.kindWords));
    return isPlainCommon(word) || this.#kindWords.has(word);
  }

  /** True if the letters and digits are the name of a town. */
  isTown(key: string): boolean {
    this.#towns ??= new Set(this.data.towns.split(' '));
    return this.#towns.has(key);
  }

  /** True if folded words are the name of any town. */
  isAnyTown(words: readonly string[]): boolean {
    this.#anyTowns ??= new StatementTowns(this.#folder);
    return this.#anyTowns.has(words);
  }

  /** Tags of a chain's categories, the main one first. */
  categoriesOfBrand(chain: number): string[] {
    return this.tagsOf(this.data.chains[chain]?.[2] ?? []);
  }

  /** Tags of categories by their indexes. */
  tagsOf(categories: readonly number[]): string[] {
    return categories.map((index) => this.data.categories[index] as string);
  }

  /** True for a chain of the whole world. */
  isWorldwide(chain: number): boolean {
    return this.data.chains[chain]?.[3] === world;
  }

  /** 2 for a chain that is in the country, 1 for a worldwide chain, 0 for a chain in other countries. */
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

  /** Adds a name without common words at its end, and without words for the chain's kind if two words are left. */
  #addShortened(shortenedName: NameMap, name: ChainName): void {
    const words = name.text.includes(' ') ? companyWords(name.text) : [];
    let isCommonEnd = true;
    for (let count = words.length - 1; count > 0; count--) {
      const [before, word] = [words.slice(0, count), words[count] as string];
      isCommonEnd &&= isPlainCommon(word);
      if (!isCommonEnd && !isPlainCommon(word) && !this.isWordFor(name.chain, word)) return;
      const key = before.join('');
      const isTelling = count > 1 ? key.length >= shortLetters.several : isCommonEnd && key.length >= shortLetters.single;
      if (isTelling && !before.every((one) => this.isKind(one)) && !this.isTown(key)) addName(shortenedName, key, name);
    }
  }
}

const umlaut = /[äöü]/i;

/** A text as German is written without umlauts: `Sued` for `Süd`. */
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

/** The possessive ending of an owner's name. */
const ownerEnd = /['’]s\b/i;

/** Countries of a chain of the whole world. */
export const world = '001';
