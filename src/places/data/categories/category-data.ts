import { readDataNow } from '../data.ts';

/**
 * A category of places in the embedded data. The ID is, for example, `amenity/cafe`, and the tags are OpenStreetMap tags. If words refer to
 * several categories, the one with the higher weight (0 to 1) is preferred. `chains` is the number of chains (brands) in the category.
 */
export type CategoryRow = readonly [id: string, tags: Readonly<Record<string, string>>, weight: number, chains: number];

/**
 * The words for a category in one language: its name, its other names, and related terms. It is 0 if the data has no words in the language.
 */
export type CategoryWords = readonly [name: string, aliases: readonly string[], terms: readonly string[]] | 0;

/**
 * The categories of places and the words for them. The words of each language are read when they are first needed, because most lookups
 * need only English.
 */
export class CategoryData {
  readonly categories: readonly CategoryRow[];
  readonly languages: readonly string[];
  readonly #folder: string;
  readonly #words = new Map<string, readonly CategoryWords[]>();

  /** `folder` contains the embedded data. */
  constructor(folder: string) {
    const { languages, categories } = readDataNow<{ languages: string[]; categories: CategoryRow[] }>(folder, 'categories');
    this.categories = categories;
    this.languages = languages;
    this.#folder = folder;
  }

  /** Returns the words for all categories in one language, in the same order as `categories`. */
  words(language: string): readonly CategoryWords[] {
    const known = this.#words.get(language);
    if (known) return known;
    const words = this.languages.includes(language) ? readDataNow<CategoryWords[]>(this.#folder, `categories-${language}`) : [];
    this.#words.set(language, words);
    return words;
  }
}
