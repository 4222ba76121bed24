import { readDataNow } from '../data.ts';

/** A category: its id, the tags that it stands for, its weight among categories with equal words, 0 to 1, and the number of its chains. */
export type CategoryRow = readonly [id: string, tags: Readonly<Record<string, string>>, weight: number, chains: number];

/** The words of a language for a category: its name, other names, and terms for it. 0 if the language has none. */
export type CategoryWords = readonly [name: string, aliases: readonly string[], terms: readonly string[]] | 0;

/** The categories. The words of a language are read when they are first needed: most questions are answered by English. */
export class CategoryData {
  readonly categories: readonly CategoryRow[];
  readonly languages: readonly string[];
  readonly #folder: string;
  readonly #words = new Map<string, readonly CategoryWords[]>();

  /** `folder`: of the embedded data. */
  constructor(folder: string) {
    const { languages, categories } = readDataNow<{ languages: string[]; categories: CategoryRow[] }>(folder, 'categories');
    this.categories = categories;
    this.languages = languages;
    this.#folder = folder;
  }

  /** The words of a language: one entry for each category, in their order. */
  words(language: string): readonly CategoryWords[] {
    const known = this.#words.get(language);
    if (known) return known;
    const words = this.languages.includes(language) ? readDataNow<CategoryWords[]>(this.#folder, `categories-${language}`) : [];
    this.#words.set(language, words);
    return words;
  }
}
