import { readData } from '../data.ts';

/** A chain in the data. */
export type ChainRow = readonly [
  name: string,
  /** Wikidata id. */
  id: string | null,
  /** Indexes of its categories, the main one first. */
  categories: readonly number[],
  /** Countries with spaces between them, or 001 for the world. */
  countries: string,
  /** The countries in which a worldwide chain is not. */
  except: string,
  /** Further names of the chain itself, in other languages, and names of its parts. */
  ownNames: readonly string[],
  /** Old, short, official and other names. */
  otherNames: readonly string[],
  /** Further brands with the same Wikidata id, each with its own names: their names are not those of the chain. */
  brands?: readonly BrandRow[],
];

/** One of several brands of a chain. Its columns are those of the chain. */
export type BrandRow = readonly [
  name: string,
  categories: readonly number[],
  countries: string,
  ownNames: readonly string[],
  otherNames: readonly string[],
];

/** The chains, as the data build writes them. */
export interface ChainData {
  readonly date: string;
  /** Tags such as `amenity/fast_food`. */
  readonly categories: readonly string[];
  /** For each category the words that people use for it, in several languages, with spaces between them. */
  readonly words: readonly string[];
  /** Words that say what a place is, in several languages, with spaces between them: `museum`. */
  readonly kindWords: string;
  /** Names of chains that are towns' names, too, by their letters and digits, with spaces between them. */
  readonly towns: string;
  readonly chains: readonly ChainRow[];
}

/** Reads the chains. */
export function readChains(folder: string): Promise<ChainData> {
  return readData(folder, 'chains');
}
