import { readData } from '../data.ts';

/** A chain of stores or restaurants (a brand with many branches) in the embedded data. */
export type ChainRow = readonly [
  name: string,
  /** The chain's Wikidata ID; null if it has none. */
  id: string | null,
  /** Indexes of the chain's categories, such as fast food, with the main category first. */
  categories: readonly number[],
  /** Codes of the countries in which the chain has branches, separated by spaces. The code 001 stands for a worldwide chain. */
  countries: string,
  /** Codes of the countries in which a worldwide chain has no branches. */
  except: string,
  /** Further current names of the chain: names in other languages and names of its divisions. */
  ownNames: readonly string[],
  /** Old, short, official and alternative names of the chain. */
  otherNames: readonly string[],
  /** Further brands of the chain. They have the same Wikidata ID but different names. */
  brands?: readonly BrandRow[],
];

/** One of several brands of a chain. Its elements have the same meaning as in `ChainRow`. */
export type BrandRow = readonly [
  name: string,
  categories: readonly number[],
  countries: string,
  ownNames: readonly string[],
  otherNames: readonly string[],
];

/** The content of the file with all chains, which the data build creates. */
export interface ChainData {
  readonly date: string;
  /** The tags of the chains' categories, such as `amenity/fast_food`. */
  readonly categories: readonly string[];
  /** The words for each category in several languages, separated by spaces. */
  readonly words: readonly string[];
  /** Words in several languages for kinds of places, such as `museum`, separated by spaces. */
  readonly kindWords: string;
  /** Names of chains that are also names of towns, separated by spaces. Only the letters and digits of each name are listed. */
  readonly towns: string;
  readonly chains: readonly ChainRow[];
}

/** Reads all chains from the embedded data. */
export function readChains(folder: string): Promise<ChainData> {
  return readData(folder, 'chains');
}
